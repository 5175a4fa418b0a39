import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  codeOf,
  fromBase32,
  newSecret,
  otpauthUri,
  stepOf,
  stepOfCode,
  toBase32,
} from '../../../src/domain/access/totp.ts';

/** RFC 6238, Appendix B: seconds, then the codes of 8 digits with SHA-1, SHA-256 and SHA-512. */
const VECTORS = [
  [59, '94287082', '46119246', '90693936'],
  [1_111_111_109, '07081804', '68084774', '25091201'],
  [1_111_111_111, '14050471', '67062674', '99943326'],
  [1_234_567_890, '89005924', '91819424', '93441116'],
  [2_000_000_000, '69279037', '90698825', '38618901'],
  [20_000_000_000, '65353130', '77737706', '47863826'],
] as const;
const SEED = '1234567890'.repeat(7);
const KEYS = { sha1: SEED.slice(0, 20), sha256: SEED.slice(0, 32), sha512: SEED.slice(0, 64) };

describe('one-time codes', () => {
  for (const [seconds, sha1, sha256, sha512] of VECTORS) {
    test(`the code at ${seconds} s is the one of RFC 6238`, () => {
      const step = stepOf(seconds * 1_000);
      for (const [algorithm, expected] of Object.entries({ sha1, sha256, sha512 })) {
        const key = Buffer.from(KEYS[algorithm as keyof typeof KEYS]);
        assert.equal(codeOf(key, step, algorithm, 8), expected, algorithm);
      }
    });
  }

  test('a code is valid one step before and after its own, and no further', () => {
    const secret = toBase32(Buffer.from(KEYS.sha1));
    const at = 1_111_111_111_000;
    const code = codeOf(Buffer.from(KEYS.sha1), stepOf(at));
    for (const away of [-30_000, 0, 30_000]) assert.equal(stepOfCode(secret, code, at + away), stepOf(at));
    for (const away of [-60_000, 60_000]) assert.equal(stepOfCode(secret, code, at + away), null);
    assert.equal(stepOfCode(secret, `${code.slice(0, 3)} ${code.slice(3)}`, at), stepOf(at), 'a space is allowed');
    for (const wrong of ['', '12345', '1234567', 'abcdef', '١٢٣٤٥٦']) assert.equal(stepOfCode(secret, wrong, at), null);
  });

  test('base32 is that of RFC 4648, without padding', () => {
    const cases = { f: 'MY', fo: 'MZXQ', foo: 'MZXW6', foob: 'MZXW6YQ', fooba: 'MZXW6YTB', foobar: 'MZXW6YTBOI' };
    for (const [text, encoded] of Object.entries(cases)) {
      assert.equal(toBase32(Buffer.from(text)), encoded);
      assert.equal(fromBase32(encoded).toString(), text);
    }
    assert.equal(fromBase32(newSecret()).length, 20);
  });

  test('the URI for an authenticator program names issuer and person', () => {
    assert.equal(
      otpauthUri('MZXW6', 'Columba', 'ann lee'),
      'otpauth://totp/Columba:ann%20lee?secret=MZXW6&issuer=Columba',
    );
  });
});
