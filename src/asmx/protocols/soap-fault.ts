import type { Reply } from '../../base/exchange.ts';
import { Problem, type ProblemKind } from '../../base/problem.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { escapeAttribute, escapeText } from '../xml/escape.ts';
import { XML_URI } from '../xml/scope.ts';
import { envelopeStart, SOAP11, SOAP12, type SoapVersion } from './soap-version.ts';

/** Problems as SOAP faults. The status is always 500, as in ASMX, in SOAP 1.2 too. */

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
  // No operation of the contract has these problems.
  'not-found': 'sender',
  conflict: 'sender',
  forbidden: 'sender',
  'key-reused': 'sender',
  changed: 'sender',
};

export const isFault = (kind: ProblemKind): boolean => CODES[kind] !== 'plain';

/** The local name of the fault code. Only for a kind that is a fault. */
export function faultCode(kind: ProblemKind, version: SoapVersion, dialect: Dialect): string {
  const ours = CODES[kind];
  const code = ours === 'sender' && dialect.faultCode === 'server' ? 'receiver' : ours;
  return code === 'sender' || code === 'receiver' ? version[code] : code;
}

export function encodeFault(problem: Problem, version: SoapVersion, namespace: string, dialect: Dialect): Reply {
  const code = `soap:${faultCode(problem.kind, version, dialect)}`;
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

/** SOAP 1.1 §4.4 reserves detail for errors of the Body, so errors of header blocks have none. */
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

/** SOAP 1.2 §5.4.7 and §5.4.8. ASMX sends Upgrade in SOAP 1.1 too. */
function headerOf(problem: Problem, version: SoapVersion): string {
  if (problem.kind === 'version') return `<soap:Header>${UPGRADE}</soap:Header>`;
  if (problem.kind !== 'must-understand' || version === SOAP11) return '';
  const blocks = (problem.details.blocks ?? []).map(
    ({ uri, local }) => `<soap:NotUnderstood ${qualifiedName(uri, local)} />`,
  );
  const named = firstWithin(BLOCKS_BYTES_MAX, blocks);
  return named.length > 0 ? `<soap:Header>${named.join('')}</soap:Header>` : '';
}

// A fault is at most 4 KB longer than its request. Without limits, each of thousands of blocks
// repeated its namespace: 567 bytes of gzip became a response of 200 MB.
const BLOCKS_MAX = 10;
const BLOCKS_BYTES_MAX = 2_048;
const NAMES_BYTES_MAX = 1_024;

/** Names the first of the mandatory header blocks that were not understood. */
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

/** The first texts that fit into `bytesMax` bytes of UTF-8. */
function firstWithin(bytesMax: number, texts: readonly string[]): string[] {
  let bytes = 0;
  return texts.filter((text) => {
    bytes += Buffer.byteLength(text);
    return bytes <= bytesMax;
  });
}

/** A qname attribute with the declaration of its prefix. The prefix `xml` needs none. */
function qualifiedName(uri: string, local: string): string {
  if (uri === '') return `qname="${local}"`;
  return uri === XML_URI ? `qname="xml:${local}"` : `qname="h:${local}" xmlns:h="${escapeAttribute(uri)}"`;
}
