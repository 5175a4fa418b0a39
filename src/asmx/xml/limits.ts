import { Problem } from '../../base/problem.ts';

/** Limits of one document. Lengths are in characters. */
export interface XmlLimits {
  readonly xmlDepthMax: number;
  readonly xmlElementsMax: number;
  /** The limit of one element. */
  readonly xmlAttributesMax: number;
  /** The limit of a whole document; ATTRIBUTES_MAX where it is absent. */
  readonly xmlAttributesTotalMax?: number;
  /** The limit of an element or attribute name, with its prefix. */
  readonly nameLengthMax: number;
  /** The limit of the text of one element, and of one attribute value. */
  readonly textLengthMax: number;
}

/** Called before an element is read, with the number of elements so far and its depth. */
export function checkElement({ xmlElementsMax, xmlDepthMax }: XmlLimits, elements: number, depth: number): void {
  if (elements > xmlElementsMax) tooLarge(`The request has more than ${xmlElementsMax} elements.`);
  if (depth >= xmlDepthMax) tooLarge(`The request nests elements deeper than ${xmlDepthMax}.`);
}

// Two for each of the 10,000 elements of a request. 1 MiB holds 140,000, which take 40 ms.
const ATTRIBUTES_MAX = 20_000;

/** Called for each attribute, with the counts of its element and of the document. */
export function checkAttributes(limits: XmlLimits, count: number, total: number): void {
  const { xmlAttributesMax, xmlAttributesTotalMax: totalMax = ATTRIBUTES_MAX } = limits;
  if (count > xmlAttributesMax) {
    tooLarge(`An element of the request has more than ${xmlAttributesMax} attributes.`);
  }
  if (total > totalMax) tooLarge(`The request has more than ${totalMax} attributes.`);
}

export function checkName({ nameLengthMax }: XmlLimits, name: string): void {
  if (name.length > nameLengthMax) tooLarge(`A name in the request has more than ${nameLengthMax} characters.`);
}

export function checkValue({ textLengthMax }: XmlLimits, value: string): void {
  if (value.length > textLengthMax) tooLarge(`A value in the request has more than ${textLengthMax} characters.`);
}

// Toolkits send at most 100 characters. Error messages may repeat a namespace for each prefix.
const NAMESPACE_LENGTH_MAX = 2048;

export function checkNamespace(uri: string): void {
  if (uri.length > NAMESPACE_LENGTH_MAX) {
    tooLarge(`A namespace name in the request has more than ${NAMESPACE_LENGTH_MAX} characters.`);
  }
}

function tooLarge(message: string): never {
  throw new Problem('too-large', message);
}
