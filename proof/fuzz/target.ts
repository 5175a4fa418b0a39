import type { Engine } from '../../test/support/engines.ts';
import type { Random } from '../../test/support/random.ts';

/** Something to fuzz: inputs out of chance, and rules that must hold for what each of them brings about. */
export interface Target<I = unknown> {
  readonly name: string;
  /** Depends on nothing but `random`. */
  generate(random: Random): I;
  open(engine: Engine): Promise<Session<I>>;
  /** The same input without one of its parts, each in turn: for telling what a finding is made of. */
  without(input: I): Iterable<I>;
  /** The texts in it, each of which may be shortened. */
  texts(input: I): readonly Part<I>[];
}

export interface Part<I> {
  readonly text: string;
  /** The input with another text in its place. */
  with(text: string): I;
}

/** A service that gets inputs, one after the other. */
export interface Session<I> {
  /** What kind of answer it was, for the statistics. Throws a Finding where a rule does not hold. */
  examine(input: I): Promise<string>;
  /** What is held against the rules once in a while only. */
  finish(): Promise<void>;
  /** Whether inputs have changed what the next ones meet. */
  isChanged(): boolean;
  close(): Promise<void>;
}

/** A rule that was broken. `rule` is the same for every input that breaks it in the same way. */
export class Finding extends Error {
  readonly rule: string;
  readonly what: string;

  constructor(rule: string, what: string) {
    super(`${rule}: ${what}`);
    this.name = 'Finding';
    this.rule = rule;
    this.what = what;
  }
}

/** A finding, and what it is made of. */
export interface Found {
  readonly rule: string;
  readonly what: string;
  /** The input that broke it, after those that it needs before it. */
  readonly inputs: readonly unknown[];
}

/** What is no Finding was thrown by the check itself: that is one as well, and says where. */
export const toFinding = (thrown: unknown): Finding =>
  thrown instanceof Finding ? thrown : new Finding('the check breaks down', String((thrown as Error).stack));

export function demand(holds: unknown, rule: string, what: () => string): asserts holds {
  if (!holds) throw new Finding(rule, what());
}

/** Bytes as a text of one character a byte, with what cannot be read escaped, and not more than a few lines of it. */
export const shown = (bytes: string): string =>
  bytes.length > 400 ? `${JSON.stringify(bytes.slice(0, 400))}… (${bytes.length} bytes)` : JSON.stringify(bytes);
