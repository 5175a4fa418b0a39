import { ENVELOPES, NAMESPACE } from '../support/protocols.ts';
import { chunked, requestBytes } from '../support/socket.ts';

/** From what is typical of a toolkit to the bytes that it sends. */
export type Version = 'soap11' | 'soap12';
export type ScalarName = 'string' | 'int' | 'long' | 'dateTime';

export interface Call {
  readonly group: string;
  readonly operation: string;
  /** Name, type and value; a dateTime is an instant, a list is an array. */
  readonly parameters: readonly (readonly [string, ScalarName, string | number | readonly string[]])[];
}

export interface Client {
  readonly name: string;
  readonly version: Version;
  /** The connection is closed after each call, because the client says so or speaks HTTP/1.0. */
  readonly closes: boolean;
  /** The client reads answers in gzip. */
  readonly gzip: boolean;
  /** What goes over the wire, piece by piece; the client waits for `100 Continue` after the first, or does not. */
  request(call: Call, host: string): { pieces: readonly Buffer[]; waits: boolean };
}

/** What is typical of a toolkit. Everything else is the same for all of them. */
export interface Toolkit {
  readonly name: string;
  readonly versions?: readonly Version[];
  readonly http?: '1.0';
  /** Header fields; ACTION and HOST stand for those of the call. */
  readonly fields: Readonly<Partial<Record<Version, readonly string[]>>>;
  readonly delivery?: 'two packets' | 'waits' | 'chunks';
  /** Everything around the operation, which is at BODY; ENV is the namespace of the envelope, NS that of the service. */
  readonly envelope: string;
  readonly prefix?: string;
  /** The operation declares the service's namespace; otherwise something around it does. */
  readonly declares?: boolean;
  readonly unqualifiedChildren?: boolean;
  readonly typed?: boolean;
  readonly indent?: string;
  readonly references?: boolean;
  readonly date?: (iso: string) => string;
}

export function clientOf(toolkit: Toolkit, version: Version): Client {
  const fields = toolkit.fields[version] ?? [];
  return {
    name: `${toolkit.name} (${version})`,
    version,
    closes: toolkit.http === '1.0' || fields.some((field) => /^connection:.*close/i.test(field)),
    gzip: fields.some((field) => /^accept-encoding:.*gzip/i.test(field)),
    request(call, host) {
      const body = toolkit.envelope
        .replace('BODY', () => operationElement(toolkit, call))
        .replaceAll('"ENV"', `"${ENVELOPES[version]}"`)
        .replaceAll('"NS', `"${NAMESPACE}`);
      const lines = fields.map((field) =>
        field.replace('ACTION', `${NAMESPACE}/${call.operation}`).replace('HOST', host),
      );
      const start = `POST /api/${call.group}.asmx HTTP/${toolkit.http ?? '1.1'}`;
      return { pieces: deliver(toolkit, start, lines, body), waits: toolkit.delivery === 'waits' };
    },
  };
}

function deliver({ delivery }: Toolkit, start: string, lines: readonly string[], body: string): Buffer[] {
  if (delivery === 'chunks') {
    const head = requestBytes(start, [...lines, 'Transfer-Encoding: chunked']);
    // Bytes that belong together arrive apart: a chunk ends in the middle of an element, a packet in the middle of a chunk.
    const bytes = chunked(body, 60);
    return [head, bytes.subarray(0, 100), bytes.subarray(100)];
  }
  const whole = requestBytes(start, delivery === 'waits' ? [...lines, 'Expect: 100-continue'] : lines, body);
  const end = whole.indexOf('\r\n\r\n') + 4;
  return delivery ? [whole.subarray(0, end), whole.subarray(end)] : [whole];
}

function operationElement(toolkit: Toolkit, { operation, parameters }: Call): string {
  const { prefix = '', declares = true, unqualifiedChildren, indent = '' } = toolkit;
  const outer = prefix && `${prefix}:`;
  const inner = unqualifiedChildren ? '' : outer;
  const declaration = declares ? ` xmlns${prefix && `:${prefix}`}="NS"` : '';
  const children = parameters.map(([name, type, value]) => {
    const [attribute, lead] = [toolkit.typed ? ` xsi:type="xsd:${type}"` : '', indent && `${indent}  `];
    if (typeof value !== 'object') {
      return `${lead}<${inner}${name}${attribute}>${textOf(toolkit, type, value)}</${inner}${name}>`;
    }
    const items = value.map((item) => `${lead && `${lead}  `}<${inner}string>${item}</${inner}string>`);
    return `${lead}<${inner}${name}>${items.join('')}${lead}</${inner}${name}>`;
  });
  return `${indent}<${outer}${operation}${declaration}>${children.join('')}${indent}</${outer}${operation}>`;
}

function textOf({ references, date = (iso) => iso }: Toolkit, type: ScalarName, value: string | number): string {
  if (type === 'dateTime') return date(new Date(value).toISOString());
  const text = String(value).replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  if (!references) return text;
  return [...text].map((c) => (c > '\x7f' ? `&#x${c.codePointAt(0)?.toString(16).toUpperCase()};` : c)).join('');
}
