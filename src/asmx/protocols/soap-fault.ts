import type { Reply } from '../../exchange.ts';
import { Problem, type ProblemKind } from '../../problem.ts';
import { escapeAttribute, escapeText } from '../xml/escape.ts';
import { XML_URI } from '../xml/scope.ts';
import { envelopeStart, SOAP11, SOAP12, type SoapVersion } from './soap-version.ts';

/** Problems as SOAP faults. A fault is always HTTP 500, in 1.2 too, where ASMX did the same. */

type FaultCode = 'VersionMismatch' | 'MustUnderstand' | 'sender' | 'receiver';

const CODES: Record<ProblemKind, FaultCode | 'plain'> = {
  version: 'VersionMismatch',
  'must-understand': 'MustUnderstand',
  'unknown-operation': 'sender',
  'bad-argument': 'sender',
  denied: 'sender',
  internal: 'receiver',
  malformed: 'plain',
  method: 'plain',
  'too-large': 'plain',
  'unsupported-media': 'plain',
  'too-many': 'plain',
  unavailable: 'plain',
  // The contract has none of these.
  'not-found': 'sender',
  conflict: 'sender',
  forbidden: 'sender',
  'key-reused': 'sender',
};

export const isFault = (kind: ProblemKind): boolean => CODES[kind] !== 'plain';

/** The local name of the fault code, for a kind that is a fault. */
export function faultCode(kind: ProblemKind, version: SoapVersion): string {
  const code = CODES[kind];
  return code === 'sender' || code === 'receiver' ? version[code] : code;
}

export function encodeFault(problem: Problem, version: SoapVersion, namespace: string): Reply {
  const code = `soap:${faultCode(problem.kind, version)}`;
  const message = escapeText(problem.message);
  const detail = detailOf(problem, message, namespace);
  const fault = version === SOAP11 ? fault11(code, message, detail) : fault12(code, message, detail);
  return {
    status: 500,
    headers: { 'Content-Type': version.contentType, 'Cache-Control': 'private' },
    body: `${envelopeStart(version.uri)}${headerOf(problem, version)}<soap:Body>${fault}${version.close}`,
  };
}

const fault11 = (code: string, message: string, detail: string) =>
  `<soap:Fault><faultcode>${code}</faultcode><faultstring>${message}</faultstring>${
    detail && `<detail>${detail}</detail>`
  }</soap:Fault>`;

const fault12 = (code: string, message: string, detail: string) =>
  `<soap:Fault><soap:Code><soap:Value>${code}</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">${message}</soap:Text></soap:Reason>${
    detail && `<soap:Detail>${detail}</soap:Detail>`
  }</soap:Fault>`;

/** Errors of header blocks have no detail: SOAP 1.1 §4.4 keeps it for errors of the Body. */
function detailOf(problem: Problem, message: string, namespace: string): string {
  if (problem.kind === 'must-understand') return '';
  return `<error xmlns="${namespace}"><code>${problem.kind}</code><message>${message}</message></error>`;
}

const UPGRADE = `<soap12:Upgrade xmlns:soap12="${SOAP12.uri}">${[SOAP11, SOAP12]
  .map(({ protocol, uri }) => {
    const prefix = protocol === 'soap11' ? 'soap' : 'soap12';
    return `<soap12:SupportedEnvelope qname="${prefix}:Envelope" xmlns:${prefix}="${uri}" />`;
  })
  .join('')}</soap12:Upgrade>`;

/** SOAP 1.2 §5.4.7 and §5.4.8; ASMX sends Upgrade with SOAP 1.1 too. */
function headerOf(problem: Problem, version: SoapVersion): string {
  if (problem.kind === 'version') return `<soap:Header>${UPGRADE}</soap:Header>`;
  if (problem.kind !== 'must-understand' || version === SOAP11) return '';
  const blocks = (problem.details.blocks ?? []).map(
    ({ uri, local }) => `<soap:NotUnderstood ${qualifiedName(uri, local)} />`,
  );
  const named = firstWithin(BLOCKS_BYTES_MAX, blocks);
  return named.length > 0 ? `<soap:Header>${named.join('')}</soap:Header>` : '';
}

// A fault is at most 4 KB longer than its request: a short request can hold thousands of blocks, and
// each would repeat its namespace. Measured: 567 bytes in gzip became an answer of 200 MB.
const BLOCKS_MAX = 10;
const BLOCKS_BYTES_MAX = 2_048;
const NAMES_BYTES_MAX = 1_024;

/** The Problem of header blocks that are mandatory and unknown. It names the first of them. */
export function notUnderstood(all: readonly { uri: string; local: string }[]): Problem {
  const blocks = all.slice(0, BLOCKS_MAX).map(({ uri, local }) => ({ uri, local }));
  const names = firstWithin(
    NAMES_BYTES_MAX,
    blocks.map(({ local }) => local),
  );
  const others = all.length - names.length;
  const listed = [...names, ...(others > 0 ? [`${names.length > 0 ? 'and ' : ''}${others} more`] : [])].join(', ');
  return new Problem('must-understand', `SOAP header ${listed} was not understood.`, { blocks });
}

/** As many texts as have room in so many bytes of UTF-8. */
function firstWithin(bytesMax: number, texts: readonly string[]): string[] {
  let bytes = 0;
  return texts.filter((text) => {
    bytes += Buffer.byteLength(text);
    return bytes <= bytesMax;
  });
}

/** As the value of an attribute, with the prefix that it needs; the one of `xml:` is declared everywhere, and by nobody. */
function qualifiedName(uri: string, local: string): string {
  if (uri === '') return `qname="${local}"`;
  return uri === XML_URI ? `qname="xml:${local}"` : `qname="h:${local}" xmlns:h="${escapeAttribute(uri)}"`;
}
