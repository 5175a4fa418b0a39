import { header, type Reply } from '../../base/exchange.ts';
import { badArgument, Problem } from '../../base/problem.ts';
import type { DateContext } from '../contract/dates.ts';
import type { Operation, ParameterType, Scalar } from '../contract/types.ts';
import { below, compact, container } from '../results/elements.ts';
import { type ResultForm, resultForm } from '../results/result-form.ts';
import { type DocumentWriter, resultWriter, streamable } from '../results/result-writer.ts';
import { attribute, readXml, type XmlElement } from '../xml/reader.ts';
import { decodeXml } from './encoding.ts';
import { parseMediaType } from './media-type.ts';
import {
  type Call,
  type Message,
  type Protocol,
  type ProtocolSettings,
  plainProblem,
  readArgument,
  xmlReply,
} from './protocol.ts';
import { encodeFault, isFault, notUnderstood } from './soap-fault.ts';
import { SOAP11, SOAP12, type SoapVersion } from './soap-version.ts';

/** SOAP 1.1 and SOAP 1.2: one protocol, two records of constants. */
export function createSoap({ groupName, group, namespace, dates, limits, dialect }: ProtocolSettings): Protocol {
  const operations = new Map(
    Object.entries(group).map(([name, row]) => [
      name,
      compileOperation(name, row, namespace, resultForm(dialect, `${groupName}.${name}`)),
    ]),
  );

  const actions = new Map(Object.keys(group).map((name) => [name, below(namespace, name)]));

  return {
    receive(request, _operation, body) {
      const media = parseMediaType(header(request, 'content-type'));
      if (!MEDIA_TYPES.includes(media.type)) {
        throw new Problem('unsupported-media', `The Content-Type of a SOAP call is ${MEDIA_TYPES.join(' or ')}.`);
      }
      const root = readXml(decodeXml(body, media.parameters.charset), limits);
      const version = versionOf(root);
      const action = version === SOAP11 ? header(request, 'soapaction') : media.parameters.action;
      return {
        protocol: version.protocol,
        decode: () => decode(root, version, action),
        encode: (call, value) => {
          const { write } = operations.get(call.operation) as CompiledOperation;
          return xmlReply(version.contentType, write(value, version.open, version.close));
        },
        encodeProblem: (problem) => encodeProblem(problem, version),
      } satisfies Message;
    },
    encodeProblem: (problem, request) => {
      const likely = parseMediaType(header(request, 'content-type')).type === SOAP12.mediaType ? SOAP12 : SOAP11;
      return encodeProblem(problem, likely);
    },
  };

  function encodeProblem(problem: Problem, version: SoapVersion): Reply {
    return isFault(problem.kind) ? encodeFault(problem, version, namespace, dialect) : plainProblem(problem);
  }

  function decode(root: XmlElement, version: SoapVersion, action: string | undefined): Call {
    const envelope = (local: string) =>
      root.children.find((child) => child.local === local && child.uri === version.uri);
    const body = envelope('Body');
    if (!body) throw new Problem('malformed', 'The Envelope has no Body.');
    checkMandatoryHeaders(envelope('Header'), version);

    const element = body.children[0];
    const operation = element?.uri === namespace ? operations.get(element.local) : undefined;
    if (!element || !operation) {
      throw new Problem(
        'unknown-operation',
        `The Body names no operation of ${groupName} in the namespace ${namespace}.`,
      );
    }
    if (action !== operation.action) checkAction(element.local, action, version, actions);
    const values = readArguments(element, operation.parameters, namespace, dates());
    return { group: groupName, operation: element.local, arguments: values };
  }
}

/**
 * The Body names the operation. In SOAP 1.1 any other action is an error.
 * In SOAP 1.2, as in ASMX, only the action of another operation is one.
 */
function checkAction(operation: string, action: string | undefined, version: SoapVersion, actions: Actions): void {
  const given = unquote(unrepeated(action ?? ''));
  if (given === '' || given === actions.get(operation)) return;
  const namesAnother = [...actions.values()].includes(given);
  if (version === SOAP12 && !namesAnother) return;
  throw new Problem('unknown-operation', `The SOAP action does not name the operation in the Body, ${operation}.`);
}

