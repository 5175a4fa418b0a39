import { binaryText, TEXT_LENGTH_MAX, utf16Units, withoutNul } from '../../sms/user-data.ts';

/** Reads messages from phones in the codings that Kannel passes on. */

export interface Content {
  /** 0: 7-bit or 8-bit characters. 1: binary. 2: UCS-2. */
  readonly coding: number | null;
  readonly charset: string | null;
  readonly body: Uint8Array;
}

/**
 * Reads the text. Binary content becomes hexadecimal digits. Phones may cut a surrogate pair
 * between two parts, so UCS-2 is read unit by unit, and only the joined text is made well-formed.
 */
export function readText({ coding, charset, body }: Content): string {
  if (coding === 1) return binaryText(body);
  // Kannel can be configured to recode texts, and then names another charset.
  const isRecoded = coding === 2 && charset !== null && /^utf-?8$/i.test(charset);
  const text = coding === 2 && !isRecoded ? utf16Units(body) : decoderOf(charset ?? 'utf-8').decode(body);
  return withoutNul(text).slice(0, TEXT_LENGTH_MAX);
}

/** An unknown charset counts as UTF-8. The decoder neither throws nor removes a byte order mark. */
function decoderOf(charset: string): { decode(octets: Uint8Array): string } {
  try {
    return new TextDecoder(charset, { ignoreBOM: true });
  } catch {
    return new TextDecoder('utf-8', { ignoreBOM: true });
  }
}
