import { relative } from 'node:path';
import type { EventData } from 'node:test';

/** A reporter of node:test: the files that took longest, so that the suite can be kept short. */
type Event = { readonly type: string; readonly data: unknown };

const SHOWN = 25;

export default async function* slowestFiles(events: AsyncIterable<Event>): AsyncGenerator<string> {
  const files: { file: string; seconds: number }[] = [];
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue;
    const { file, duration_ms: ms } = data as EventData.TestSummary;
    if (file) files.push({ file: relative(process.cwd(), file), seconds: ms / 1_000 });
  }
  const slowest = files.sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN);
  yield `the ${slowest.length} files that took longest:\n`;
  for (const { file, seconds } of slowest) yield `${seconds.toFixed(1).padStart(8)} s  ${file}\n`;
}
