/* A disk that takes 5 ms to say that something is on it: loaded before the C library (LD_PRELOAD), see writes.ts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int slowly(const char *name, int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  struct timespec wait = {0, 5000000};
  nanosleep(&wait, NULL);
  return real(file);
}

int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
