/** Markdown of the generated documents. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const beginOf = (what: string): string => `<!-- The ${what}: made by \`npm run docs\`, do not edit them by hand. -->`;
const endOf = (what: string): string => `<!-- End of the ${what}. -->`;

/** The text with this part as it is now. Throws if the text has no place for it. */
export function withPart(text: string, what: string, part: string): string {
  const [before, rest = ''] = text.split(beginOf(what));
  const [, after] = rest.split(endOf(what));
  if (after === undefined) throw new Error(`there is no place for the ${what}`);
  return `${before}${beginOf(what)}\n\n${part}\n\n${endOf(what)}${after}`;
}
