import { header, type Request } from '../../base/exchange.ts';
import { badArgument, Problem } from '../../base/problem.ts';
import type { DateContext } from '../contract/dates.ts';
import type { ParameterType, ResultType } from '../contract/types.ts';
import { indented, XML_DECLARATION } from '../results/elements.ts';
import { type ResultForm, resultForm } from '../results/result-form.ts';
import {
  type DocumentWriter,
  resultWriter,
  rootAttributes,
  rootName,
  SCHEMA_NAMESPACES,
  streamable,
} from '../results/result-writer.ts';
import { knownDecoder, latin1 } from './encoding.ts';
import { parseMediaType } from './media-type.ts';
import { type DecodePiece, percentDecode, pieceDecoder, queryDecoder } from './percent-encoding.ts';
import {
  type Message,
  type Protocol,
  type ProtocolSettings,
  plainProblem,
  readArgument,
  statusesOf,
  type WireLimits,
  xmlReply,
} from './protocol.ts';

/** HTTP GET and HTTP POST: one protocol, two sources of name=value pairs. */
export function createGetPost(
  source: 'get' | 'post',
  { groupName, group, namespace, dates, limits, dialect }: ProtocolSettings,
): Protocol {
  const statuses = statusesOf(dialect);
  const encodeProblem = (problem: Problem) => plainProblem(problem, statuses);
  const operations = new Map(
    Object.entries(group).map(([name, { parameters, result }]) => [
      name,
      {
        parameters: Object.entries(parameters),
        write: rootWriter(result, namespace, resultForm(dialect, `${groupName}.${name}`)),
      },
    ]),
  );

  return {
    receive(request, operationPath, body) {
      const name = percentDecode(operationPath, null, false);
      const operation = operations.get(name);
      if (!operation) throw new Problem('unknown-operation', `There is no such operation in ${groupName}.`);
      const pairs =
        source === 'get'
          ? readPairs(request.query, queryDecoder(request.query), limits)
          : readForm(request, body, limits);
      return {
        protocol: source,
        decode: () => ({
          group: groupName,
          operation: name,
          arguments: readArguments(pairs, operation.parameters, dates()),
        }),
        encode: (_call, value) => xmlReply('text/xml; charset=utf-8', operation.write(value, XML_DECLARATION, '')),
        encodeProblem,
      } satisfies Message;
    },
    encodeProblem,
  };
}

type Pairs = ReadonlyMap<string, readonly string[]>;

const FORM_TYPE = 'application/x-www-form-urlencoded';

function readForm(request: Request, body: Uint8Array, limits: WireLimits): Pairs {
  const media = parseMediaType(header(request, 'content-type'));
  if (media.type !== FORM_TYPE)
    throw new Problem('unsupported-media', `The Content-Type of this call is ${FORM_TYPE}.`);
  // Percent-encoded bytes are not in UTF-16: such a charset is ignored, as an unknown one is.
  const { charset = '' } = media.parameters;
  const decoder = /^(utf-?16|ucs-?2)/i.test(charset) ? undefined : knownDecoder(charset, { ignoreBOM: true });
  return readPairs(latin1(body), decoder ? pieceDecoder(decoder) : null, limits);
}

/** Names become lower case, because ASMX ignores case. A name without `=` is no pair. */
function readPairs(text: string, decodePiece: DecodePiece, limits: WireLimits): Pairs {
  const { parametersMax, nameLengthMax, textLengthMax } = limits;
  const pairs = new Map<string, string[]>();
  // Pieces without `=` count too: a million of them take 20 ms.
  const pieces = text.split('&', parametersMax + 1);
  if (pieces.length > parametersMax) throw tooLarge(`There are more than ${parametersMax} parameters.`);
  for (const pair of pieces) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = percentDecode(pair.slice(0, equals), decodePiece, true).toLowerCase();
    const value = percentDecode(pair.slice(equals + 1), decodePiece, true);
    if (name.length > nameLengthMax) throw tooLarge(`A name has more than ${nameLengthMax} characters.`);
    if (value.length > textLengthMax) throw tooLarge(`A value has more than ${textLengthMax} characters.`);
    const values = pairs.get(name);
    if (values) values.push(value);
    else pairs.set(name, [value]);
  }
  return pairs;
}

const tooLarge = (message: string): Problem => new Problem('too-large', message);

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

function rootWriter(type: ResultType, namespace: string, form: ResultForm): DocumentWriter {
  const root = rootName(type);
  const write = resultWriter(type, root, rootAttributes(type, namespace), indented, 0, form);
  const nil = `\n<${root}${SCHEMA_NAMESPACES} xsi:nil="true" xmlns="${namespace}" />`;
  return streamable((value) => (value === null ? nil : write.whole(value)), write.item);
}
