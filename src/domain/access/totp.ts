import { createHmac, timingSafeEqual } from 'node:crypto';
import { randomBytes } from '../../base/random.ts';

/** One-time codes by RFC 6238: HMAC over the number of steps of 30 seconds since 1970. */

export const STEP_MS = 30_000;
/** Authenticator programs know SHA-1 and 6 digits; many ignore anything else. */
const DIGITS = 6;
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20;
/** Clocks differ, so the step before and the step after are accepted too (RFC 6238 §5.2). */
const STEPS_AROUND = [0, -1, 1];

export const stepOf = (at: number): number => Math.floor(at / STEP_MS);

/** RFC 4226 §5.3, with the hashes and lengths of RFC 6238. */
export function codeOf(key: Uint8Array, step: number, algorithm = 'sha1', digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac(algorithm, key).update(counter).digest();
  const offset = (mac.at(-1) as number) & 15;
  const number = (mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

/** The step whose code was given, at most one step away from now; null if no step has the code. */
export function stepOfCode(secret: string, code: string, now: number): number | null {
  const given = code.replace(/\s/g, '');
  if (!/^\d{6}$/.test(given)) return null;
  const key = fromBase32(secret);
  const step = STEPS_AROUND.map((away) => stepOf(now) + away).find((each) =>
    timingSafeEqual(Buffer.from(codeOf(key, each)), Buffer.from(given)),
  );
  return step ?? null;
}

/** The secret in base32, as people type it if they cannot scan the QR code. */
export const newSecret = (): string => toBase32(randomBytes(SECRET_BYTES));

/** The content of the QR code for an authenticator program. */
export const otpauthUri = (secret: string, issuer: string, name: string): string =>
  `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(name)}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 §6, without padding. */
export function toBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= 255;
  }
  return bits > 0 ? text + ALPHABET[(held << (5 - bits)) & 31] : text;
}

export function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const letter of text) {
    held = ((held & 255) << 5) | ALPHABET.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 255);
  }
  return Buffer.from(bytes);
}
