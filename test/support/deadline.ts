import { setTimeout } from 'node:timers';

/**
 * Ends the process of a file of tests that does not end by itself. A test that failed may leave a server or a
 * connection open, and node:test then waits for ever, and the whole run with it.
 */
const limitMs = Number(process.env.TEST_DEADLINE_MS);
if (process.env.NODE_TEST_CONTEXT && limitMs > 0) {
  const end = () => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(
      `${process.argv[1]} has not ended after ${limitMs / 60_000} minutes and is stopped here. Something is still open: ${open}\n`,
    );
    process.exit(1);
  };
  setTimeout(end, limitMs).unref();
}
