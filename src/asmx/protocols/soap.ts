import type { DateContext } from '../../contract/dates.ts';
import type { Operation, ParameterType, Scalar } from '../../contract/types.ts';
import { header, type Reply } from '../../exchange.ts';
import { badArgument, Problem } from '../../problem.ts';
import { below, compact, container } from '../results/elements.ts';
import { type FramedWriter, framed, resultWriter } from '../results/result-writer.ts';
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

/** SOAP 1.1 and SOAP 1.2: one form, two records of constants. */
export function createSoap({ groupName, group, namespace, dates, limits }: ProtocolSettings): Protocol {
  const operations = new Map(
    Object.entries(group).map(([name, row]) => [name, compileOperation(name, row, namespace)]),
  );

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
      const guess = parseMediaType(header(request, 'content-type')).type === SOAP12.mediaType ? SOAP12 : SOAP11;
      return encodeProblem(problem, guess);
    },
  };

  function encodeProblem(problem: Problem, version: SoapVersion): Reply {
    return isFault(problem.kind) ? encodeFault(problem, version, namespace) : plainProblem(problem);
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
    if (action !== operation.action) checkAction(element.local, action, version);
    return { group: groupName, operation: element.local, arguments: readArguments(element, operation) };
  }

  /** The Body decides. In 1.1 any other action is an error; in 1.2, as in ASMX, only one that names another operation. */
  function checkAction(operation: string, action: string | undefined, version: SoapVersion): void {
    const given = unquote(unrepeated(action ?? ''));
    if (given === '' || given === below(namespace, operation)) return;
    const namesAnother = Object.keys(group).some((name) => given === below(namespace, name));
    if (version === SOAP12 && !namesAnother) return;
    throw new Problem('unknown-operation', `The SOAP action does not name the operation in the Body, ${operation}.`);
  }

  function readArguments(element: XmlElement, { parameters }: CompiledOperation): Record<string, unknown> {
    const context = dates();
    const values: Record<string, unknown> = {};
    for (const [name, type] of parameters) {
      values[name] = readParameter(name, type, child(element, name), context);
    }
    return values;
  }

  /** A child by name, in the service's namespace or in none. The first counts. */
  function child(parent: XmlElement, name: string): XmlElement | undefined {
    let strange = false;
    for (const element of parent.children) {
      if (element.local !== name) continue;
      if (isOurs(element)) return element;
      strange = true;
    }
    if (strange) throw badArgument(name, `the element is not in the namespace ${namespace}`);
    return undefined;
  }

  function isOurs(element: XmlElement): boolean {
    return element.uri === namespace || element.uri === '';
  }

  function readParameter(
    name: string,
    type: ParameterType,
    element: XmlElement | undefined,
    context: DateContext,
  ): unknown {
    if (type.kind === 'scalar') return readScalar(name, type, element, context);
    if (!element || isNil(element)) return null;
    const items = element.children.filter(({ local }) => local === type.item.name);
    if (!items.every(isOurs)) throw badArgument(name, `an item is not in the namespace ${namespace}`);
    return items.map((item) => readScalar(name, type.item, item, context));
  }
}

function readScalar(name: string, type: Scalar, element: XmlElement | undefined, context: DateContext): unknown {
  const text = element && !isNil(element) ? element.text : undefined;
  if (element && (element.children.length > 0 || element.commented)) {
    throw new Problem('malformed', `${name}: a value holds text only, no element, comment or processing instruction.`);
  }
  return readArgument(name, type, text, 'parseSchema', context);
}

const MEDIA_TYPES = [SOAP11.mediaType, SOAP12.mediaType];
const XSI = 'http://www.w3.org/2001/XMLSchema-instance';

const isTrue = (text: string | undefined) => text !== undefined && /^\s*(1|true)\s*$/.test(text);
const isNil = (element: XmlElement) => isTrue(attribute(element, XSI, 'nil'));

function versionOf(root: XmlElement): SoapVersion {
  if (root.local !== 'Envelope') throw new Problem('malformed', 'The request is not a SOAP Envelope.');
  if (root.uri === SOAP11.uri) return SOAP11;
  if (root.uri === SOAP12.uri) return SOAP12;
  throw new Problem('version', `The Envelope is of no known version. Known are ${SOAP11.uri} and ${SOAP12.uri}.`);
}

/** Before anything else is looked at: a mandatory block that we do not know forbids the call (SOAP 1.1 §4.2.3, 1.2 §2.6). */
function checkMandatoryHeaders(headers: XmlElement | undefined, version: SoapVersion): void {
  const blocks = (headers?.children ?? []).filter((block) => {
    const role = attribute(block, version.uri, version.roleAttribute) ?? '';
    return isTrue(attribute(block, version.uri, 'mustUnderstand')) && version.ourRoles.includes(role);
  });
  if (blocks.length > 0) throw notUnderstood(blocks);
}

/** A field that came twice, which is one with a comma for HTTP (RFC 9110 §5.3): the same again says nothing new. */
function unrepeated(action: string): string {
  const [first = '', ...others] = action.split(',').map((each) => each.trim());
  return others.every((other) => other === first) ? first : action;
}

/** "action", 'action' or action; percent signs decoded where they can be. */
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
  /** As nearly every client writes it. */
  readonly action: string;
  readonly write: FramedWriter;
}

function compileOperation(name: string, { parameters, result }: Operation, namespace: string): CompiledOperation {
  const write = resultWriter(result, `${name}Result`, '', compact, 1);
  return {
    parameters: Object.entries(parameters),
    action: `"${below(namespace, name)}"`,
    write: framed(container(`${name}Response`, ` xmlns="${namespace}"`, compact, 0, write.whole), write.item),
  };
}
