import asyncHooks from 'node:async_hooks';

/**
 * Loaded into every process of tests, before node:test. The runner follows each promise to know which test an uncaught
 * error belongs to, which takes a third of the CPU of all tests. Without it such an error still fails the run, and is
 * reported for the process instead of for the test.
 */
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
