import { createHash } from 'node:crypto';
import { operationOf, type RawValue, type ReadAnswer } from '../old-server/answer.ts';
import type { RawDataSet } from '../old-server/answer-dataset.ts';
import type { RawRecord, ValueRecord } from '../old-server/answer-values.ts';
import { readCall } from '../old-server/call-reader.ts';
import { booleanResult, type ComparedCall, readRaw } from './compare.ts';
import { type CompareSettings, compareResults } from './compare-values.ts';
import { Findings } from './known-differences.ts';
import { bodyBytes, fieldOf, type RecordedAnswer, type RecordedExchange } from './recording.ts';
import type { RawAnswer } from './redaction.ts';

/**
 * Decides whether the data changed after a recorded call, so that its answer cannot come again. It
 * looks at what later recordings show, and at what has arrived at the server since.
 */
export class RecordedChanges {
  readonly #answers = new Map<string, { hash: string; changedAt: number }>();
  readonly #writtenAt = new Map<string, number>();

  /** Takes every exchange in the order of the recordings. `old` is its answer. */
  see(exchange: RecordedExchange, old: RawAnswer, settings: CompareSettings): void {
    const { group, operation, protocol, account } = exchange;
    if (group === null || operation === null || protocol === null || account === null) return;
    const at = Date.parse(exchange.at);
    if (operationOf(group, operation)?.changes) {
      if (booleanResult({ group, operation, protocol }, old, settings) !== true) return;
      for (const area of writtenAreas(`${group}.${operation}`)) later(this.#writtenAt, `${account} ${area}`, at);
      return;
    }
    const key = callKey(exchange);
    const hash = digest((exchange.old as RecordedAnswer).body);
    const before = this.#answers.get(key);
    if (before) {
      if (before.hash !== hash) this.#answers.set(key, { hash, changedAt: Math.max(before.changedAt, at) });
    } else if (this.#answers.size < CALLS_MAX) this.#answers.set(key, { hash, changedAt: Number.NEGATIVE_INFINITY });
  }

  /** Whether the old server itself answered the same call differently later. */
  isAnsweredOtherwise = (exchange: RecordedExchange): boolean =>
    (this.#answers.get(callKey(exchange))?.changedAt ?? Number.NEGATIVE_INFINITY) > Date.parse(exchange.at);

  isWritten = ({ account, at }: RecordedExchange, area: string): boolean =>
    (this.#writtenAt.get(`${account} ${area}`) ?? Number.NEGATIVE_INFINITY) >= Date.parse(at);
}

/** The most calls that are remembered; a week of many clients has fewer different calls. */
const CALLS_MAX = 200_000;

const later = (map: Map<string, number>, key: string, at: number): void =>
  void map.set(key, Math.max(map.get(key) ?? at, at));
const digest = (text: string): string => createHash('sha256').update(text).digest('base64').slice(0, 22);

/** Identifies a call in any protocol by account, operation and arguments. */
function callKey({ account, group, operation, protocol, request }: RecordedExchange): string {
  const headers = { 'content-type': fieldOf(request.headers, 'content-type') };
  const call = readCall({ method: request.method, target: request.target, headers, body: bodyBytes(request) });
  const texts = Object.entries(call?.texts ?? {}).filter(([name]) => name !== 'user_id');
  return digest(JSON.stringify([account, group, operation, protocol, texts.sort()]));
}

/** The part of an account that a read shows. Contacts, templates and profile change separately. */
export function areaOf(name: string): string {
  const [group = '', operation = ''] = name.split('.');
  if (group !== 'account') return group;
  if (operation === 'Profile') return 'profile';
  return /Template|SavedMessages/.test(operation) ? 'templates' : 'contacts';
}

/** Adding a number to the blacklist cancels the messages that are scheduled for it. */
const writtenAreas = (name: string): readonly string[] =>
  name === 'account.BlackListNumber' ? ['compose'] : [areaOf(name)];

/** Fields that change while the row stays. */
const MUTABLE = ['read', 'marked', 'delivery_status', 'timestamp_updated', 'groupid', 'total', 'name'];
const BALANCES = ['credits', 'usedCredits'];

/**
 * Whether two answers differ only in rows that one of them lacks, and in fields that change while a
 * row stays. A count may have any value.
 */
export function differsByData(call: ComparedCall, old: RawAnswer, ours: RawAnswer, settings: CompareSettings): boolean {
  const [theirs, own] = [old, ours].map((answer) => readRaw(call, answer, settings)) as [ReadAnswer, ReadAnswer];
  const result = operationOf(call.group, call.operation)?.result;
  if (theirs.kind !== 'value' || own.kind !== 'value' || !result || theirs.namespace !== own.namespace) return false;
  if (result.kind === 'scalar') return true;
  const name = `${call.group}.${call.operation}`;
  const mutable = wireNames(name, settings, result.kind === 'dataSet', name === 'account.Profile' ? BALANCES : MUTABLE);
  const findings = new Findings(settings.disabled);
  if (result.kind === 'record') {
    if (theirs.raw === null || own.raw === null) return true;
    const raw = aligned(own.raw as RawRecord, theirs.raw as RawRecord, mutable);
    compareResults({ name, result, theirs, own: { ...own, raw } }, settings, findings);
    return findings.differences.length === 0;
  }
  const mine = new Map(rowsOf(own).map((row) => [row.key, row.raw]));
  const both = rowsOf(theirs).filter(({ key }) => mine.has(key));
  const here = both.map(({ key, raw }) => aligned(mine.get(key) as Row, raw, mutable));
  const there = both.map(({ raw }) => raw);
  const [one, other] = [withRows(theirs.raw, there), withRows(own.raw, here)];
  compareResults({ name, result, theirs: { ...theirs, raw: one }, own: { ...own, raw: other } }, settings, findings);
  return findings.differences.length === 0;
}

type Row = RawRecord | string | null;
type Values = Extract<ReadAnswer, { kind: 'value' }>;

/** The rows, each with its key: its id, or all of its fields that do not change. */
function rowsOf({ value, raw }: Values): { key: string; raw: Row }[] {
  const rows = (Array.isArray(raw) ? raw : ((raw as Partial<RawDataSet> | null)?.rows ?? [])) as readonly Row[];
  const values = value as readonly (ValueRecord | string | null)[];
  return rows.map((row, at) => {
    const known = values[at];
    if (known === null || known === undefined || typeof known !== 'object') return { key: String(known), raw: row };
    return { key: `${known.id ?? `${known.user_message_id} ${known.recipient}`}`, raw: row };
  });
}

const withRows = (raw: RawValue, rows: readonly Row[]): RawValue =>
  Array.isArray(raw) ? rows : ({ ...(raw as RawDataSet), rows } as RawDataSet);

function wireNames(
  name: string,
  { dialect }: CompareSettings,
  isDataSet: boolean,
  fields: readonly string[],
): readonly string[] {
  const columns = isDataSet ? dialect.columns?.[name] : undefined;
  return columns ? columns.flatMap((column) => (fields.includes(column.from ?? '') ? [column.name] : [])) : fields;
}

/** Returns one row with the changeable fields taken from the other. */
function aligned(row: Row, other: Row, fields: readonly string[]): Row {
  if (row === null || other === null || typeof row === 'string' || typeof other === 'string') return row;
  const taken = fields.filter((name) => name in other).map((name) => [name, other[name]]);
  return { ...row, ...Object.fromEntries(taken) };
}
