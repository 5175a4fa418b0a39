import assert from 'node:assert/strict';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';

const save = (client: Client, message: string) => client.ask('account', 'SaveMessageTemplate', { message });
const saved = (client: Client) => client.ask('account', 'FetchSavedMessages');
const remove = (client: Client, message: string | null) => client.ask('account', 'DeleteMessageTemplate', { message });

onEveryEngine('message templates', (engine) => {
  inEveryProtocol(engine, 'SaveMessageTemplate stores the exact text', async (client) => {
    const owner = await client.newcomer({});
    const texts = ['a', 'A', ' a', 'a ', 'a\n', 'a\r\n', ' ', 'é', 'e\u0301', '😀'];
    for (const text of texts) assert.equal(await save(owner, text), true);
    assert.deepEqual(await saved(owner), texts);
  });

  inEveryProtocol(engine, 'SaveMessageTemplate of an empty or missing text is an error', async (client) => {
    const before = await client.exported();
    for (const message of ['', null]) {
      assert.deepEqual(await client.refused('account', 'SaveMessageTemplate', { message }), {
        kind: 'bad-argument',
        message: 'message: a template cannot be empty',
      });
    }
    assert.equal(await client.exported(), before);
  });

  inEveryProtocol(
    engine,
    'SaveMessageTemplate takes 2,000 characters and not 2,001, whatever their size in UTF-16',
    async (client) => {
      const owner = await client.newcomer({});
      for (const character of ['x', '😀']) {
        assert.equal(await save(owner, character.repeat(2_000)), true);
        assert.deepEqual(await owner.refused('account', 'SaveMessageTemplate', { message: character.repeat(2_001) }), {
          kind: 'bad-argument',
          message: 'message: a template has at most 2000 characters',
        });
      }
      assert.deepEqual(await saved(owner), ['x'.repeat(2_000), '😀'.repeat(2_000)]);
    },
  );

  inEveryProtocol(
    engine,
    'SaveMessageTemplate takes 1,000 templates and not one more, until one is deleted',
    async (client) => {
      const templates = Array.from({ length: 999 }, (_, index) => `template ${index}`);
      const owner = await client.newcomer({ templates });
      assert.equal(await save(owner, 'the last'), true);
      assert.deepEqual(await owner.refused('account', 'SaveMessageTemplate', { message: 'one more' }), {
        kind: 'bad-argument',
        message: 'message: an account has at most 1000 templates',
      });
      assert.equal(await save(owner, 'template 5'), true);
      assert.deepEqual(await saved(owner), [...templates, 'the last']);
      assert.equal(await remove(owner, 'template 5'), true);
      assert.equal(await save(owner, 'one more'), true);
      assert.equal((await saved(owner)).length, 1000);
    },
  );

  inEveryProtocol(engine, 'DeleteMessageTemplate deletes by exact text', async (client) => {
    const texts = await saved(client);
    for (const text of [
      'your order is ready for collection.',
      ' Your order is ready for collection.',
      'Your',
      '',
      null,
    ]) {
      assert.equal(await remove(client, text), false);
    }
    assert.deepEqual(await saved(client), texts);
    assert.equal(await remove(client, 'Multi-line\ntemplate 😀'), true);
    assert.deepEqual(await saved(client), texts.slice(0, 2));
  });

  inEveryProtocol(
    engine,
    'DeleteMessageTemplate takes effect at once, and returns false the second time',
    async (client) => {
      assert.equal(await remove(client, 'Your order is ready for collection.'), true);
      assert.equal(await remove(client, 'Your order is ready for collection.'), false);
    },
  );
});
