import type { Findings } from './known-differences.ts';

/** Finds how two XML texts of equal meaning differ in their notation. */
export function compareNotation(old: string, ours: string, findings: Findings): void {
  if (old === ours) return;
  const [theirs, own] = [notationOf(old), notationOf(ours)];
  if (theirs.declaration !== own.declaration) {
    findings.known('xml-declaration', `old ${theirs.declaration || 'none'}, ours ${own.declaration || 'none'}`);
  }
  if (theirs.gaps !== own.gaps) findings.known('xml-white-space', 'other white space between elements');
  if (theirs.prefixes !== own.prefixes) {
    findings.known('xml-prefixes', `old ${theirs.prefixes || 'none'}, ours ${own.prefixes || 'none'}`);
  }
  if (theirs.rowIds !== own.rowIds) findings.known('diffgram-row-ids', 'other ids or numbers of rows');
  if (theirs.tags === own.tags) return;
  if (theirs.sortedTags === own.sortedTags) findings.known('xml-attribute-order', 'attributes in another order');
  else findings.known('xml-notation', 'another notation of equal values');
}

interface Notation {
  readonly declaration: string;
  /** The white space between elements. */
  readonly gaps: string;
  /** The declared prefixes. */
  readonly prefixes: string;
  readonly rowIds: string;
  /** The start tags with their attributes, without what the other fields have. */
  readonly tags: string;
  readonly sortedTags: string;
}

const PREFIX = /\sxmlns(?::([\w.-]+))?\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ROW_ID = /\s(?:[\w.-]+:)?(?:rowOrder|hasChanges|id)\s*=\s*(?:"[^"]*"|'[^']*')/g;
const DIFFGRAM_ROW = /<[^<>]*\s[\w.-]+:(?:id|rowOrder)\s*=[^<>]*>/g;

function notationOf(text: string): Notation {
  const declaration = /^\s*<\?xml[^>]*\?>/.exec(text)?.[0] ?? '';
  const rest = text.slice(declaration.length);
  const gaps = joined(rest.matchAll(/>(\s+)(?=<)/g), (match) => match[1] as string);
  const rowIds = joined(rest.matchAll(DIFFGRAM_ROW), ([tag]) => (tag.match(ROW_ID) ?? []).join());
  const declared = new Set<string>();
  for (const match of rest.matchAll(PREFIX)) if (declared.size < 20) declared.add(match[1] ?? '(default)');
  const plain = rest
    .replaceAll(DIFFGRAM_ROW, (tag) => tag.replaceAll(ROW_ID, ''))
    .replaceAll(PREFIX, '')
    .replaceAll(/(<\/?)[\w.-]+:/g, '$1')
    .replaceAll(/>\s+(?=<)/g, '>');
  return {
    declaration: declaration.trim(),
    gaps,
    prefixes: [...declared].sort().join(' '),
    rowIds,
    tags: plain,
    sortedTags: plain.replaceAll(/<([\w.-]+)((?:\s[^<>]*?)?)(\s*\/?)>/g, sortedTag),
  };
}

const sortedTag = (_: string, name: string, attributes: string, end: string): string =>
  `<${name} ${(attributes.match(/[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*')/g) ?? []).sort().join(' ')}${end.trim()}>`;

/** Joins the pieces of all matches. */
function joined(matches: Iterable<RegExpMatchArray>, pieceOf: (match: RegExpMatchArray) => string): string {
  const pieces: string[] = [];
  for (const match of matches) pieces.push(pieceOf(match));
  return pieces.join('|');
}
