import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createComparing } from '../../src/migration/compare/comparing.ts';
import type { RawAnswer } from '../../src/migration/compare/redaction.ts';

const SETTINGS = {
  dialect: {},
  zone: 'UTC',
  disabled: [],
  key: Buffer.from('a key for tests'),
  listLimit: 10_000,
  pseudonyms: false,
};
const CALL = { group: 'account', operation: 'FetchSavedMessages', protocol: 'get' } as const;
const SECRET = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';

const templates = (count: number, last: string): RawAnswer => {
  const items = Array.from({ length: count }, (_, index) => `<string>Template ${index}</string>`).join('');
  const body = Buffer.from(
    `<ArrayOfString xmlns="http://sms.example/api">${items}<string>${last}</string></ArrayOfString>`,
  );
  return { status: 200, rawHeaders: ['Content-Type', 'text/xml; charset=utf-8'], body, ms: 1 };
};

test('long answers are compared in a thread, with the same result as short ones', async (t) => {
  const comparing = createComparing(SETTINGS);
  t.after(() => comparing.close());
  for (const count of [3, 3_000]) {
    const found = comparing.compare(CALL, templates(count, 'a'), templates(count, 'b'));
    assert.equal(found instanceof Promise, count > 1_000);
    const { outcome, differences } = await found;
    assert.equal(outcome, 'different');
    assert.match(differences[0] ?? '', new RegExp(`row ${count + 1}: old "\\w", ours "\\w"`));
    assert.equal((await comparing.compare(CALL, templates(count, 'a'), templates(count, 'a'))).outcome, 'equal');
  }
});

test('the thread removes secrets from a long exchange', async (t) => {
  const comparing = createComparing(SETTINGS);
  t.after(() => comparing.close());
  const target = `/api/account.asmx/FetchSavedMessages?user_id=${SECRET}`;
  const line = comparing.line({
    at: 0,
    userId: SECRET,
    ...CALL,
    request: { method: 'GET', target, rawHeaders: [], body: new Uint8Array() },
    old: templates(3_000, SECRET),
    ours: null,
    outcome: 'recorded',
    knownDifferences: [],
  });
  assert.ok(line instanceof Promise);
  assert.doesNotMatch(await line, /3f0d9c1e/);
});

test('work of a thread that was ended fails with an error, and the next thread works', async (t) => {
  const comparing = createComparing(SETTINGS);
  t.after(() => comparing.close());
  const asked = comparing.compare(CALL, templates(3_000, 'a'), templates(3_000, 'a')) as Promise<unknown>;
  const refused = assert.rejects(asked, /the thread that compares ended/);
  await comparing.close();
  await refused;
  assert.equal((await comparing.compare(CALL, templates(3_000, 'a'), templates(3_000, 'a'))).outcome, 'equal');
});
