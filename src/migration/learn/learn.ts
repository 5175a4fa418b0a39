import type { DialectColumn } from '../../asmx/dialect/dialect.ts';
import { type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { withTimeZone } from '../../asmx/dialect/dialect-file.ts';
import { bodyBytes, fieldOf, type RecordedExchange } from '../compare/recording.ts';
import { readAnswer } from '../old-server/answer.ts';
import { readCall } from '../old-server/call-reader.ts';
import { ColumnsLearner } from './learn-columns.ts';
import { CapsLearner, OrdersLearner } from './learn-lists.ts';
import { ReadLearner } from './learn-read.ts';
import { BooleansLearner, ValuesLearner } from './learn-values.ts';
import { WordsLearner } from './learn-words.ts';
import { type Learned, type Learner, merged, type Observation } from './learned.ts';

/**
 * Builds a dialect from recordings, which are read twice. Names, columns and dates are learned from
 * the raw answers; then words, orders and caps are learned from the values that these give.
 */
export interface LearnedDialect extends Learned {
  readonly exchanges: number;
  /** Calls of the contract that the old server answered. */
  readonly answers: number;
  readonly faults: number;
  /** Answers that could not be read, with the reason of the first ones. */
  readonly unreadable: { readonly count: number; readonly reasons: readonly string[] };
}

const REASONS_MAX = 5;

export async function learnDialect(
  recordings: () => AsyncIterable<RecordedExchange>,
  defaultZone: string,
): Promise<LearnedDialect> {
  const ofWire: Learner[] = [new ColumnsLearner(), new ValuesLearner()];
  const counted = { exchanges: 0, answers: 0, faults: 0 };
  let unreadable = 0;
  const reasons = new Set<string>();
  for await (const exchange of recordings()) {
    counted.exchanges += 1;
    const seen = observe(exchange, wireOnly(exchange), defaultZone);
    if (!seen) continue;
    counted.answers += 1;
    for (const learner of ofWire) learner.see(seen, undefined);
    if (seen.answer.kind === 'fault') counted.faults += 1;
    if (seen.answer.kind !== 'unreadable') continue;
    unreadable += 1;
    if (reasons.size < REASONS_MAX) reasons.add(`${seen.name}: ${seen.answer.reason}`);
  }
  const wire = merged(ofWire.map((learner) => learner.learned()));
  const known = withTimeZone(wire.dialect, defaultZone);
  const ofValues = learnersOfValues(known, defaultZone);
  for await (const exchange of recordings()) {
    const seen = observe(exchange, known, defaultZone);
    if (seen?.answer.kind !== 'value') continue;
    for (const learner of ofValues) learner.see(seen, seen.answer.value);
  }
  const { dialect, findings, uncertain } = merged([wire, ...ofValues.map((learner) => learner.learned())]);
  const evidence: Record<string, number> = {};
  for (const { entry, count } of findings) evidence[entry] = (evidence[entry] ?? 0) + count;
  return {
    ...counted,
    dialect: findings.length > 0 ? { ...dialect, evidence } : dialect,
    findings,
    uncertain,
    unreadable: { count: unreadable, reasons: [...reasons] },
  };
}

const learnersOfValues = (dialect: Dialect, defaultZone: string): Learner[] => [
  new WordsLearner(),
  new OrdersLearner(),
  new CapsLearner(),
  new ReadLearner(dialect.dates?.timeZone ?? defaultZone),
  new BooleansLearner(dialect),
];

/** A dialect in which no column shows one of ours, for reading a DataSet without its values. */
function wireOnly({ group, operation }: RecordedExchange): Dialect {
  const none: readonly DialectColumn[] = [];
  return group === null || operation === null ? NO_DIALECT : { columns: { [`${group}.${operation}`]: none } };
}

/** Returns undefined if the exchange is no call, or if the old server did not answer it. */
function observe(exchange: RecordedExchange, dialect: Dialect, defaultZone: string): Observation | undefined {
  const { group, operation, protocol, old, request } = exchange;
  if (group === null || operation === null || protocol === null || old === null || old.withheld) return undefined;
  const contentType = fieldOf(old.headers, 'content-type') ?? '';
  const bytes = { status: old.status, contentType, body: bodyBytes(old) };
  const headers = { 'content-type': fieldOf(request.headers, 'content-type') };
  const call = readCall({ method: request.method, target: request.target, headers, body: bodyBytes(request) });
  return {
    at: Date.parse(exchange.at),
    account: exchange.account,
    name: `${group}.${operation}`,
    group,
    operation,
    isSoap: protocol === 'soap11' || protocol === 'soap12',
    status: old.status,
    texts: call?.texts ?? {},
    answer: readAnswer(group, operation, protocol, bytes, dialect, defaultZone),
  };
}
