import { operationOf } from '../old-server/answer.ts';
import type { Upstream } from '../old-server/upstream.ts';
import type { AccountName } from './account-names.ts';
import { type ComparedCall, compareAnswers, readRaw } from './compare.ts';
import type { CompareSettings } from './compare-values.ts';
import { bodyBytes, type RecordedAnswer, type RecordedExchange, type RecordedMessage } from './recording.ts';
import type { RawAnswer } from './redaction.ts';
import { areaOf, differsByData, type RecordedChanges } from './replay-changes.ts';

/** Sends recorded calls again, and compares the answers with those of the old server. */
export interface ReplaySettings {
  readonly server: Pick<Upstream, 'exchange'>;
  readonly compare: CompareSettings;
  readonly users: UserIds;
  /** Whether writes are left out. */
  readonly readsOnly: boolean;
  /** What the recordings show of later changes. */
  readonly changes: RecordedChanges;
  /** When something last arrived at the server in this part of an account; null for never. */
  readonly arrivedAt: (userId: string, area: string) => Promise<number | null>;
}

export interface ReplayRow {
  readonly operation: string;
  readonly protocol: string;
  readonly counts: Map<string, number>;
}

export interface ReplayReport {
  sent: number;
  /** How many calls were left out, by the reason. */
  readonly left: Map<string, number>;
  readonly rows: Map<string, ReplayRow>;
  readonly knownDifferences: Map<string, { total: number; example: string }>;
  /** At most 50 answers that differ or failed. */
  readonly differences: { outcome: string; operation: string; protocol: string; at: string; example: string }[];
}

const DIFFERENCES_MAX = 50;

export const newReport = (): ReplayReport => ({
  sent: 0,
  left: new Map(),
  rows: new Map(),
  knownDifferences: new Map(),
  differences: [],
});

/** What each class of answers means, in the order in which they are shown. */
export const CLASSES: Readonly<Record<string, string>> = {
  equal: 'both answers are the same',
  order: 'the same rows in another order, and neither server promises one',
  'by design': 'a difference that Columba declares',
  'data changed since': 'a later write or arrival explains the difference, so the recorded answer cannot come back',
  different: 'another answer than the old server gave; this has to be 0',
  failed: 'no answer, or an error of the server itself where the old server gave a result; this has to be 0',
};

/** The counts of all operations together. */
export function countsOf({ rows }: ReplayReport): Map<string, number> {
  const of = (name: string): number => [...rows.values()].reduce((sum, { counts }) => sum + (counts.get(name) ?? 0), 0);
  return new Map(Object.keys(CLASSES).map((name) => [name, of(name)]));
}

/** Whether every compared answer equals the recorded one. */
export const isReplayEqual = (report: ReplayReport): boolean => {
  const counts = countsOf(report);
  return report.sent > 0 && counts.get('different') === 0 && counts.get('failed') === 0;
};

/** The user_ids of accounts, by their names in recordings. */
export type UserIds = ReadonlyMap<string, string>;

export function userIdsOf(text: string, accountName: AccountName): UserIds {
  const ids = text.split(/\r?\n/).flatMap((line) => {
    const [id = ''] = line.split(/[,;\t]/, 1);
    const trimmed = id.trim().replace(/^"(.*)"$/, '$1');
    return trimmed === '' || trimmed.startsWith('#') ? [] : [trimmed];
  });
  return new Map(ids.map((id) => [accountName(id), id]));
}

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

export async function replayOne(
  exchange: RecordedExchange,
  report: ReplayReport,
  settings: ReplaySettings,
): Promise<void> {
  const why = leftOut(exchange, settings);
  if (why !== undefined) {
    count(report.left, why);
    return;
  }
  const { group, operation, protocol, old } = exchange;
  const call = { group: group as string, operation: operation as string, protocol: protocol as 'soap11' };
  const name = `${group}.${operation}`;
  const key = `${name} ${protocol}`;
  const row = report.rows.get(key) ?? { operation: name, protocol: call.protocol, counts: new Map() };
  report.rows.set(key, row);
  report.sent += 1;
  const differ = (outcome: string, example: string): void => {
    if (report.differences.length >= DIFFERENCES_MAX) return;
    report.differences.push({ outcome, operation: name, protocol: call.protocol, at: exchange.at, example });
  };
  const answer = await send(exchange, settings).catch((thrown: NodeJS.ErrnoException) => {
    differ('failed', `no answer (${thrown.code ?? thrown.message})`);
    return undefined;
  });
  if (!answer) return count(row.counts, 'failed');
  const recorded = withName(rawOf(old as RecordedAnswer), exchange, settings.users);
  const { outcome, knownDifferences, differences } = compareAnswers(call, recorded, answer, settings.compare);
  const isChanged = outcome === 'different' && (await isChangedSince(exchange, call, recorded, answer, settings));
  count(row.counts, isChanged ? CHANGED : outcome);
  if (isChanged) return;
  for (const [name, example] of knownDifferences) {
    const found = report.knownDifferences.get(name) ?? { total: 0, example };
    found.total += 1;
    report.knownDifferences.set(name, found);
  }
  if (differences[0] === undefined) return;
  const texts = faultTexts(call, recorded, answer, settings.compare).map((text) =>
    withoutSecrets(text, exchange, settings),
  );
  differ(outcome, [differences[0], ...texts].join('; '));
}

