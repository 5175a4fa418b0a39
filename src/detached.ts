/**
 * A copy of a text, for whatever outlives its request. V8 makes a part of a text, or a join of
 * texts, point into what it was made of: a key of 40 characters kept the 50 KB of the head that it
 * was cut from.
 */
export function detached(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : Buffer.from(text, 'utf16le').toString('utf16le');
}