/** The SOAP action of each operation. */
type Actions = ReadonlyMap<string, string>;

const MEDIA_TYPES = [SOAP11.mediaType, SOAP12.mediaType];

function versionOf(root: XmlElement): SoapVersion {
  if (root.local !== 'Envelope') throw new Problem('malformed', 'The request is not a SOAP Envelope.');
  if (root.uri === SOAP11.uri) return SOAP11;
  if (root.uri === SOAP12.uri) return SOAP12;
  throw new Problem('version', `The Envelope is of no known version. Known are ${SOAP11.uri} and ${SOAP12.uri}.`);
}

/** A mandatory header block that is unknown forbids the call (SOAP 1.1 §4.2.3, 1.2 §2.6). */
function checkMandatoryHeaders(headers: XmlElement | undefined, version: SoapVersion): void {
  const blocks = (headers?.children ?? []).filter((block) => {
    const role = attribute(block, version.uri, version.roleAttribute) ?? '';
    return isTrue(attribute(block, version.uri, 'mustUnderstand')) && version.ourRoles.includes(role);
  });
  if (blocks.length > 0) throw notUnderstood(blocks);
}

/** HTTP joins repeated fields with commas (RFC 9110 §5.3). Equal values count once. */
function unrepeated(action: string): string {
  const [first = '', ...others] = action.split(',').map((each) => each.trim());
  return others.every((other) => other === first) ? first : action;
}

/** Removes quotes, and decodes valid percent-encoding. */
function unquote(action: string): string {
  const text = action.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface CompiledOperation {
  readonly parameters: readonly (readonly [string, ParameterType])[];
  /** The action as most clients write it. */
  readonly action: string;
  readonly write: DocumentWriter;
}

function compileOperation(
  name: string,
  { parameters, result }: Operation,
  namespace: string,
  form: ResultForm,
): CompiledOperation {
  const write = resultWriter(result, `${name}Result`, '', compact, 1, form);
  return {
    parameters: Object.entries(parameters),
    action: `"${below(namespace, name)}"`,
    write: streamable(container(`${name}Response`, ` xmlns="${namespace}"`, compact, 0, write.whole), write.item),
  };
}

/** Reads the arguments of a call from the element of its operation. */
function readArguments(
  element: XmlElement,
  parameters: readonly (readonly [string, ParameterType])[],
  namespace: string,
  context: DateContext,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, type] of parameters) {
    values[name] = readParameter(name, type, child(element, name, namespace), namespace, context);
  }
  return values;
}

/** The first child with the name, in the contract's namespace or in none. */
function child(parent: XmlElement, name: string, namespace: string): XmlElement | undefined {
  let isForeign = false;
  for (const element of parent.children) {
    if (element.local !== name) continue;
    if (isIn(namespace, element)) return element;
    isForeign = true;
  }
  if (isForeign) throw badArgument(name, `the element is not in the namespace ${namespace}`);
  return undefined;
}

const isIn = (namespace: string, { uri }: XmlElement): boolean => uri === namespace || uri === '';

function readParameter(
  name: string,
  type: ParameterType,
  element: XmlElement | undefined,
  namespace: string,
  context: DateContext,
): unknown {
  if (type.kind === 'scalar') return readScalar(name, type, element, context);
  if (!element || isNil(element)) return null;
  const items = element.children.filter(({ local }) => local === type.item.name);
  if (!items.every((item) => isIn(namespace, item))) {
    throw badArgument(name, `an item is not in the namespace ${namespace}`);
  }
  return items.map((item) => readScalar(name, type.item, item, context));
}

function readScalar(name: string, type: Scalar, element: XmlElement | undefined, context: DateContext): unknown {
  const text = element && !isNil(element) ? element.text : undefined;
  if (element && (element.children.length > 0 || element.commented)) {
    throw new Problem('malformed', `${name}: a value holds text only, no element, comment or processing instruction.`);
  }
  return readArgument(name, type, text, 'parseSchema', context);
}

const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

/** Whether the text is true in XML Schema. */
const isTrue = (text: string | undefined): boolean => text !== undefined && /^\s*(1|true)\s*$/.test(text);

const isNil = (element: XmlElement): boolean => isTrue(attribute(element, XSI, 'nil'));
