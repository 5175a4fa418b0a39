import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isWebhookSecret,
  refusalOfSignature,
  signedFields,
  TOLERANCE_SECONDS,
} from '../../../src/domain/webhooks/standard-webhooks.ts';

/** Vectors of the published reference libraries. */
const VECTORS = [
  {
    secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    id: 'msg_loFOjxBNrRLzqYUf',
    seconds: 1_731_705_121,
    body: '{"event_type":"ping","data":{"success":true}}',
    signature: 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
  },
  {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    seconds: 1_614_265_330,
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
] as const;

const [VECTOR, OTHER] = VECTORS;
const AT = VECTOR.seconds * 1_000;
const MESSAGE = { id: VECTOR.id, at: AT, body: VECTOR.body };

const refusal = (
  fields: Record<string, string>,
  { body = VECTOR.body as string | Uint8Array, now = AT, secrets = [VECTOR.secret] as string[] } = {},
) => refusalOfSignature(secrets, new Headers(fields), body, now);

describe('Standard Webhooks', () => {
  for (const { secret, id, seconds, body, signature } of VECTORS) {
    test(`the published vector ${id} is signed and verified`, () => {
      const fields = signedFields([secret], { id, at: seconds * 1_000 + 999, body });
      assert.deepEqual(fields, {
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': signature,
      });
      assert.equal(refusalOfSignature([secret], new Headers(fields), Buffer.from(body), seconds * 1_000), null);
    });
  }

  test('while a secret is rotated there are two signatures, and either secret verifies them', () => {
    const fields = signedFields([VECTOR.secret, OTHER.secret], MESSAGE);
    assert.equal(fields['webhook-signature']?.split(' ').length, 2);
    assert.equal(refusal(fields, { secrets: [VECTOR.secret] }), null);
    assert.equal(refusal(fields, { secrets: [OTHER.secret] }), null);
  });

  test('a receiver with two secrets accepts a signature of either', () => {
    const fields = signedFields([OTHER.secret], MESSAGE);
    assert.equal(refusal(fields, { secrets: [VECTOR.secret, OTHER.secret] }), null);
  });

  test('signatures of an unknown version are ignored', () => {
    const fields = signedFields([VECTOR.secret], MESSAGE);
    const signature = `v1a,AAAA v2,BBBB ${fields['webhook-signature']}`;
    assert.equal(refusal({ ...fields, 'webhook-signature': signature }), null);
    assert.equal(refusal({ ...fields, 'webhook-signature': 'v1a,AAAA' }), 'no signature is valid');
  });

  test('another body, id, timestamp, secret or signature is refused', () => {
    const fields = signedFields([VECTOR.secret], MESSAGE);
    const invalid = 'no signature is valid';
    assert.equal(refusal(fields, { body: `${VECTOR.body} ` }), invalid);
    assert.equal(refusal(fields, { secrets: [OTHER.secret] }), invalid);
    assert.equal(refusal({ ...fields, 'webhook-id': 'msg_other' }), invalid);
    assert.equal(refusal({ ...fields, 'webhook-timestamp': String(VECTOR.seconds + 1) }), invalid);
    assert.equal(refusal({ ...fields, 'webhook-signature': OTHER.signature }), invalid);
    assert.equal(refusal({ ...fields, 'webhook-signature': 'v1,' }), invalid);
    assert.equal(refusal(fields, { secrets: [] }), invalid);
  });

  test('a timestamp is accepted up to the tolerance before and after now, and not beyond', () => {
    const fields = signedFields([VECTOR.secret], MESSAGE);
    const tolerance = TOLERANCE_SECONDS * 1_000;
    assert.equal(refusal(fields, { now: AT + tolerance }), null);
    assert.equal(refusal(fields, { now: AT - tolerance }), null);
    assert.equal(refusal(fields, { now: AT + tolerance + 1_000 }), 'the webhook-timestamp is too old');
    assert.equal(refusal(fields, { now: AT - tolerance - 1_000 }), 'the webhook-timestamp is in the future');
  });

  test('missing and malformed header fields are refused with their reason', () => {
    const fields = signedFields([VECTOR.secret], MESSAGE);
    for (const name of Object.keys(fields)) {
      const { [name]: _, ...others } = fields;
      assert.equal(refusal(others), 'webhook-id, webhook-timestamp and webhook-signature are required', name);
    }
    assert.equal(refusal({ ...fields, 'webhook-id': 'msg.1' }), 'the webhook-id is not valid');
    assert.equal(refusal({ ...fields, 'webhook-id': 'm'.repeat(257) }), 'the webhook-id is not valid');
    for (const timestamp of ['1e9', '-1', '1731705121.5', '9'.repeat(13)]) {
      const reason = 'the webhook-timestamp is not a number of seconds';
      assert.equal(refusal({ ...fields, 'webhook-timestamp': timestamp }), reason);
    }
    const many = Array.from({ length: 11 }, () => VECTOR.signature).join(' ');
    assert.equal(refusal({ ...fields, 'webhook-signature': many }), 'there are too many signatures');
  });

  test('a secret is whsec_ and 16 to 64 bytes in base64, and an error never repeats it', () => {
    const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
    assert.ok(isWebhookSecret(secretOf(16)) && isWebhookSecret(secretOf(32)) && isWebhookSecret(secretOf(64)));
    const wrong = ['', 'whsec_', 'whsec_!!!!', secretOf(15), secretOf(65), VECTOR.secret.slice('whsec_'.length)];
    for (const secret of wrong) {
      assert.equal(isWebhookSecret(secret), false, secret);
      assert.throws(
        () => signedFields([secret], MESSAGE),
        (thrown: Error) => secret === '' || !thrown.message.includes(secret) || secret === 'whsec_',
      );
    }
  });
});
