import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { addSent } from '../../src/domain/messages/sent.sql.ts';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';

const acme = { params: { username: 'acme' } };
const AT = '2026-11-15T12:00:00.000Z';

onOneEngine('messages as files', (engine) => {
  test('inbox.csv has every received message, newest first, with formulas guarded and numbers as text', async (t) => {
    const { of, account, clock, text } = await openActions(engine, t);
    await account('acme');
    await account('globex');
    const header = '\uFEFFid,receivedAt,sender,shortCode,read,text\r\n';
    assert.equal(await text('inbox export', acme), header);
    await of('globex', 'inbox receive', { body: { text: 'of another account' } });
    const first = { sender: '+27825550201', shortCode: '31234', text: '=HYPERLINK("x")' };
    const { id } = await of('acme', 'inbox receive', { body: first });
    await of('acme', 'inbox mark', { params: { id }, body: { read: true } });
    clock.now += 1_000;
    await of('acme', 'inbox receive', { body: { text: 'two\nlines, "quoted"' } });
    assert.equal(
      await text('inbox export', acme),
      `${header}'2,2026-11-15T12:00:01.000Z,,,no,"two\nlines, ""quoted"""\r\n` +
        `'1,${AT},'+27825550201,'31234,yes,"'=HYPERLINK(""x"")"\r\n`,
    );
  });

  test('sent.csv has every sent message once, over several pages', async (t) => {
    const { of, account, text, database } = await openActions(engine, t);
    await account('acme');
    const header = '\uFEFFid,reference,sentAt,updatedAt,recipient,status,text\r\n';
    const body = { recipient: '0825550201', text: '-1+1', reference: '@order' };
    await of('acme', 'message record', { body });
    assert.equal(await text('message export', acme), `${header}'1,'@order,${AT},${AT},'0825550201,SUBMITTED,'-1+1\r\n`);
    const id = await accountId(database, 'acme');
    const row = { account: id, ...body, status: 'SUBMITTED', sentAt: 0, updatedAt: 0, batch: null, isMarked: 0 };
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ ...row, id: BigInt(index + 2) }));
    await database.transaction(id, (queries) => queries.runAll(addSent, rows));
    const lines = (await text('message export', acme)).trimEnd().split('\r\n');
    assert.equal(lines.length, 1_002);
    assert.equal(new Set(lines).size, 1_002);
  });
});
