import { Problem } from '../../base/problem.ts';
import { checkName, type XmlLimits } from './limits.ts';
import { isSpace, NAME, NAME_PART, NAME_START, referenced } from './names.ts';

const GREATER = 0x3e;

/** A place in an XML text, and the small pieces that are read there. */
export class Scanner {
  protected readonly text: string;
  protected readonly limits: XmlLimits;
  protected at = 0;

  constructor(text: string, limits: XmlLimits) {
    this.limits = limits;
    // §2.11: a parser first turns every line end into a line feed.
    this.text = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  /** Reads character data up to `end`. */
  protected characters(end: number): string {
    const raw = this.text.slice(this.at, end);
    const bad = raw.indexOf(']]>');
    if (bad >= 0) this.malformed(this.at + bad);
    const decoded = raw.includes('&') ? this.references(raw) : raw;
    this.at = end;
    return decoded;
  }

  /** Decodes references in turn: a global replace would find a million before it refuses one. */
  protected references(raw: string): string {
    let decoded = '';
    let end = 0;
    for (let mark = raw.indexOf('&'); mark >= 0; mark = raw.indexOf('&', end)) {
      const semicolon = raw.indexOf(';', mark);
      const value = semicolon < 0 ? undefined : referenced(raw.slice(mark + 1, semicolon));
      decoded += raw.slice(end, mark) + (value ?? this.malformed(this.at + mark));
      end = semicolon + 1;
    }
    return decoded + raw.slice(end);
  }

  protected comment(): void {
    this.expect('<!--');
    const end = this.text.indexOf('--', this.at);
    if (end < 0 || this.text.charCodeAt(end + 2) !== GREATER) this.malformed();
    this.at = end + 3;
  }

  protected instruction(): void {
    this.expect('<?');
    const target = this.name();
    if (target.toLowerCase() === 'xml' || target.includes(':')) this.malformed();
    const end = this.text.indexOf('?>', this.at);
    if (end < 0 || (end > this.at && !isSpace(this.text.charCodeAt(this.at)))) this.malformed();
    this.at = end + 2;
  }

  protected name(): string {
    const name = this.nameHere(this.at);
    checkName(this.limits, name);
    return name;
  }

  private nameHere(start: number): string {
    let code = this.text.charCodeAt(start);
    if (code < 128 && NAME_START[code]) {
      do code = this.text.charCodeAt(++this.at);
      while (code < 128 && NAME_PART[code]);
      if (!(code >= 128)) return this.text.slice(start, this.at);
    }
    NAME.lastIndex = start;
    const match = NAME.exec(this.text);
    if (!match) return this.malformed();
    this.at = NAME.lastIndex;
    return match[0];
  }

  protected space(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at += 1;
  }

  protected expect(piece: string): void {
    if (!this.text.startsWith(piece, this.at)) this.malformed();
    this.at += piece.length;
  }

  protected malformed(at = this.at): never {
    return this.refuse('The request is not well-formed XML', at);
  }

  protected refuse(what: string, at = this.at): never {
    const before = this.text.slice(0, at).split('\n');
    throw new Problem('malformed', `${what} (line ${before.length}, column ${(before.at(-1) as string).length + 1}).`);
  }
}
