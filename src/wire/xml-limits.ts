import { Problem } from '../problem.ts';

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

export function checkAttributes({ xmlAttributesMax }: XmlLimits, count: number): void {
  if (count > xmlAttributesMax) {
    tooLarge(`An element of the request has more than ${xmlAttributesMax} attributes.`);
  }
}

export function checkName({ nameLengthMax }: XmlLimits, name: string): void {
  if (name.length > nameLengthMax) tooLarge(`A name in the request has more than ${nameLengthMax} characters.`);
}

export function checkValue({ textLengthMax }: XmlLimits, value: string): void {
  if (value.length > textLengthMax) tooLarge(`A value in the request has more than ${textLengthMax} characters.`);
}

function tooLarge(message: string): never {
  throw new Problem('too-large', message);
}
