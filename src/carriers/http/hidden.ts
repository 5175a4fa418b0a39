import { xmlEscaped } from './xml.ts';

/**
 * Removes from what a provider sent whatever must not be shown or stored: secrets in the forms in
 * which they travel, the text of the message, and numbers that may be of a phone.
 */
export type Hide = (text: string, message?: string) => string;

const SECRET_LENGTH_MIN = 4;
const HIDDEN = '…';

export function createHide(secrets: readonly string[]): Hide {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return (text, message = '') => {
    let shown = text;
    for (const form of forms) shown = shown.replaceAll(form, HIDDEN);
    for (const form of formsOf(message)) shown = shown.replaceAll(form, HIDDEN);
    return shown.replace(/\+?\d{7,}/g, HIDDEN);
  };
}

const formsOf = (secret: string): string[] =>
  secret.length < SECRET_LENGTH_MIN
    ? []
    : [
        secret,
        encodeURIComponent(secret),
        inJson(secret),
        inJson(inJson(secret)), // a provider that returns our own JSON in a text
        xmlEscaped(secret) ?? secret,
        Buffer.from(secret, 'utf8').toString('base64'),
      ];

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const KEPT_BYTES = 2_048;

/** The beginning of an answer or a callback that nothing reads, for the operator. */
export function kept(head: string, body: Uint8Array, hide: Hide, message?: string): string {
  const whole = Buffer.from(body).toString('utf8');
  // Hidden before it is cut, so that no half of a secret is left at the end.
  const shown = Buffer.from(hide(`${head}\n\n${whole.slice(0, 4 * KEPT_BYTES)}`, message), 'utf8').subarray(
    0,
    KEPT_BYTES,
  );
  return shown
    .toString('utf8')
    .replace(/\ufffd+$/, '')
    .replace(/[^\P{Cc}\n\t]|\p{Cs}/gu, '');
}
