import type { CarrierRequest } from '../carrier-requests.ts';
import type { Submission } from '../connector.ts';
import type { MessageRequest, SideRequest, Template } from './form.ts';
import { isNumber, parseTemplate, render, renderBody, type Values } from './template.ts';
import { xmlEscaped } from './xml.ts';

/** Requests by the templates of a file. */
export interface BuiltRequest extends Pick<CarrierRequest, 'method'> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A field cannot carry the value of this message. The message names the field. */
export class Unfit extends Error {}

type AnyRequest = Omit<MessageRequest, 'auth'> | Omit<SideRequest, 'auth'>;

export function buildRequest(request: AnyRequest, values: Values, authorization: string | undefined): BuiltRequest {
  const { method, query = {} } = request;
  const pairs = pairsOf(query, values);
  const url = urlOf(request.url, values);
  const [type, body] = bodyOf(request, values);
  const own = headersOf(request.headers ?? {}, values);
  const hasType = Object.keys(own).some((name) => name.toLowerCase() === 'content-type');
  return {
    method,
    url: pairs === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${pairs}`,
    headers: {
      ...(type !== undefined && !hasType && { 'Content-Type': type }),
      ...own,
      ...(authorization !== undefined && { Authorization: authorization }),
    },
    body,
  };
}

function bodyOf(request: AnyRequest, values: Values): [type: string | undefined, body: string] {
  const { form, json, xml } = request;
  if (form !== undefined) return ['application/x-www-form-urlencoded', pairsOf(form, values)];
  if (json !== undefined) return ['application/json', JSON.stringify(filled(json, values))];
  if (xml !== undefined) return ['application/xml; charset=utf-8', renderBody(parseTemplate(xml), values, inXml)];
  if (!('text' in request) || request.text === undefined) return [undefined, ''];
  return ['text/plain; charset=utf-8', renderBody(parseTemplate(request.text), values)];
}

function inXml(value: string): string {
  const escaped = xmlEscaped(value);
  if (escaped === undefined) throw new Unfit('a document of XML cannot carry a character of this message');
  return escaped;
}

/** A setting at the beginning is an address itself; all other values are encoded. */
export function urlOf(template: string, values: Values): string {
  const [first, ...others] = parseTemplate(template);
  const begin = first === undefined ? '' : (render([first], values) ?? '');
  const rest = render(others, values, encodeURIComponent);
  if (rest === undefined) throw new Unfit('the address lacks a value');
  return (typeof first === 'string' ? begin : begin.replace(/\/+$/, '')) + rest;
}

function pairsOf(fields: Readonly<Record<string, string>>, values: Values): string {
  const pairs: string[] = [];
  for (const [name, template] of Object.entries(fields)) {
    const value = render(parseTemplate(template), values);
    if (value !== undefined) pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`);
  }
  return pairs.join('&');
}

function headersOf(fields: Readonly<Record<string, string>>, values: Values): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(fields)) {
    const value = render(parseTemplate(template), values);
    if (value === undefined) continue;
    if (!/^[\x20-\x7e]*$/.test(value)) throw new Unfit(`the header field ${name} cannot carry this value`);
    headers[name] = value;
  }
  return headers;
}

/** Undefined where a value is absent: JSON leaves such a member out. */
function filled(template: Template, values: Values): unknown {
  if (typeof template === 'string') {
    const pieces = parseTemplate(template);
    const value = render(pieces, values);
    return value !== undefined && isNumber(pieces) ? Number(value) : value;
  }
  if (Array.isArray(template)) {
    return template.map((each) => filled(each, values)).filter((each) => each !== undefined);
  }
  if (typeof template !== 'object') return template;
  return Object.fromEntries(Object.entries(template).map(([name, each]) => [name, filled(each, values)]));
}

export const basicOf = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;

const HEX = (octets: Uint8Array): string => Buffer.from(octets).toString('hex').toUpperCase();

export interface MessageContext {
  readonly now: number;
  readonly defaultSender: string | undefined;
  readonly callbackUrl: (is: 'receipt' | 'incoming') => string | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Values of settings and secrets, without a message. */
export const namedValues =
  ({ settings, secrets }: Pick<MessageContext, 'settings' | 'secrets'>): Values =>
  (name) => {
    const [kind, own = ''] = name.split('.', 2);
    const from = kind === 'setting' ? settings : kind === 'secret' ? secrets : {};
    return Object.hasOwn(from, own) ? from[own] : undefined;
  };

/** How a placeholder for a field that the carrier demands begins. */
const FIELD = 'field.';

export function messageValues(part: Submission, context: MessageContext): Values {
  const named = namedValues(context);
  const { validUntil } = part;
  const leftMs = validUntil === null ? undefined : Math.max(1_000, validUntil - context.now);
  const own: Readonly<Record<string, string | undefined>> = {
    recipient: part.recipient,
    sender: part.sender ?? context.defaultSender,
    text: part.text,
    attemptId: part.attemptId,
    attemptNumber: String(part.attemptNumber ?? 1),
    encoding: part.encoding,
    udhHex: part.udh === null ? undefined : HEX(part.udh),
    priority: String(part.priority),
    validUntil: validUntil === null ? undefined : new Date(validUntil).toISOString(),
    validitySeconds: leftMs === undefined ? undefined : String(Math.ceil(leftMs / 1_000)),
    validityMs: leftMs === undefined ? undefined : String(leftMs),
    'callback.receipt': context.callbackUrl('receipt'),
    'callback.incoming': context.callbackUrl('incoming'),
  };
  const fields = part.fields ?? {};
  const fieldOf = (name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined);
  return (name) => {
    if (name.startsWith(FIELD)) return fieldOf(name.slice(FIELD.length));
    return Object.hasOwn(own, name) ? own[name] : named(name);
  };
}
