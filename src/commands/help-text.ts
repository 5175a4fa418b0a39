/** Texts of the help, which fit into a terminal of 80 columns. */

const COLUMNS = 80;

/** Long lines are hard to read, so a wide terminal gets no wider ones. */
export const helpColumns = (): number => Math.min(COLUMNS, process.stdout.columns || COLUMNS);

/** What follows the options: command lines that work as they are. */
export const examples = (...lines: readonly string[]): string =>
  `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;

/** Breaks each line that is too long, between words; a command goes on behind a backslash. */
export const wrapped = (text: string, columns = helpColumns()): string =>
  text
    .split('\n')
    .map((line) => (line.length <= columns ? line : brokenLine(line, columns)))
    .join('\n');

function brokenLine(line: string, columns: number): string {
  const [indent = ''] = /^ */.exec(line) ?? [];
  const text = line.slice(indent.length);
  return text.startsWith('columba ')
    ? joined(commandPieces(text), indent, { columns: columns - 2, end: ' \\', next: `${indent}  ` })
    : joined(text.split(' '), indent, { columns, end: '', next: indent });
}

interface Breaking {
  readonly columns: number;
  /** What ends a line that goes on. */
  readonly end: string;
  /** What begins the line that goes on. */
  readonly next: string;
}

function joined(pieces: readonly string[], indent: string, { columns, end, next }: Breaking): string {
  const lines = [indent];
  for (const piece of pieces) {
    const last = lines.at(-1) as string;
    const isFirst = last.trim() === '';
    const [first = ''] = piece.split('\n');
    if (!isFirst && last.length + 1 + first.length > columns) {
      lines[lines.length - 1] = last + end;
      lines.push(next + piece);
    } else lines[lines.length - 1] = isFirst ? last + piece : `${last} ${piece}`;
    // What follows a piece of several lines is on the last of them.
    lines.push(...(lines.pop() as string).split('\n'));
  }
  return lines.join('\n');
}

/** An option stays with its value. */
const commandPieces = (line: string): string[] =>
  (line.match(/--[\w-]+ (?:'[^']*'|(?!--)\S+)|'[^']*'|\S+/g) ?? []).map(brokenJson);

const JSON_COLUMNS = 66;

/** JSON in quotes may go on in the next line, behind a comma. */
function brokenJson(piece: string): string {
  const lines = [''];
  for (const part of piece.split(/(?<=,)(?=[{"])/)) {
    if ((lines.at(-1) as string).length + part.length > JSON_COLUMNS) lines.push('');
    lines[lines.length - 1] += part;
  }
  return lines.filter((line) => line !== '').join('\n    ');
}
