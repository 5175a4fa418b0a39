import { argon2, hash, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { randomBytes, randomUuid } from '../../base/random.ts';

/**
 * A user_id is a random secret and is stored as SHA-256. A password is chosen by a person and is
 * stored as argon2id.
 */

export const USER_ID_LENGTH_MAX = 128;

export const newUserId = (): string => randomUuid();

export const hashUserId = (userId: string): string => hash('sha256', userId);

// The first choice of OWASP for argon2id: 19 MiB, 2 passes, 1 lane.
let cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const derive = promisify(argon2);

/** For tests, of which many need a password and few its protection: a hash takes 40 ms of CPU. */
export function replacePasswordCost(memory: number, passes: number): () => void {
  const before = cost;
  cost = { ...cost, memory, passes };
  return () => {
    cost = before;
  };
}

/** Hashes in the PHC string format, so that the cost can change while old hashes stay valid. */
export async function hashPassword(password: string): Promise<string> {
  const { memory, passes, parallelism } = cost;
  const nonce = randomBytes(16);
  const tag = await derive('argon2id', { message: password, nonce, ...cost });
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`;
}

export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const groups = PASSWORD_HASH.exec(stored)?.groups;
  if (!groups || !isPasswordHash(stored)) return false;
  const tag = Buffer.from(groups.tag as string, 'base64');
  const nonce = Buffer.from(groups.nonce as string, 'base64');
  const given = await derive('argon2id', {
    message: password,
    nonce,
    memory: Number(groups.m),
    passes: Number(groups.t),
    parallelism: Number(groups.p),
    tagLength: tag.length,
  });
  return timingSafeEqual(given, tag);
}

const PASSWORD_HASH =
  /^\$argon2id\$v=19\$m=(?<m>[1-9]\d{0,6}),t=(?<t>[1-9]\d?),p=(?<p>[1-9]\d?)\$(?<nonce>[A-Za-z0-9+/]{11,86})\$(?<tag>[A-Za-z0-9+/]{22,86})$/;

/** RFC 9106 §3.1: at least 8 blocks of memory for each lane. */
export function isPasswordHash(text: string): boolean {
  const groups = PASSWORD_HASH.exec(text)?.groups;
  return groups !== undefined && Number(groups.m) >= 8 * Number(groups.p);
}

export const isUserIdHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

const encode = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
