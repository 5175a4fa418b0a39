import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { randomBytes } from '../../base/random.ts';

/**
 * Encrypts waiting writes, because a request holds a user_id, which must not be in the database. It
 * uses AES-256-GCM with a random nonce, and authenticates the account.
 */
export interface Seal {
  /** Identifies the key without revealing it. */
  readonly keyName: string;
  /** The name that earlier versions, without stored writes of the stage compare, gave the key. */
  readonly formerKeyName: string;
  seal(account: bigint, text: string): string;
  /** Throws if the key is another one or the text was changed. */
  open(account: bigint, sealed: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A proxy of an earlier version on the same database would deliver a write of the stage compare to
 * the old server, which would get it twice. So writes have a new key: an earlier version neither
 * finds nor opens them, and this version opens both.
 */
export function createSeal(key: Uint8Array): Seal {
  const digest = (label: string) => createHmac('sha256', key).update(label).digest();
  const nameOf = (label: string) => digest(label).toString('hex').slice(0, 16);
  const [derived, former] = [digest('writes that wait, 2'), digest('writes for the old server')];
  return {
    keyName: nameOf('name 2'),
    formerKeyName: nameOf('name'),
    seal(account, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from(String(account)));
      const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64');
    },
    open(account, sealed) {
      try {
        return opened(derived, account, sealed);
      } catch {
        return opened(former, account, sealed);
      }
    },
  };
}

function opened(key: Uint8Array, account: bigint, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(String(account)))
    .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const content = bytes.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
}
