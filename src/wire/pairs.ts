import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import type { DateContext } from '../contract/dates.ts';
import type { ParameterType, ResultType } from '../contract/types.ts';
import { header, type Request } from '../exchange.ts';
import { badArgument, Problem } from '../problem.ts';
import { indented, XML_DECLARATION } from './elements.ts';
import {
  type Form,
  type FormSettings,
  type Message,
  plainProblem,
  readArgument,
  type WireLimits,
  xmlReply,
} from './form.ts';
import { knownDecoder, latin1, parseMediaType } from './text.ts';
import { type FramedWriter, framed, resultWriter, rootAttributes, rootName, SCHEMA_NAMESPACES } from './values.ts';

/** HTTP GET and HTTP POST: one form, two sources of name=value pairs. */
export function createPairs(
  source: 'get' | 'post',
  { groupName, group, namespace, dates, limits }: FormSettings,
): Form {
  const operations = new Map(
    Object.entries(group).map(([name, { parameters, result }]) => [
      name,
      { parameters: Object.entries(parameters), write: rootWriter(result, namespace) },
    ]),
  );

  return {
    receive(request, operationPath, body) {
      const name = decodeText(operationPath, decodeUtf8, false);
      const operation = operations.get(name);
      if (!operation) throw new Problem('unknown-operation', `There is no such operation in ${groupName}.`);
      const pairs = source === 'get' ? readPairs(request.query, decodeQuery, limits) : readForm(request, body, limits);
      return {
        form: source,
        decode: () => ({
          group: groupName,
          operation: name,
          arguments: readArguments(pairs, operation.parameters, dates()),
        }),
        encode: (_call, value) => xmlReply('text/xml; charset=utf-8', operation.write(value, XML_DECLARATION, '')),
        encodeProblem: plainProblem,
      } satisfies Message;
    },
    encodeProblem: plainProblem,
  };
}

type Pairs = ReadonlyMap<string, readonly string[]>;

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });
// Latin-1 as Windows has it, with the euro sign and curly quotes where ISO 8859-1 has control characters.
const LATIN1 = new TextDecoder('windows-1252');
const FORM_TYPE = 'application/x-www-form-urlencoded';

function readForm(request: Request, body: Uint8Array, limits: WireLimits): Pairs {
  const media = parseMediaType(header(request, 'content-type'));
  if (media.type !== FORM_TYPE)
    throw new Problem('unsupported-media', `The Content-Type of this call is ${FORM_TYPE}.`);
  // An encoding of two bytes a character cannot be what percent signs hold; like an unknown one it counts as absent.
  const decoder = /^(utf-?16|ucs-?2)/i.test(media.parameters.charset ?? '')
    ? UTF8
    : (knownDecoder(media.parameters.charset ?? '', { ignoreBOM: true }) ?? UTF8);
  return readPairs(latin1(body), (piece) => decoder.decode(bytesOf(piece)), limits);
}

/** Names in lower case, since ASMX takes them in any; a name without `=` is no pair. */
function readPairs(text: string, decode: Decode, limits: WireLimits): Pairs {
  const { parametersMax, nameLengthMax, textLengthMax } = limits;
  const pairs = new Map<string, string[]>();
  let count = 0;
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    count += 1;
    if (count > parametersMax) throw tooLarge(`There are more than ${parametersMax} parameters.`);
    const name = decodeText(pair.slice(0, equals), decode, true).toLowerCase();
    const value = decodeText(pair.slice(equals + 1), decode, true);
    if (name.length > nameLengthMax) throw tooLarge(`A name has more than ${nameLengthMax} characters.`);
    if (value.length > textLengthMax) throw tooLarge(`A value has more than ${textLengthMax} characters.`);
    const values = pairs.get(name);
    if (values) values.push(value);
    else pairs.set(name, [value]);
  }
  return pairs;
}

const tooLarge = (message: string): Problem => new Problem('too-large', message);

/** Of a text with one character a byte, in which %XX are bytes too. */
type Decode = (piece: string) => string;

/**
 * Percent-decoding as ASP.NET does it: %XX are bytes in the encoding of `decode`, %uXXXX is a UTF-16 unit, anything else
 * after a percent sign stays as it is. `text` holds one character a byte.
 */
function decodeText(text: string, decode: Decode, plusIsBlank: boolean): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the ASCII characters that stand for themselves
  if (/^[\x00-\x7F]*$/.test(text) && !/[%+]/.test(text)) return text;
  const blank = plusIsBlank ? text.replaceAll('+', ' ') : text;
  const pieces = blank.split(/%u([0-9A-Fa-f]{4})/); // odd ones are units
  const decoded = pieces.map((piece, index) => {
    if (piece === '') return piece;
    return index % 2 === 1 ? String.fromCharCode(Number.parseInt(piece, 16)) : decode(piece);
  });
  return decoded.join('').toWellFormed();
}

const bytesOf = (piece: string): Buffer =>
  Buffer.from(
    piece.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

const decodeUtf8: Decode = (piece) => UTF8.decode(bytesOf(piece));

/**
 * Of a query. Bytes that an old program did not encode are UTF-8 if all of the text is; else each run of them, and each run of
 * %XX, is UTF-8 where it can be and Latin-1 where not. Without such bytes, %XX are UTF-8 as ever.
 */
function decodeQuery(piece: string): string {
  if (!/[\x80-\xff]/.test(piece) || isUtf8(bytesOf(piece))) return decodeUtf8(piece);
  const runs = piece.split(/((?:%[0-9A-Fa-f]{2})+)/).map(bytesOf);
  return runs.map((bytes) => (isUtf8(bytes) ? UTF8 : LATIN1).decode(bytes)).join('');
}

function readArguments(
  pairs: Pairs,
  parameters: readonly (readonly [string, ParameterType])[],
  context: DateContext,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, type] of parameters) {
    values[name] = readParameter(name, type, pairs.get(name.toLowerCase()), context);
  }
  return values;
}

function readParameter(name: string, type: ParameterType, given: readonly string[] | undefined, context: DateContext) {
  if (type.kind === 'list') return given ?? null;
  if (given && given.length > 1) throw badArgument(name, 'given more than once');
  return readArgument(name, type, given?.[0], 'parseGeneral', context);
}

function rootWriter(type: ResultType, namespace: string): FramedWriter {
  const root = rootName(type);
  const write = resultWriter(type, root, rootAttributes(type, namespace), indented, 0);
  const nil = `\n<${root}${SCHEMA_NAMESPACES} xsi:nil="true" xmlns="${namespace}" />`;
  return framed((value) => (value === null ? nil : write.whole(value)), write.item);
}
