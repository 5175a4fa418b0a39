/**
 * CPU as it would be on the machine that the budgets were set for, however fast or busy this one is: a fixed document
 * is parsed between the measurements, and what that takes is compared.
 */
export const DOCUMENT = JSON.stringify(
  Array.from({ length: 10_000 }, (_, id) => ({
    id,
    text: `some text ${id}`,
    list: [1, 2, 3],
    at: '2026-11-18T08:00Z',
  })),
);
/** What the document takes on that machine, an Intel Xeon of 2.5 GHz. */
const REFERENCE_US = 4_000;
/** Linux counts CPU of a thread that runs by ticks of up to 4 ms: one measurement says nothing, their sum does. */
const COUNT = 20;

/** CPU of this thread, in microseconds. */
export const usedCpu = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

const taken: number[] = [];
function parse(): void {
  const before = usedCpu();
  JSON.parse(DOCUMENT);
  taken.push(usedCpu() - before);
  if (taken.length > COUNT) taken.shift();
}

/** How many times as long this machine takes: by the last measurements, of which this call makes one. */
export function slowness(): number {
  do parse();
  while (taken.length < COUNT);
  return taken.reduce((sum, each) => sum + each, 0) / COUNT / REFERENCE_US;
}
