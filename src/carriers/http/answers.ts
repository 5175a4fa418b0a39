import type { IncomingHttpHeaders } from 'node:http';
import { meaningOfStatus, retryAfterMsOf } from '../carrier-requests.ts';
import type { SubmitResult } from '../connector.ts';
import type { ProviderFile, Result } from './form.ts';
import { fits, jsonOf, type Readable, textOf } from './sources.ts';
import { xmlReader } from './xml.ts';

/** What an answer to a message means, by the rules of the file. */
export interface Verdict {
  readonly result: Result;
  readonly gatewayId: string | null;
  /** A code or a word of the provider. */
  readonly reason: string | null;
  readonly retryAfterMs: number | undefined;
  /** The number of the rule that fits; null if none does, and the status alone decides. */
  readonly rule: number | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export function verdictOf(
  { answer: rules }: Pick<ProviderFile, 'answer'>,
  answer: Answer,
  { attemptId, setting }: Pick<Required<Readable>, 'attemptId' | 'setting'>,
): Verdict {
  const from = readableOf(answer, attemptId, setting);
  const index = rules.findIndex(({ when }) => fits(when, from));
  const rule = rules[index];
  const retryAfterMs = retryAfterMsOf(textOf(rule?.retryAfter ?? 'header:retry-after', from));
  if (!rule) {
    const meaning = meaningOfStatus(answer.status);
    // A success that no rule reads may be a refusal in words that we do not know.
    const result = meaning === 'accepted' ? 'unknown' : meaning;
    return { result, gatewayId: null, reason: null, retryAfterMs, rule: null };
  }
  const reason = textOf(rule.reason, from) ?? null;
  return { result: rule.result, gatewayId: textOf(rule.gatewayId, from) ?? null, reason, retryAfterMs, rule: index };
}

const readableOf = (answer: Answer, attemptId: string, setting: Readable['setting']): Readable => ({
  status: answer.status,
  header(name) {
    const value = answer.headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  },
  json: jsonOf(answer.body),
  xml: xmlReader(answer.body),
  body: answer.body,
  attemptId,
  setting,
});

const THROTTLED_MS = 1_000;

export function submitResultOf(verdict: Verdict, status: number, hide: (text: string) => string): SubmitResult {
  const { result, retryAfterMs } = verdict;
  const reason = `HTTP ${status}${verdict.reason === null ? '' : ` ${hide(verdict.reason)}`}`;
  switch (result) {
    case 'accepted':
      return { kind: 'accepted', gatewayId: verdict.gatewayId };
    case 'permanent':
      return { kind: 'permanent', reason };
    case 'unknown':
      return { kind: 'unknown-outcome', reason };
    case 'down':
      return { kind: 'temporary', reason, connectorDown: true, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    case 'throttled':
      return { kind: 'temporary', reason, retryAfterMs: retryAfterMs ?? THROTTLED_MS };
    default:
      return { kind: 'temporary', reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
}
