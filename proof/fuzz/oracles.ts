import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import { Problem } from '../../src/base/problem.ts';
import { LIMITS } from '../../test/support/limits.ts';
import { ENVELOPES } from '../../test/support/protocols.ts';
import { parse, validateResult } from '../../test/support/schema-validator.ts';
import { ACME, type Answer } from '../../test/support/service.ts';
import { type FuzzedRequest, type FuzzedService, HIDDEN, MARKER } from './service.ts';
import { demand, shown } from './target.ts';

/** What holds for every answer, whatever was asked. */

/** Sends a request and holds everything against the rules: the answer, the log and the database. */
export interface Examined {
  readonly answer: Answer;
  /** The kind of answer, for the statistics. */
  readonly label: string;
  readonly changed: boolean;
}

export interface Examiner {
  send(request: FuzzedRequest): Promise<Examined>;
  /** Once more with the same result, where the first time has changed nothing. What another phrasing must bring, if it can be told. */
  repeat(request: FuzzedRequest, first: Examined): Promise<Examined | null>;
  isChanged(): boolean;
  finish(): Promise<void>;
}

// Every answer is read by our own reader; that of others, and the schema, take longer than all the rest.
const VALIDATE_EVERY = 32;

export async function createExaminer(service: FuzzedService): Promise<Examiner> {
  const hidden = await service.exported(HIDDEN);
  const start = await service.version();
  let version = start;
  let count = 0;

  const send: Examiner['send'] = async (request) => {
    service.logged.length = 0;
    const answer = await service.send(request).catch((thrown) => thrown);
    demand(!(answer instanceof Error), 'it throws', () => String(answer.stack));
    const call = service.lastCall();
    const label = judge(answer, service);
    count += 1;
    if (call && count % VALIDATE_EVERY === 0) validate(call.group, answer.text);
    const before = version;
    version = await service.version();
    const changed = version !== before;
    if (changed) version = await settled(service, version);
    demand(!changed || answer.status === 200, 'a refused call changes the database', () => shown(answer.text));
    if (changed && call) {
      const row = (contract as Record<string, Record<string, Operation>>)[call.group]?.[call.operation] as Operation;
      const writes = row.result.kind === 'scalar' && row.result.name === 'boolean';
      demand(writes, 'a call that reads changes the database', () => `${call.group}.${call.operation}`);
      demand(!/>false</.test(answer.text), 'false, and the database has changed', () => call.operation);
    }
    return { answer, label: call ? `200 ${call.operation}` : label, changed };
  };

  return {
    send,
    async repeat(request, first) {
      const second = await send(request);
      if (!first.changed) demandSame(first, second, 'the same request has two answers', '');
      return second.changed ? null : second;
    },
    isChanged: () => version !== start,
    async finish() {
      const now = await service.exported(HIDDEN);
      demand(now === hidden, "another account's data has changed", () => 'see the account that no input knows of');
      await checkCounts(service);
    },
  };
}

/** What goes on after the answer, such as taking away the rows of an emptied inbox, is not the next call's doing. */
async function settled(service: FuzzedService, from: string): Promise<string> {
  let last = from;
  for (let calm = 0; calm < CALM_TURNS; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = await service.version();
    calm = now === last ? calm + 1 : 0;
    last = now;
  }
  return last;
}
const CALM_TURNS = 5;

/** What is counted is what is there. */
async function checkCounts(service: FuzzedService): Promise<void> {
  const { inbox = [], sent = [] } = JSON.parse(await service.exported('acme'));
  const expected = {
    'inbox.asmx/CountRead': inbox.filter(({ read }: { read: boolean }) => read).length,
    'inbox.asmx/CountUnread': inbox.filter(({ read }: { read: boolean }) => !read).length,
    'sent.asmx/CountUnMarkedDeliveryStatus': sent.filter(({ marked }: { marked: boolean }) => !marked).length,
  };
  for (const [path, count] of Object.entries(expected)) {
    const request = { method: 'GET', path: `/api/${path}`, query: `user_id=${ACME}`, headers: {}, body: '' };
    const { text } = await service.send(request);
    demand(text.includes(`>${count}</long>`), 'a count that is not right', () => `${path}: ${text}, not ${count}`);
  }
}

