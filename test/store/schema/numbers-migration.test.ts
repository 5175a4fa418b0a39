import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { exportOf } from '../../support/contract-client.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { serve } from '../../support/serving.ts';

/** As written, and the key that version 4 made of it when COLUMBA_REGION was ZA. */
const NUMBERS = [
  ['+27825550201', '+27825550201'],
  ['082 555 0202', '+27825550202'],
  ['0027825550203', '+27825550203'],
  ['27825550204', '+27825550204'],
  ['ext. 7', '7'],
  ['1234567890123456789', '1234567890123456789'],
  ['reception', 'reception'],
] as const;

async function fourthVersion(engine: Engine): Promise<string> {
  const setting = await engine.fresh('none');
  const outside = await openOutside(setting);
  try {
    await outside.migrate(migrations.slice(0, 4));
    const account_id = 1n;
    const counts = { credits: 0n, used_credits: 0n, priority: 0n, tag: 0n, created_at: 0n };
    await outside.insert('account', [{ account_id, username: 'a', ...counts }]);
    await outside.insert('credential', [{ account_id, user_id_hash: hashUserId('a'), created_at: 0n }]);
    const rows = NUMBERS.map(([text, number_key], index) => ({ text, number_key, id: BigInt(index + 1) }));
    const own = rows.map(({ text, number_key, id }) => ({ account_id, contact_id: id, mobile: text, number_key }));
    await outside.insert('contact', own);
    await outside.insert(
      'blocked_number',
      rows.map(({ text, number_key }) => ({ account_id, number: text, number_key, blocked_at: 0n })),
    );
    await outside.insert(
      'scheduled',
      rows.map(({ text, number_key, id }) => ({
        account_id,
        message_id: id,
        recipient: text,
        text: 'x',
        number_key,
        held_parts: 1n,
        scheduled_at: 0n,
        created_at: 0n,
      })),
    );
  } finally {
    await outside.close();
  }
  return setting;
}

onEveryEngine('the migration to numbers by their last digits', (engine) => {
  test('numbers that version 4 stored with a region are found without one, with the same one and with another', async (t) => {
    const setting = await fourthVersion(engine);
    for (const region of ['', 'ZA', 'GB']) {
      const { app, ask } = await serve(setting, {}, { region });
      t.after(() => app.stop());
      const found = async (operation: string, mobile: string) =>
        /<id>(.*?)<\/id>/.exec(await ask('account', operation, { user_id: 'a', mobile }))?.[1];
      for (const [index, [text]] of NUMBERS.entries()) assert.equal(await found('FetchContact', text), `${index + 1}`);
      assert.equal(await found('LookupContact', '27825550201'), '1');
      assert.equal(await found('LookupContact', '+27825550202'), region === 'ZA' ? '2' : undefined);
      assert.equal(await found('LookupContact', '+27 82 555 0203'), '3');
      assert.equal(await found('LookupContact', '0027825550204'), '4');
      assert.equal(await found('LookupContact', '#7'), '5');
    }
  });

  test('a number that version 4 stored is blacklisted once, and its scheduled messages are cancelled', async (t) => {
    const { app, ask } = await serve(await fourthVersion(engine));
    t.after(() => app.stop());
    const texts = ['+27 82 555 0201', '082 555 0202', '+27825550203', '+27825550204', '7', '1234567890123456789'];
    for (const mobile of texts) {
      assert.match(await ask('account', 'BlackListNumber', { user_id: 'a', mobile, sample_message: '' }), />true</);
    }
    const { blacklist, scheduled, credits } = JSON.parse(await exportOf(app, 'a'));
    assert.equal(blacklist.length, NUMBERS.length);
    assert.deepEqual(
      scheduled.map(({ recipient }: { recipient: string }) => recipient),
      ['reception'],
    );
    assert.equal(credits, '6');
  });
});
