/** Escapes text for XML, so that it cannot break the document. */

/**
 * Escapes text content. A carriage return becomes a character reference: a parser would turn the
 * bare one into a line feed. Characters that XML 1.0 forbids become U+FFFD.
 */
export function escapeText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  let escaped = '';
  let done = 0;
  // A loop: a regular expression takes five times as long.
  for (let at = 0; at < whole.length; at++) {
    const code = whole.charCodeAt(at);
    if (code > 0x3e && code < 0xfffe) continue;
    const replacement = code > 0x3e ? '\uFFFD' : REPLACEMENTS[code];
    if (replacement === undefined) continue;
    escaped += whole.slice(done, at) + replacement;
    done = at + 1;
  }
  return done === 0 ? whole : escaped + whole.slice(done);
}

export const escapeAttribute = (text: string): string =>
  escapeText(text).replace(/["\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);

/** By code, up to `>`: markup, and characters that XML 1.0 forbids (production Char). */
const REPLACEMENTS: readonly (string | undefined)[] = Array.from({ length: 0x3f }, (_, code) => {
  const named: Record<number, string> = { 38: '&amp;', 60: '&lt;', 62: '&gt;', 13: '&#xD;' };
  return named[code] ?? (code < 0x20 && code !== 0x09 && code !== 0x0a ? '\uFFFD' : undefined);
});
