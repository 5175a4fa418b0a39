import { badArgument, Problem } from '../../base/problem.ts';
import type { DateContext } from '../contract/dates.ts';
import type { ParameterType, Scalar } from '../contract/types.ts';
import { attribute, type XmlElement } from '../xml/reader.ts';
import { readArgument } from './protocol.ts';

/** Reads the arguments of a call from the element of its operation. */
export function readArguments(
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
export const isTrue = (text: string | undefined): boolean => text !== undefined && /^\s*(1|true)\s*$/.test(text);

const isNil = (element: XmlElement): boolean => isTrue(attribute(element, XSI, 'nil'));
