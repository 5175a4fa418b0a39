import type { TestContext } from 'node:test';

/** How often others had their turn of the event loop. */
export function countTurns(t: TestContext): () => number {
  let [count, isOver] = [0, false];
  const next = () => {
    count += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  t.after(() => {
    isOver = true;
  });
  return () => count;
}
