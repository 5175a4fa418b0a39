import { parseMediaType } from '../../asmx/protocols/media-type.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { operationOf, type ReadAnswer, readAnswer } from '../old-server/answer.ts';
import { plainBody } from '../old-server/call-reader.ts';
import { compareNotation } from './compare-notation.ts';
import { type CompareSettings, compareResults } from './compare-values.ts';
import { BY_DESIGN, Findings, HEADER_DIFFERENCES, type KnownDifference } from './known-differences.ts';
import { fieldsOf, type RawAnswer } from './redaction.ts';

/** Compares two answers to one call, as a client would see them. */
export interface ComparedCall {
  readonly group: string;
  readonly operation: string;
  readonly protocol: ProtocolName;
}

export interface Comparison {
  readonly outcome: 'equal' | 'order' | 'by design' | 'different' | 'failed';
  readonly knownDifferences: ReadonlyMap<KnownDifference, string>;
  /** At most five differences, with personal values replaced. */
  readonly differences: readonly string[];
}

export function compareAnswers(
  call: ComparedCall,
  old: RawAnswer,
  ours: RawAnswer,
  settings: CompareSettings,
): Comparison {
  const findings = new Findings(settings.disabled);
  const [theirs, own] = [old, ours].map((answer) => readRaw(call, answer, settings)) as [ReadAnswer, ReadAnswer];
  if (isOurFault(ours, own) && theirs.kind !== 'fault') {
    findings.differ(`old ${old.status}, ours ${describe(ours, own)}`);
    return { outcome: 'failed', knownDifferences: findings.knownDifferences, differences: findings.differences };
  }
  compareHeads(old, ours, findings);
  compareBodies({ call, old, ours, theirs, own }, settings, findings);
  return {
    outcome: outcomeOf(findings),
    knownDifferences: findings.knownDifferences,
    differences: findings.differences,
  };
}

function outcomeOf({ differences, knownDifferences }: Findings): Comparison['outcome'] {
  if (differences.length > 0) return 'different';
  if (BY_DESIGN.some((name) => knownDifferences.has(name))) return 'by design';
  return knownDifferences.has('list-order') ? 'order' : 'equal';
}

/** The result of a call that changes data; undefined if the answer has none. */
export function booleanResult(call: ComparedCall, answer: RawAnswer, settings: CompareSettings): boolean | undefined {
  const read = readRaw(call, answer, settings);
  return read.kind === 'value' && typeof read.value === 'boolean' ? read.value : undefined;
}

export function readRaw(
  { group, operation, protocol }: ComparedCall,
  answer: RawAnswer,
  settings: CompareSettings,
): ReadAnswer {
  const { rawHeaders, status, body } = answer;
  if (body === undefined) return { kind: 'unreadable', reason: 'The answer is too long.' };
  const headers = fieldsOf(rawHeaders);
  try {
    const bytes = { status, contentType: headers['content-type'] ?? '', body: plainBody({ headers, body }) };
    return readAnswer(group, operation, protocol, bytes, settings.dialect, settings.zone);
  } catch {
    return { kind: 'unreadable', reason: 'The Content-Encoding is not understood.' };
  }
}

const SERVER_CODES = ['Server', 'Receiver'];

/** Whether the error is Columba's own: a fault of the server, or a plain 5xx or 429. */
function isOurFault({ status }: RawAnswer, read: ReadAnswer): boolean {
  if (read.kind === 'fault' && !read.code.startsWith('HTTP ')) return SERVER_CODES.includes(read.code);
  return status >= 500 || status === 429;
}

const describe = ({ status }: RawAnswer, read: ReadAnswer): string =>
  read.kind === 'fault' ? `${status} ${read.code}` : String(status);

