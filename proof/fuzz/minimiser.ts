import type { Engine } from '../../test/support/engines.ts';
import { type Finding, type Found, type Session, type Target, toFinding } from './target.ts';

/** Each attempt is an input or, where inputs change data, a service: a few seconds altogether, unless it is a hang that is found. */
const ATTEMPTS_MAX = 3_000;
const TIME_MAX_MS = 60_000;

/** The same finding out of as little as possible: first with fewer inputs before the last, then with a smaller last one. */
export async function minimised<I>(
  target: Target<I>,
  engine: Engine,
  finding: Finding,
  inputs: readonly I[],
): Promise<Found> {
  let attempts = 0;
  let session: Session<I> | undefined;
  let last = finding;
  const startedAt = Date.now();
  const isEnough = () => attempts >= ATTEMPTS_MAX || Date.now() - startedAt > TIME_MAX_MS;

  /** Whether they break the same rule. */
  const breaks = async (sequence: readonly I[]): Promise<boolean> => {
    attempts += 1;
    if (session?.isChanged()) {
      await session.close();
      session = undefined;
    }
    session ??= await target.open(engine);
    try {
      for (const input of sequence) await session.examine(input);
      await session.finish();
      return false;
    } catch (thrown) {
      const other = toFinding(thrown);
      if (other.rule === finding.rule) last = other;
      return other.rule === finding.rule;
    }
  };

  let before = inputs.slice(0, -1);
  let input = inputs.at(-1) as I;
  try {
    if (await breaks([input])) before = [];
    else {
      for (const length of halves(before.length)) {
        for (let at = 0; at < before.length && !isEnough(); ) {
          const fewer = [...before.slice(0, at), ...before.slice(at + length)];
          if (await breaks([...fewer, input])) before = fewer;
          else at += length;
        }
      }
    }
    // What shows only afterwards may not need the last one.
    while (before.length > 0 && (await breaks(before))) input = before.pop() as I;
    for (let isSmaller = true; isSmaller; ) {
      isSmaller = false;
      for (const less of target.without(input)) {
        if (isEnough() || isSmaller) break;
        isSmaller = await breaks([...before, less]);
        if (isSmaller) input = less;
      }
    }
    for (let index = 0; index < target.texts(input).length; index += 1) {
      const text = () => target.texts(input)[index]?.text ?? '';
      for (const length of halves(text().length)) {
        for (let at = 0; at < text().length && !isEnough(); ) {
          const less = target.texts(input)[index]?.with(text().slice(0, at) + text().slice(at + length)) as I;
          if (await breaks([...before, less])) input = less;
          else at += length;
        }
      }
    }
  } finally {
    await session?.close();
  }
  return { rule: last.rule, what: last.what, inputs: [...before, input] };
}

/** How much to leave out at once: half, a quarter and so on down to one. */
function halves(length: number): number[] {
  const lengths: number[] = [];
  for (let left = length; left > 1; ) {
    left = Math.ceil(left / 2);
    lengths.push(left);
  }
  return lengths;
}
