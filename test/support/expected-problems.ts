import assert from 'node:assert/strict';
import type { OperatorProblemKind, ProblemKind } from '../../src/base/problem.ts';
import { ENVELOPES, NAMESPACE, type Protocol } from './protocols.ts';
import { parse } from './schema-validator.ts';
import { ACME, type Answer, GLOBEX } from './service.ts';

type ContractProblemKind = Exclude<ProblemKind, OperatorProblemKind>;

/** How each kind of problem looks in each protocol, written without the service's own code: docs/COMPATIBILITY.md, errors. */
interface Look {
  /** The fault codes of SOAP 1.1 and 1.2; null where SOAP answers in plain text. */
  readonly fault: readonly [string, string] | null;
  /** In plain text. */
  readonly status: number;
}

const SENDER = ['soap:Client', 'soap:Sender'] as const;

export const LOOKS: Record<ContractProblemKind, Look> = {
  version: { fault: ['soap:VersionMismatch', 'soap:VersionMismatch'], status: 400 },
  'must-understand': { fault: ['soap:MustUnderstand', 'soap:MustUnderstand'], status: 400 },
  'unknown-operation': { fault: SENDER, status: 404 },
  'bad-argument': { fault: SENDER, status: 400 },
  denied: { fault: SENDER, status: 403 },
  internal: { fault: ['soap:Server', 'soap:Receiver'], status: 500 },
  malformed: { fault: null, status: 400 },
  method: { fault: null, status: 405 },
  'too-large': { fault: null, status: 413 },
  'unsupported-media': { fault: null, status: 415 },
  'too-many': { fault: null, status: 429 },
  unavailable: { fault: null, status: 503 },
};

/** What a fault has in its envelope's Header, and the header fields of HTTP that come with an answer. */
export interface Extras {
  readonly blocks?: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** False for errors of header blocks, which have none. */
  readonly detail?: boolean;
}

/** The answer is this problem, byte by byte. It is well-formed, one line, and does not repeat a user_id. */
export function assertProblem(
  protocol: Protocol,
  answer: Answer,
  kind: ContractProblemKind,
  message: string | RegExp,
  extras: Extras = {},
): void {
  const text = messageOf(answer);
  if (typeof message === 'string') assert.equal(text, message);
  else assert.match(text, message);
  const { status, headers } = answer;
  assert.deepEqual({ status, headers, text: answer.text }, problem(protocol, kind, text, extras));
  for (const userId of [ACME, GLOBEX]) assert.ok(!answer.text.includes(userId), 'the answer repeats a user_id');
}

function messageOf({ text }: Answer): string {
  if (!text.startsWith('<?xml')) {
    assert.match(text, /^[^\r\n]+\n$/);
    return text.slice(0, -1);
  }
  parse(text).dispose();
  const [, message = ''] =
    /<(?:faultstring|soap:Text xml:lang="en")>([^<]*)</.exec(text) ?? assert.fail(`no fault: ${text}`);
  return message.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

function problem(
  protocol: Protocol,
  kind: ContractProblemKind,
  message: string,
  { blocks, fields, detail = true }: Extras,
) {
  const { fault, status } = LOOKS[kind];
  if (protocol === 'get' || protocol === 'post' || !fault) {
    const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', ...fields };
    return { status, headers, text: `${message}\n` };
  }
  const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const error = `<error xmlns="${NAMESPACE}"><code>${kind}</code><message>${escaped}</message></error>`;
  const [code11, code12] = fault;
  const body =
    protocol === 'soap11'
      ? `<faultcode>${code11}</faultcode><faultstring>${escaped}</faultstring>${detail ? `<detail>${error}</detail>` : ''}`
      : `<soap:Code><soap:Value>${code12}</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">${escaped}</soap:Text></soap:Reason>${detail ? `<soap:Detail>${error}</soap:Detail>` : ''}`;
  const type = protocol === 'soap11' ? 'text/xml; charset=utf-8' : 'application/soap+xml; charset=utf-8';
  return {
    status: 500,
    headers: { 'Content-Type': type, 'Cache-Control': 'private', ...fields },
    text: `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${ENVELOPES[protocol]}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">${blocks ? `<soap:Header>${blocks}</soap:Header>` : ''}<soap:Body><soap:Fault>${body}</soap:Fault></soap:Body></soap:Envelope>`,
  };
}