/** Content-Type is compared by its meaning; every other field may have a known difference. */
function compareHeads(old: RawAnswer, ours: RawAnswer, findings: Findings): void {
  const [theirs, own] = [fieldsOf(old.rawHeaders), fieldsOf(ours.rawHeaders)];
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(own)])) {
    const [one, other] = [theirs[name], own[name]];
    if (one === other || name === 'content-type') continue;
    const difference = HEADER_DIFFERENCES[name] ?? 'header-other';
    const absent = (value: string | undefined) => (value === undefined ? 'absent' : 'present');
    findings.known(
      difference,
      `${name}: old ${absent(one)}, ours ${absent(other)}${one && other ? ', other value' : ''}`,
    );
  }
  compareContentType(theirs['content-type'], own['content-type'], old.status === ours.status, findings);
}

function compareContentType(
  old: string | undefined,
  ours: string | undefined,
  isSameStatus: boolean,
  findings: Findings,
): void {
  if (old === ours || !isSameStatus) return; // another status is another kind of answer
  const example = `Content-Type: old ${old ?? 'absent'}, ours ${ours ?? 'absent'}`;
  if (mediaKey(old) === mediaKey(ours)) findings.known('content-type-form', example);
  else findings.differ(example);
}

const mediaKey = (field: string | undefined): string => {
  const { type, parameters } = parseMediaType(field);
  return `${type} ${(parameters.charset ?? 'utf-8').toLowerCase()}`;
};

interface BothAnswers {
  readonly call: ComparedCall;
  readonly old: RawAnswer;
  readonly ours: RawAnswer;
  readonly theirs: ReadAnswer;
  readonly own: ReadAnswer;
}

function compareBodies(both: BothAnswers, settings: CompareSettings, findings: Findings): void {
  const { call, old, ours, theirs, own } = both;
  if (theirs.kind === 'unreadable' || own.kind === 'unreadable') {
    const reasonOf = (read: ReadAnswer) => (read.kind === 'unreadable' ? read.reason : 'readable');
    if (!isSameBytes(old, ours)) findings.differ(`old: ${reasonOf(theirs)} Ours: ${reasonOf(own)}`);
    return;
  }
  if (theirs.kind === 'fault' || own.kind === 'fault') {
    compareFaults(both, findings);
    return;
  }
  if (theirs.namespace !== own.namespace) {
    findings.differ(`namespace: old ${theirs.namespace}, ours ${own.namespace}`);
  }
  const operation = operationOf(call.group, call.operation);
  if (!operation) return;
  const name = `${call.group}.${call.operation}`;
  compareResults({ name, result: operation.result, theirs, own }, settings, findings);
  if (findings.differences.length === 0) compareNotation(textOf(old), textOf(ours), findings);
}

function compareFaults({ old, ours, theirs, own }: BothAnswers, findings: Findings): void {
  if (theirs.kind !== 'fault' || own.kind !== 'fault') {
    const kindOf = (answer: RawAnswer, read: ReadAnswer) =>
      read.kind === 'fault' ? describe(answer, read) : 'a result';
    findings.differ(`old ${kindOf(old, theirs)}, ours ${kindOf(ours, own)}`);
    return;
  }
  const example = `old ${describe(old, theirs)}, ours ${describe(ours, own)}`;
  const [isPlainThere, isPlainHere] = [theirs, own].map(({ code }) => code.startsWith('HTTP '));
  if (isPlainThere && isPlainHere) {
    if (old.status !== ours.status) findings.known('error-status', example);
  } else if (isPlainHere || isPlainThere) findings.known('plain-error', example);
  else if (theirs.code !== own.code) findings.differ(`${example}: set faultCode in the dialect`);
  if (theirs.text !== own.text) findings.known('fault-text', `another text for ${describe(ours, own)}`);
}

const isSameBytes = (one: RawAnswer, other: RawAnswer): boolean =>
  one.status === other.status && one.body !== undefined && other.body !== undefined && textOf(one) === textOf(other);

function textOf({ rawHeaders, body }: RawAnswer): string {
  if (body === undefined) return '';
  try {
    return Buffer.from(plainBody({ headers: fieldsOf(rawHeaders), body })).toString('utf8');
  } catch {
    return Buffer.from(body).toString('latin1');
  }
}
