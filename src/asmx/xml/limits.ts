import { Problem } from '../../problem.ts';

/** How much of XML is read. Lengths are in characters. */
export interface XmlLimits {
  readonly xmlDepthMax: number;
  readonly xmlElementsMax: number;
  /** Of one element. */
  readonly xmlAttributesMax: number;
  /** Of an element or attribute, with its prefix. */
  readonly nameLengthMax: number;
  /** Of the text directly inside an element, and of an attribute's value. */
  readonly textLengthMax: number;
}

/** Before an element is read: how many there are with it, and inside how many others it is. */
export function checkElement({ xmlElementsMax, xmlDepthMax }: XmlLimits, elements: number, depth: number): void {
  if (elements > xmlElementsMax) tooLarge(`The request has more than ${xmlElementsMax} elements.`);
  if (depth >= xmlDepthMax) tooLarge(`The request nests elements deeper than ${xmlDepthMax}.`);
}

// Two for each of the 10,000 elements that a request may have. 140,000 fit into 1 MiB and take 40 ms.
const ATTRIBUTES_MAX = 20_000;

/** How many an element has so far, and all elements together. */
export function checkAttributes({ xmlAttributesMax }: XmlLimits, count: number, total: number): void {
  if (count > xmlAttributesMax) {
    tooLarge(`An element of the request has more than ${xmlAttributesMax} attributes.`);
  }
  if (total > ATTRIBUTES_MAX) tooLarge(`The request has more than ${ATTRIBUTES_MAX} attributes.`);
}

export function checkName({ nameLengthMax }: XmlLimits, name: string): void {
  if (name.length > nameLengthMax) tooLarge(`A name in the request has more than ${nameLengthMax} characters.`);
}

export function checkValue({ textLengthMax }: XmlLimits, value: string): void {
  if (value.length > textLengthMax) tooLarge(`A value in the request has more than ${textLengthMax} characters.`);
}

// The longest that a toolkit sends has about 100 characters. Every use of a prefix may repeat it.
const NAMESPACE_LENGTH_MAX = 2048;

export function checkNamespace(uri: string): void {
  if (uri.length > NAMESPACE_LENGTH_MAX) {
    tooLarge(`A namespace name in the request has more than ${NAMESPACE_LENGTH_MAX} characters.`);
  }
}

function tooLarge(message: string): never {
  throw new Problem('too-large', message);
}
