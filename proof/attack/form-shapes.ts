/** Bodies of a POST, of about so many bytes, that cost a reader of name=value pairs more than others do. */
const of = (piece: string, bytes: number): string => piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes);
/** In values of 200,000 characters after decoding, of which there may be several. */
const values = (piece: string, bytes: number, decoded = 1): string =>
  Array.from(
    { length: Math.ceil(bytes / ((200_000 / decoded) * piece.length)) },
    (_, index) => `v${index}=${of(piece, Math.min(bytes, Math.floor((200_000 / decoded) * piece.length)))}`,
  ).join('&');

export const formShapes: Readonly<Record<string, (bytes: number) => string>> = {
  'one long value': (bytes) => values('a', bytes),
  'a value in percent signs': (bytes) => values('%41', bytes),
  'a value in %u units': (bytes) => values('%u0041', bytes),
  'a value of units and letters in turn': (bytes) => values('%u0041a', bytes, 2),
  'a value of percent signs alone': (bytes) => values('%', bytes),
  'a value of broken units': (bytes) => values('%u00', bytes, 4),
  'a value of blanks': (bytes) => values('+', bytes),
  'a value of bytes that are no UTF-8': (bytes) => values('%ff', bytes),
  'pairs without a name': (bytes) => of('=', bytes),
  'pairs without anything': (bytes) => of('&', bytes),
  'names without a value': (bytes) => of('a&', bytes),
  'short pairs': (bytes) => of('a=&', bytes),
  'one name again and again': (bytes) => of('user_id=a&', Math.min(bytes, 19_000)),
  'names of 1,000 characters': (bytes) => of(`${'n'.repeat(1_000)}=&`, bytes),
};
