import assert from 'node:assert/strict';
import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createSeal } from '../../src/migration/proxy/write-seal.ts';
import { createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';

const KEY = Buffer.from('a key for tests');

test('a sealed write shows nothing of its text, and opens only with the same key and account', () => {
  const seal = createSeal(KEY);
  const sealed = seal.seal(7n, 'user_id=secret');
  assert.doesNotMatch(Buffer.from(sealed, 'base64').toString('latin1'), /secret|user_id/);
  assert.equal(seal.open(7n, sealed), 'user_id=secret');
  assert.throws(() => seal.open(8n, sealed));
  assert.throws(() => createSeal(Buffer.from('another')).open(7n, sealed));
  const bytes = Buffer.from(sealed, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  assert.throws(() => seal.open(7n, bytes.toString('base64')));
});

test('equal texts are sealed differently, and the name of a key does not reveal the key', () => {
  const seal = createSeal(KEY);
  assert.notEqual(seal.seal(7n, 'a'), seal.seal(7n, 'a'));
  assert.match(seal.keyName, /^[0-9a-f]{16}$/);
  assert.equal(createSeal(KEY).keyName, seal.keyName);
  assert.notEqual(createSeal(Buffer.from('another')).keyName, seal.keyName);
});

/** As versions did before writes of the stage compare were stored. */
const formerSeal = (account: bigint, text: string): string => {
  const key = createHmac('sha256', KEY).update('writes for the old server').digest();
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(String(account)));
  const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64');
};

onOneEngine('writes of two versions of the proxy', (engine) => {
  test('a proxy of the former version does not find the writes of this version, and this version opens those of both', async (t) => {
    const { database, account } = await openActions(engine, t);
    const acme = await account('acme');
    const other = await account('other');
    const seal = createSeal(KEY);
    const formerName = createHmac('sha256', KEY).update('name').digest('hex').slice(0, 16);
    let now = 0;
    const ours = createMigrationWrites(database, () => now, seal.keyName, seal.formerKeyName);
    const former = createMigrationWrites(database, () => now, formerName);
    await ours.begin(acme, 'account.BlackListNumber', seal.seal(acme, 'ours'), 'asked');
    await former.begin(other, 'account.SaveMessageTemplate', formerSeal(other, 'former'));
    now = 60_000;
    assert.deepEqual([await former.dueAccounts(10), await former.behindAccounts()], [[other], []]);
    assert.deepEqual((await ours.dueAccounts(10)).toSorted(), [acme, other].toSorted());
    assert.deepEqual(await ours.behindAccounts(), [acme]);
    const [write] = await ours.of(other, 10);
    assert.equal(seal.open(other, write?.sealed ?? ''), 'former');
  });
});
