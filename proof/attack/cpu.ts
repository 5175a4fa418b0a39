/** CPU of this process in microseconds; the least of several runs, because whatever disturbs makes it more. */
export async function cpuOf(work: () => unknown, runs = 4): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

const SMALL = 100_000;
const LARGE = 1_000_000;
/** Below this, the clock tells more about the machine than about the work. */
const FLOOR_US = 1_000;
/** Ten times the bytes: 10 where the work grows with the bytes, 100 where it grows with their square. */
export const RATIO_MAX = 35;

const ATTEMPTS = 3;

/** How many times the CPU ten times the bytes take. Measured again where it is too much: then the least counts. */
export async function growthOf(shape: (bytes: number) => string, read: (text: string) => unknown): Promise<number> {
  // A text that was put together of many is made one first, as if it had come over a socket.
  const [small, large] = [SMALL, LARGE].map((bytes) => Buffer.from(shape(bytes)).toString()) as [string, string];
  for (let run = 0; run < 3; run++) await read(small); // compiled before it is measured
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && ratio > RATIO_MAX; attempt++) {
    const [least, most] = [await cpuOf(() => read(small)), await cpuOf(() => read(large))];
    ratio = Math.min(ratio, Math.max(FLOOR_US, most) / Math.max(FLOOR_US, least));
  }
  return ratio;
}
