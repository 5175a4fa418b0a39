import { type SaxesAttributeNS, SaxesParser } from 'saxes';
import type { XmlElement } from '../../src/asmx/xml/reader.ts';
import { Problem } from '../../src/base/problem.ts';

/** The same tree out of a parser that others use and have tested, to hold ours against. */
export function readWithSaxes(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: true });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;

  const refuse = (what: string): never => {
    throw new Problem('malformed', `${what} (line ${parser.line}, column ${parser.column}).`);
  };
  const parent = () => open[open.length - 1];
  const addText = (piece: string) => {
    const element = parent();
    if (element) element.text += piece;
  };
  const addComment = () => {
    const element = parent();
    if (element) element.commented = true;
  };

  parser.on('error', () => refuse('The request is not well-formed XML'));
  parser.on('doctype', () => refuse('A DOCTYPE is not allowed'));
  parser.on('xmldecl', ({ version }) => {
    if (version !== '1.0') refuse('Only XML 1.0 is understood');
  });
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('comment', addComment);
  parser.on('processinginstruction', addComment);
  parser.on('opentag', ({ uri, local, attributes }) => {
    const given = Object.values(attributes as Record<string, SaxesAttributeNS>);
    const element: XmlElement = { uri, local, attributes: given, children: [], text: '', commented: false };
    if (open.length > 0) parent()?.children.push(element);
    else root = element;
    open.push(element);
  });
  parser.on('closetag', () => open.pop());

  parser.write(text).close();
  return root ?? refuse('The request is empty');
}

const OTHER_BLANK = '(?:[\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]|&#\\w+;)';
const quoted = (quote: string) => `${quote}\\s*${OTHER_BLANK}|${quote}[^${quote}]*${OTHER_BLANK}\\s*${quote}`;
const TRIMMED = new RegExp(`xmlns(?::[^\\s=]*)?\\s*=\\s*(?:${quoted('"')}|${quoted("'")})`);

/** saxes trims a namespace name of all that JavaScript takes for a blank; to XML these are characters like others. */
export const saxesTrims = (text: string): boolean => TRIMMED.test(text);
