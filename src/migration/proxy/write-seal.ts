import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { randomBytes } from '../../base/random.ts';

/**
 * Encrypts what waits for the old server: a request holds a user_id, which the database must not
 * have. AES-256-GCM with a random nonce; the account is authenticated with it.
 */
export interface Seal {
  /** Which key it is, without telling the key. */
  readonly keyName: string;
  seal(account: bigint, text: string): string;
  /** Throws where the key is another one, or the text was changed. */
  open(account: bigint, sealed: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createSeal(key: Uint8Array): Seal {
  const derived = createHmac('sha256', key).update('writes for the old server').digest();
  const keyName = createHmac('sha256', key).update('name').digest('hex').slice(0, 16);
  return {
    keyName,
    seal(account, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from(String(account)));
      const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64');
    },
    open(account, sealed) {
      const bytes = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', derived, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(String(account)))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const content = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
    },
  };
}