export function demandSame(first: Examined, second: Examined, rule: string, how: string): void {
  const same =
    first.answer.status === second.answer.status &&
    first.answer.text === second.answer.text &&
    JSON.stringify(first.answer.headers) === JSON.stringify(second.answer.headers);
  demand(same, rule, () => {
    const [one, other] = [first, second].map(({ answer }) => `${answer.status} ${shown(answer.text)}`);
    return `${how}\n  ${one}\n  ${other}`;
  });
}

const TYPES = /^(?:text\/plain|text\/xml|application\/soap\+xml|text\/html); charset=utf-8$/;
const FAULTS = ['bad-argument', 'denied', 'unknown-operation', 'version'];
const PLAIN = [400, 403, 404, 405, 413, 415];

/** The answers that docs/COMPATIBILITY.md lists, and nothing in them that is not the caller's to know. */
function judge({ status, headers, text }: Answer, service: FuzzedService): string {
  demand(service.logged.length === 0, 'the service logs an error', () => service.logged.join(''));
  demand(!text.includes(MARKER), "another account's data is in the answer", () => shown(text));
  if (status === 308) {
    demand(headers.Location, '308 without Location', () => shown(text)); // the base without its slash
    return '308';
  }
  const type = String(headers['Content-Type'] ?? '');
  demand(TYPES.test(type), 'an unknown Content-Type', () => `${status} ${type}`);
  const root = type.includes('xml') ? wellFormed(text) : null;
  if (status === 200) {
    demand(root || type.startsWith('text/html'), 'a success that is no XML', () => `${type} ${shown(text)}`);
    if (root?.local === 'Envelope') contentOf(root);
    return `200 ${type}`;
  }
  demand(!text.includes(ACME), 'a refusal repeats the user_id', () => shown(text));
  const leak = LEAKS.find((pattern) => pattern.test(text));
  demand(!leak, 'a refusal gives away how the service works', () => `${leak} in ${shown(text)}`);
  if (status === 500) return faultKind(root, text);
  demand(PLAIN.includes(status), 'an unknown status', () => `${status} ${shown(text)}`);
  demand(type.startsWith('text/plain'), 'a refusal that is no plain text', () => `${status} ${type}`);
  demand(/^[^\r\n]+\n$/.test(text), 'a refusal that is not one line', () => shown(text));
  if (status === 405) demand(headers.Allow, '405 without Allow', () => shown(text));
  return String(status);
}

/** Stacks, SQL, paths, names of modules and of our own files. */
export const LEAKS = [
  /\bat \S+ \(|\n\s+at /,
  /node:|node_modules|file:\/\//,
  /\.(?:ts|js):\d/,
  /\/(?:src|tmp|usr|home|var)\//,
  /sqlite|postgres|constraint|syntax error/i,
  /\bselect\b.*\bfrom\b|\binsert into\b/i,
  /\b(?:Type|Range|Syntax|Reference)?Error:|\bundefined\b|\[object /,
];

function faultKind(root: XmlElement | null, text: string): string {
  demand(root?.local === 'Envelope', '500 without a fault', () => shown(text));
  demand(contentOf(root).local === 'Fault', '500 without a fault', () => shown(text));
  const kind = /<error xmlns="[^"]*"><code>([^<]*)</.exec(text)?.[1];
  if (kind === undefined) {
    demand(text.includes(':MustUnderstand<'), 'a fault without its kind', () => shown(text));
    return 'must-understand';
  }
  demand(FAULTS.includes(kind), 'a fault of an unknown kind', () => shown(text));
  return kind;
}

/** The one element in the Body. */
function contentOf({ uri, children }: XmlElement): XmlElement {
  const bodies = children.filter(({ local }) => local === 'Body');
  const content = bodies.flatMap((body) => body.children);
  const right = Object.values(ENVELOPES).includes(uri as never) && bodies.length === 1 && content.length === 1;
  demand(right, 'an answer that is no envelope', () => `${uri} with ${bodies.length} Body and ${content.length} in it`);
  return content[0] as XmlElement;
}

function wellFormed(text: string): XmlElement {
  try {
    return readXml(text, LIMITS);
  } catch (thrown) {
    const problem = thrown instanceof Problem ? thrown.message : String(thrown);
    demand(false, 'an answer that is not well-formed', () => `${problem} ${shown(text)}`);
  }
}

/** By libxml2, and against the schema of our own WSDL. */
function validate(group: string, text: string): void {
  try {
    parse(text).dispose();
    validateResult(group, text);
  } catch (thrown) {
    demand(false, 'an answer that the WSDL does not describe', () => `${thrown} ${shown(text)}`);
  }
}