/** The texts of faults among the two answers. */
function faultTexts(call: ComparedCall, old: RawAnswer, ours: RawAnswer, compare: CompareSettings): string[] {
  const [theirs, own] = [old, ours].map((answer) => readRaw(call, answer, compare));
  return [
    ...(theirs?.kind === 'fault' && theirs.text !== '' ? [`the old server said “${theirs.text}”`] : []),
    ...(own?.kind === 'fault' && own.text !== '' ? [`ours said “${own.text}”`] : []),
  ];
}

const TEXT_LENGTH_MAX = 200;

/** Removes the user_id and phone numbers, which a fault may repeat. */
function withoutSecrets(text: string, { account }: RecordedExchange, { users }: ReplaySettings): string {
  const userId = users.get(account ?? '');
  const open = userId ? text.replaceAll(userId, '…') : text;
  const shown = open.replaceAll(/\+?\d[\d ()-]{5,}\d/g, '…');
  return shown.length > TEXT_LENGTH_MAX ? `${shown.slice(0, TEXT_LENGTH_MAX)} …` : shown;
}

/** The class of answers that cannot come again, because the data changed since. */
export const CHANGED = 'data changed since';

/** The clock of the old server may be behind that of the recording. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * The last answer to each call is compared with the data, and an earlier answer only if the old
 * server did not change its answer itself.
 */
async function isChangedSince(
  exchange: RecordedExchange,
  call: ComparedCall,
  recorded: RawAnswer,
  answer: RawAnswer,
  { changes, users, compare, arrivedAt }: ReplaySettings,
): Promise<boolean> {
  const userId = users.get(exchange.account ?? '');
  if (userId === undefined || isWrite(exchange)) return false;
  if (!differsByData(call, recorded, answer, compare)) return false;
  const area = areaOf(`${call.group}.${call.operation}`);
  if (changes.isAnsweredOtherwise(exchange) || changes.isWritten(exchange, area)) return true;
  const arrived = await arrivedAt(userId, area);
  return arrived !== null && arrived + CLOCK_MARGIN_MS >= Date.parse(exchange.at);
}

export const isWrite = ({ group, operation }: RecordedExchange): boolean =>
  group !== null && operation !== null && operationOf(group, operation)?.changes === true;

function leftOut(exchange: RecordedExchange, { users, readsOnly }: ReplaySettings): string | undefined {
  const { group, operation, protocol, account, request, old } = exchange;
  if (group === null || operation === null || protocol === null) return 'no call';
  if (readsOnly && isWrite(exchange)) return 'write';
  if (!old || old.withheld || request.withheld) return 'not recorded as a whole';
  return account !== null && !users.has(account) ? 'account without a user_id' : undefined;
}

export const rawOf = ({ status, headers, ms, ...message }: RecordedAnswer): RawAnswer => ({
  status,
  rawHeaders: headers.flat(),
  ms,
  body: bodyBytes({ headers, ...message }),
});

/** Puts the name of the account in place of its user_id, as the recorded answer has it. */
function withName(answer: RawAnswer, { account, old }: RecordedExchange, users: UserIds): RawAnswer {
  const userId = account === null ? undefined : users.get(account);
  if (userId === undefined || account === null || !old) return answer;
  const text = old.body.replaceAll(account, () => xmlEscaped(userId));
  return { ...answer, body: Buffer.from(text, old.encoding) };
}

function send({ request, account }: RecordedExchange, { server, users }: ReplaySettings): Promise<RawAnswer> {
  const userId = account === null ? '' : (users.get(account) ?? '');
  const inPlace = (text: string, escaped: (value: string) => string): string =>
    account === null ? text : text.replaceAll(account, () => escaped(userId));
  const target = inPlace(request.target, encodeURIComponent);
  const body = inPlace(request.body, isXml(request) ? xmlEscaped : encodeURIComponent);
  const rawHeaders = request.headers.flatMap(([name, value]) => [name, inPlace(value, encodeURIComponent)]);
  return server.exchange({ method: request.method, target, rawHeaders }, Buffer.from(body, request.encoding));
}

const isXml = ({ body }: RecordedMessage): boolean => body.trimStart().startsWith('<');
const xmlEscaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
