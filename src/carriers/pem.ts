import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';

/** Certificates and keys in configurations. TLS ignores what it cannot read, and fails later. */
const LENGTH_MAX = 64 * 1024;

export const certificate = z
  .string()
  .max(LENGTH_MAX)
  .refine((pem) => certificateIn(pem) !== null, 'expected a certificate in PEM, with its lines BEGIN and END');

export const privateKey = z
  .string()
  .max(LENGTH_MAX)
  .refine((pem) => keyIn(pem) !== null, 'expected a private key in PEM without a passphrase');

export function isKeyOf(key: string, pem: string): boolean {
  const read = keyIn(key);
  return read !== null && certificateIn(pem)?.checkPrivateKey(read) === true;
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function keyIn(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
