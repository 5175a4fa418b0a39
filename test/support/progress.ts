import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inspect } from 'node:util';

/** A reporter of node:test for many files: one line of progress, what failed in full, and why tests were skipped. */
type Event = { readonly type: string; readonly data: unknown };
interface Reported {
  readonly name: string;
  readonly file?: string;
  readonly nesting: number;
  readonly skip?: string | boolean;
  readonly details: { readonly duration_ms: number; readonly type?: string; readonly error?: Error };
}

/** Where nobody looks on, a line for every so many tests. */
const TESTS_PER_LINE = 500;
const SHOWN = 20;
const startedAt = Date.now();

/** The cause says more than the error of node:test around it, but where a whole process failed, that has its exit code. */
const toldOf = (error: Error | undefined): string =>
  inspect(error?.cause instanceof Error ? error.cause : error, { depth: 4 });

export default async function* progress(events: AsyncIterable<Event>): AsyncGenerator<string> {
  const counts = { tests: 0, failed: 0 };
  const skipped = new Map<string, number>();
  const seconds = new Map<string, number>();
  const line = () => {
    const passed = Math.round((Date.now() - startedAt) / 1_000);
    const time = `${Math.floor(passed / 60)}:${String(passed % 60).padStart(2, '0')}`;
    return `${time}  ${counts.tests} tests, ${counts.failed} failed`;
  };
  for await (const { type, data } of events) {
    // What went wrong after a test had ended fails its process, and is told of here alone.
    if (type === 'test:diagnostic' && /asynchronous activity/.test((data as { message: string }).message)) {
      yield `\n✖ ${(data as { message: string }).message}\n`;
    }
    if (type === 'test:stdout' || type === 'test:stderr') yield (data as { message: string }).message;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, file = '', nesting, skip, details } = data as Reported;
    const place = relative(process.cwd(), file);
    if (nesting === 0) seconds.set(place, (seconds.get(place) ?? 0) + details.duration_ms / 1_000);
    const isOwn = type === 'test:fail' && !/subtests? failed/.test(details.error?.message ?? '');
    if (isOwn) yield `\n✖ ${name} (${place})\n${toldOf(details.error)}\n`;
    if (isOwn) counts.failed += 1;
    if (details.type === 'suite') continue;
    counts.tests += 1;
    if (skip) skipped.set(String(skip), (skipped.get(String(skip)) ?? 0) + 1);
    if (process.stdout.isTTY) yield `\r${line()} `;
    else if (counts.tests % TESTS_PER_LINE === 0) yield `${line()}\n`;
  }
  yield `${process.stdout.isTTY ? '\r' : ''}${line()}\n`;
  for (const [reason, count] of skipped) {
    const told = `not run: ${count} tests, ${reason}\n`;
    if (process.env.TEST_SKIPPED) appendFileSync(process.env.TEST_SKIPPED, told);
    yield told;
  }
  yield `the ${SHOWN} files that took longest:\n`;
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  for (const [file, each] of slowest) yield `${each.toFixed(1).padStart(8)} s  ${file}\n`;
}
