import { Problem } from '../../base/problem.ts';
import type { XmlLimits } from './limits.ts';
import { readXml, type XmlElement } from './reader.ts';

/**
 * Reads a document that comes in parts, so that only a piece of it is in memory. XmlPieces finds
 * where elements begin and end, and gives each piece to the parser, wrapped in the start and end
 * tags around it. The parser sees every character once and refuses what is not well-formed.
 */
export interface XmlPiece {
  /** The open elements around the piece, the root first. Their children are not listed. */
  readonly parents: readonly XmlElement[];
  /** Whole elements, in the order of the document. */
  readonly elements: readonly XmlElement[];
}

/**
 * How an element whose parents are open is read. `whole`: the element is one piece. `open`: each of
 * its children is treated by itself. `rows`: all children come whole, many of them in a piece.
 */
export type Treatment = 'whole' | 'open' | 'rows';

export interface PieceLimits extends XmlLimits {
  /** The most characters of a piece that is not whole yet. */
  readonly pieceLengthMax: number;
  /** The most elements in all `open` elements together. */
  readonly openElementsMax: number;
}

interface Opened {
  readonly element: XmlElement;
  readonly startTag: string;
  readonly endTag: string;
  readonly isRows: boolean;
}

/** Finds the end of the markup that starts with `<`; 0 while the end has not arrived. */
function endOfMarkup(text: string, start: number): number {
  for (const [opening, closing] of DELIMITED) {
    if (text.startsWith(opening, start)) {
      const found = text.indexOf(closing, start + opening.length);
      return found < 0 ? 0 : found + closing.length;
    }
    // The text ends within what may become the opening of a comment or of CDATA.
    if (text.length - start < opening.length && opening.startsWith(text.slice(start))) return 0;
  }
  if (text.startsWith('<!', start)) throw new Problem('malformed', 'A DOCTYPE is not allowed in the request.');
  TAG.lastIndex = start;
  return TAG.test(text) ? TAG.lastIndex : 0;
}
const DELIMITED = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;
// A quoted value may contain `>`. No two parts match the same text, so it never backtracks.
const TAG = /<[^>"'<]*(?:(?:"[^"<]*"|'[^'<]*')[^>"'<]*)*>/y;

export class XmlPieces {
  readonly #limits: PieceLimits;
  readonly #treat: (path: readonly XmlElement[]) => Treatment;
  readonly #opened: Opened[] = [];
  /** The text since the end of the last piece. */
  #text = '';
  /** Where the next markup is looked for. */
  #at = 0;
  /** How many elements are open inside of the piece. */
  #depth = 0;
  /** The end of the last whole row in the text. */
  #rowsEnd = 0;
  #openElements = 0;
  #isRootRead = false;

  constructor(limits: PieceLimits, treat: (path: readonly XmlElement[]) => Treatment) {
    this.#limits = limits;
    this.#treat = treat;
  }

  /** How many characters are held. */
  get held(): number {
    return this.#text.length;
  }

  /** Yields the pieces that this part of the document completes. */
  *read(part: string): Generator<XmlPiece> {
    this.#text += part;
    for (;;) {
      const start = this.#text.indexOf('<', this.#at);
      this.#at = start < 0 ? this.#text.length : start;
      const end = start < 0 ? 0 : endOfMarkup(this.#text, start);
      if (end === 0) break;
      this.#at = end;
      const next = this.#text[start + 1];
      if (next === '!' || next === '?') continue;
      if (next === '/') yield* this.#endTag(end);
      else yield* this.#startTag(start, end);
    }
    if (this.#rowsEnd > 0) yield this.#take(this.#rowsEnd);
    if (this.#text.length > this.#limits.pieceLengthMax) {
      throw new Problem('too-large', `An element has more than ${this.#limits.pieceLengthMax} characters.`);
    }
  }

  /** Throws if the document is incomplete. */
  finish(): void {
    if (!this.#isRootRead) throw new Problem('malformed', 'The request ends before its last element does.');
    readXml(`<end/>${this.#text}`, this.#limits);
  }

  *#startTag(start: number, end: number): Generator<XmlPiece> {
    const isEmpty = this.#text[end - 2] === '/';
    if (this.#depth > 0 || this.#opened.at(-1)?.isRows) {
      if (!isEmpty) this.#depth += 1;
      else if (this.#depth === 0) this.#rowsEnd = end;
      return;
    }
    if (this.#isRootRead) throw new Problem('malformed', 'The request has more than one root element.');
    if (++this.#openElements > this.#limits.openElementsMax) {
      throw new Problem('too-large', `The request has more than ${this.#limits.openElementsMax} elements.`);
    }
    if (isEmpty) return yield* this.#whole(end);
    const startTag = this.#text.slice(start, end);
    const endTag = `</${NAME.exec(startTag)?.[1]}>`;
    const element = this.#parse(this.#text.slice(0, end) + endTag).at(-1) as XmlElement;
    const treatment = this.#treat([...this.#opened.map((each) => each.element), element]);
    if (treatment === 'whole') this.#depth = 1;
    else {
      this.#opened.push({ element, startTag, endTag, isRows: treatment === 'rows' });
      this.#drop(end);
    }
  }

  *#endTag(end: number): Generator<XmlPiece> {
    if (this.#depth > 0) {
      this.#depth -= 1;
      if (this.#depth > 0) return;
      if (this.#opened.at(-1)?.isRows) this.#rowsEnd = end;
      else yield* this.#whole(end);
      return;
    }
    const rowsEnd = this.#rowsEnd;
    if (rowsEnd > 0) yield this.#take(rowsEnd);
    const closed = this.#opened.pop();
    if (!closed) throw new Problem('malformed', 'The request has an end tag without its start tag.');
    this.#parse(closed.startTag + this.#text.slice(0, end - rowsEnd));
    this.#drop(end - rowsEnd);
    this.#isRootRead = this.#opened.length === 0;
  }

  *#whole(end: number): Generator<XmlPiece> {
    this.#isRootRead = this.#opened.length === 0;
    yield this.#take(end);
  }

  #take(end: number): XmlPiece {
    const elements = this.#parse(this.#text.slice(0, end));
    this.#drop(end);
    return { parents: this.#opened.map(({ element }) => element), elements };
  }

  #drop(end: number): void {
    this.#text = this.#text.slice(end);
    this.#at -= end;
    this.#rowsEnd = 0;
  }

  /** Parses a text as content of the innermost open element. */
  #parse(text: string): readonly XmlElement[] {
    const before = this.#opened.map(({ startTag }) => startTag).join('');
    const after = this.#opened.map(({ endTag }) => endTag).reverse();
    let found: readonly XmlElement[] = [readXml(before + text + after.join(''), this.#limits)];
    for (const _ of this.#opened) found = found[0]?.children ?? [];
    return found;
  }
}

const NAME = /^<([^\s/>]+)/;
