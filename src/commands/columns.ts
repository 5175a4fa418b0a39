/** Lines of a table for a terminal, by the width that characters have there. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** East Asian Width W and F (UAX #11), without the emoji, which have a property of their own. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
/** Presented as an emoji by itself, or by the variation selector 16. */
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const widthOf = (grapheme: string): number => {
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
};

export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOf(segment);
  return width;
}

/** Cuts a line that is wider than the terminal, so that each row stays on one line. */
function fitted(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line;
  let [kept, width] = ['', 0];
  for (const { segment } of graphemes.segment(line)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Pads cells to columns. No line is wider than the terminal, if its width is known. */
export function aligned(rows: readonly (readonly string[])[], columns: number | undefined): string[] {
  const widths: number[] = [];
  for (const cells of rows) {
    for (const [index, text] of cells.entries()) widths[index] = Math.max(widths[index] ?? 0, displayWidth(text));
  }
  return rows
    .map((cells) => cells.map((text, index) => text + ' '.repeat((widths[index] ?? 0) - displayWidth(text))))
    .map((cells) => cells.join('  ').trimEnd())
    .map((line) => fitted(line, columns ?? Number.POSITIVE_INFINITY));
}
