import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions, pointers } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { load, scheduled } from './archived-account.ts';

const acme = { username: 'acme' };
const ONE = { recipients: ['082 555 0201'], text: 'hello' };

onEveryEngine('actions that send', (engine) => {
  test('message send answers 202 with ids, and the message is QUEUED among the sent ones', async (t) => {
    const { of, account, status } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const result = await of('acme', 'message send', { body: { ...ONE, reference: 'order-17', sender: 'ACME' } });
    const id = result.accepted[0].id;
    assert.deepEqual(result.accepted, [{ id, recipient: '+27825550201', parts: 1, encoding: 'gsm7' }]);
    const shown = await of('acme', 'message show', { params: { id } });
    assert.deepEqual([shown.status, shown.reference, shown.recipient], ['QUEUED', 'order-17', '+27825550201']);
    assert.deepEqual(await of('acme', 'credits show'), { free: '9', held: '1', used: '0' });
    assert.equal(await status('message send', { params: acme, body: ONE }), 202);
  });

  test('a dry run answers 200, changes nothing and leaves nothing in the audit', async (t) => {
    const { of, account, status, run } = await openActions(engine, t);
    await account('acme', { credits: '1' });
    const given = {
      params: acme,
      query: { dry_run: '' },
      body: { recipients: ['0825550201', '0825550202'], text: 'ж' },
    };
    assert.equal(await status('message send', given), 200);
    const result = await of('acme', 'message send', given);
    assert.deepEqual([result.parts, result.creditsMissing, result.ucs2Characters], [2, '1', ['ж']]);
    assert.deepEqual(await of('acme', 'credits show'), { free: '1', held: '0', used: '0' });
    const { items } = await run('audit list', {});
    assert.deepEqual(
      items.map(({ action }: { action: string }) => action),
      ['account add'],
    );
  });

  test('sendAt more than 24 hours in the past is refused, and a little in the past means now and says so', async (t) => {
    const { of, account, refusal, clock } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const at = (ms: number) => new Date(clock.now + ms).toISOString();
    const DAY = 86_400_000;
    for (const sendAt of [at(-DAY - 1), '2025-11-15T12:00:00Z', '2025-11-15T14:00:00+02:00']) {
      const problem = await refusal('message send', { params: acme, body: { ...ONE, sendAt } });
      assert.deepEqual(pointers(problem), ['#/sendAt']);
      assert.match(problem.message, /more than 24 hours in the past/);
      await refusal('message send', { params: acme, query: { dry_run: '' }, body: { ...ONE, sendAt } });
    }
    const late = await refusal('message reschedule', { params: acme, body: { ids: ['1'], sendAt: at(0) } });
    assert.deepEqual(pointers(late), ['#/sendAt']);
    for (const sendAt of [at(-DAY), at(-1)]) {
      const { dueAt, isPast } = await of('acme', 'message send', { body: { ...ONE, sendAt } });
      assert.deepEqual([dueAt, isPast], [at(0), true]);
    }
    for (const sendAt of [at(0), at(1)]) {
      assert.equal((await of('acme', 'message send', { body: { ...ONE, sendAt } })).isPast, false);
    }
  });

  test('an offset such as +02:00 is accepted as well as Z, and answers have Z', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    for (const sendAt of ['2026-11-16T14:00:00+02:00', '2026-11-16T12:00:00Z', '2026-11-16T06:30:00.000-05:30']) {
      const { dueAt } = await of('acme', 'message send', { body: { ...ONE, sendAt } });
      assert.equal(dueAt, '2026-11-16T12:00:00.000Z');
    }
    for (const sendAt of ['2026-11-16T14:00:00', '2026-11-16T14:00:00+25:00', '16.11.2026', '2026-02-30T12:00:00Z']) {
      const problem = await refusal('message send', { params: acme, body: { ...ONE, sendAt } });
      assert.deepEqual(pointers(problem), ['#/sendAt'], sendAt);
    }
  });

  test('the audit has ids and no number and no text', async (t) => {
    const { of, account, run } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    await of('acme', 'message send', { body: ONE });
    const [entry] = (await run('audit list', {})).items;
    assert.match(entry.target, /^acme\/\d+\+1$/);
    assert.doesNotMatch(JSON.stringify(entry), /hello|5550201/);
  });

  test('a template is filled for each recipient, and whoever lacks a value is refused by its name', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme', { credits: '100' });
    await of('acme', 'contact add', { body: { mobile: '+27825550202', name: 'Ben' } });
    const recipients = ['0825550201', '0825550202', '0825550203', '12'];
    const template = 'Hello ((First name)), ((time))';
    const values = [
      { 'first name': 'Anna', time: '9:00' },
      { time: '9:30' },
      { time: '10:00' },
      { 'first name': 'X', time: '1' },
    ];
    const body = { recipients, template, values, fromContacts: true };
    const dry = await of('acme', 'message send', { query: { dry_run: '' }, body });
    assert.deepEqual(
      dry.accepted.map(({ text }: { text: string }) => text),
      ['Hello Anna, 9:00', 'Hello Ben, 9:30'],
    );
    assert.deepEqual(
      dry.refused.map(({ index, reason }: { index: number; reason: string }) => [index, reason]),
      [
        [2, 'missing-value'],
        [3, 'impossible'],
      ],
    );
    assert.equal(dry.refused[0].detail, 'there is no value for ((First name))');
    const long = [{ 'first name': 'A'.repeat(200), time: '9' }];
    const one = await of('acme', 'message send', {
      body: { recipients: recipients.slice(0, 1), template, values: long },
    });
    assert.equal(one.accepted[0].parts, 2);
    assert.equal(one.accepted[0].text, undefined);
    const done = await of('acme', 'message send', { body });
    const second = await of('acme', 'message show', { params: { id: done.accepted[1].id } });
    assert.deepEqual([second.recipient, second.text], ['+27825550202', 'Hello Ben, 9:30']);
    for (const [wrong, pointer] of [
      [{ ...body, text: 'x' }, '#/template'],
      [{ recipients, text: 'x', values }, '#/template'],
      [{ ...body, values: values.slice(1) }, '#/values'],
      [{ ...body, template: '((a))'.repeat(51) }, '#/template'],
      [
        {
          recipients: Array.from({ length: 50 }, (_, index) => `+278255502${10 + index}`),
          template: '((a))'.repeat(45),
          values: Array.from({ length: 50 }, () => ({ a: 'x'.repeat(500) })),
        },
        '#/template',
      ],
    ] as const) {
      assert.deepEqual(pointers(await refusal('message send', { params: acme, body: wrong })), [pointer]);
    }
  });

  test('each text goes to its own recipient, and there must be as many texts as recipients', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const recipients = ['0825550201', '0825550202'];
    const { accepted } = await of('acme', 'message send', { body: { recipients, texts: ['one', 'two'] } });
    const second = await of('acme', 'message show', { params: { id: accepted[1].id } });
    assert.deepEqual([second.recipient, second.text], ['+27825550202', 'two']);
    for (const [body, pointer] of [
      [{ recipients }, '#/text'],
      [{ recipients, text: 'x', texts: ['x', 'y'] }, '#/text'],
      [{ recipients, texts: ['x'] }, '#/texts'],
      [{ recipients: [], text: 'x' }, '#/recipients'],
      [{ recipients, text: '' }, '#/text'],
      [{ recipients, text: 'x', sender: 'too long name' }, '#/sender'],
      [{ recipients, text: 'x', sender: '   ' }, '#/sender'],
      [{ recipients, text: 'half \ud83d' }, '#/text'],
      [{ recipients, texts: ['x', '\ude00'] }, '#/texts/1'],
      [{ recipients: Array.from({ length: 1_001 }, () => '0825550201'), text: 'x' }, '#/recipients'],
    ] as const) {
      assert.deepEqual(pointers(await refusal('message send', { params: acme, body })), [pointer], pointer);
    }
  });

  test('too few credits refuse the whole request with 409', async (t) => {
    const { account, refusal, of } = await openActions(engine, t);
    await account('acme', { credits: '1' });
    const body = { recipients: ['0825550201', '0825550202'], text: 'hello' };
    const problem = await refusal('message send', { params: acme, body });
    assert.equal(problem.kind, 'conflict');
    assert.match(problem.message, /Missing: 1\./);
    assert.deepEqual((await of('acme', 'message list')).items, []);
  });

  test('a disabled account accepts no messages', async (t) => {
    const { account, of, refusal } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const body = { recipients: ['+27825550201'], text: 'Hi' };
    const sent = await of('acme', 'message send', { body });
    const params = { username: 'acme' };
    await of('acme', 'account disable', {});
    const id = sent.accepted[0].id;
    await of('acme', 'message status', { params: { id }, body: { status: 'DELIVERED' } });
    const sentence = { kind: 'conflict', message: 'The account is disabled. Enable it first.' };
    for (const query of [{}, { dry_run: 'true' }]) {
      const { kind, message } = await refusal('message send', { params, query, body });
      assert.deepEqual({ kind, message }, sentence);
    }
    const { kind, message } = await refusal('message resend', { params: { ...params, id } });
    assert.deepEqual({ kind, message }, sentence);
    await of('acme', 'account enable', {});
    await of('acme', 'message send', { body });
  });

  test('message resend sends the same text as a new message', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const first = (await of('acme', 'message send', { body: ONE })).accepted[0].id;
    const waiting = await refusal('message resend', { params: { ...acme, id: first } });
    assert.deepEqual(
      [waiting.kind, /still on its way, with the status QUEUED/.test(waiting.message)],
      ['conflict', true],
    );
    for (const status of ['SUBMITTED', 'DELIVERED']) {
      assert.equal((await refusal('message resend', { params: { ...acme, id: first } })).kind, 'conflict');
      await of('acme', 'message status', { params: { id: first }, body: { status } });
    }
    const second = (await of('acme', 'message resend', { params: { id: first } })).accepted[0].id;
    assert.notEqual(second, first);
    assert.equal((await of('acme', 'message show', { params: { id: second } })).text, 'hello');
    assert.equal((await refusal('message resend', { params: { ...acme, id: '999' } })).kind, 'not-found');
  });

  test('a scheduled message is cancelled and its credits are free again, and a waiting message cannot be decided about', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const sendAt = '2026-11-16T12:00:00.000Z';
    const id = (await of('acme', 'message send', { body: { ...ONE, sendAt } })).accepted[0].id;
    assert.equal((await of('acme', 'message show', { params: { id } })).scheduledAt, sendAt);
    const decided = await refusal('message decide', { params: { ...acme, id }, body: { decision: 'submitted' } });
    assert.equal(decided.kind, 'conflict');
    assert.deepEqual(await of('acme', 'message cancel', { params: { id } }), { id, creditsReturned: '1' });
    const gone = await refusal('message decide', { params: { ...acme, id }, body: { decision: 'submitted' } });
    assert.equal(gone.kind, 'not-found');
  });

  test('message activate activates an imported schedule', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(7, 'later')] });
    assert.deepEqual(await bench.of('acme', 'message activate', { body: {} }), { activated: 1, armed: 1, refused: [] });
    assert.deepEqual(await bench.of('acme', 'message activate', { body: { ids: ['7'] } }), {
      activated: 0,
      armed: 0,
      refused: [],
    });
  });
});

onEveryEngine('actions of connectors', (engine) => {
  test('a connector is added, shown without its secrets, paused, resumed and removed', async (t) => {
    const { run, refusal } = await openActions(engine, t);
    const params = { name: 'partner' };
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const config = { url: 'https://carrier.example/sms', secret };
    const added = await run('connector put', { params, body: { kind: 'callback', config, isDefault: true } });
    assert.deepEqual([added.state, added.isDefault, added.config.secret], ['working', true, '…']);
    assert.ok(!JSON.stringify(await run('connector list')).includes(secret));
    assert.equal((await run('connector pause', { params })).state, 'paused');
    assert.equal((await run('connector resume', { params })).state, 'working');
    assert.deepEqual((await run('status')).sending.connectors, [
      { name: 'partner', state: 'working', waiting: 0, lastMinute: 0, receiptLagMs: null, lastError: null },
    ]);
    await run('connector put', { params: { name: 'other' }, body: { kind: 'loopback', isDefault: true } });
    assert.equal((await run('connector show', { params })).isDefault, false, 'one is the default');
    assert.deepEqual(await run('connector remove', { params }), params);
    assert.equal((await refusal('connector show', { params })).kind, 'not-found');
  });

  test('a connector of the kind webhook, the former name of callback, is read as one', async (t) => {
    const { run } = await openActions(engine, t);
    const config = { url: 'https://carrier.example/sms', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` };
    const added = await run('connector put', { params: { name: 'partner' }, body: { kind: 'webhook', config } });
    assert.deepEqual([added.kind, added.config.secret], ['callback', '…']);
  });

  test('a configuration that does not fit its kind is refused, with every wrong field and without its values', async (t) => {
    const { refusal } = await openActions(engine, t);
    const body = { kind: 'loopback', config: { receiptAfterMs: -1, secret: 'hidden' } };
    const problem = await refusal('connector put', { params: { name: 'x' }, body });
    assert.equal(problem.kind, 'bad-argument');
    assert.ok(pointers(problem).includes('#/config/receiptAfterMs'));
    assert.doesNotMatch(JSON.stringify(problem), /hidden/);
  });

  test('an account cannot name a connector that does not exist', async (t) => {
    const { run, refusal } = await openActions(engine, t);
    const pointer = '#/connector';
    const only = (names: string) => [{ pointer, detail: `there is no such connector; expected one of ${names}` }];
    const body = { username: 'acme', connector: 'nope' };
    assert.deepEqual((await refusal('account add', { body })).details.errors, only('loopback'));
    await run('account add', { body: { ...body, connector: 'loopback' } });
    await run('connector put', { params: { name: 'way' }, body: { kind: 'loopback', isDefault: true } });
    const params = { username: 'acme' };
    const change = (connector: string) => ({ params, body: { connector } });
    assert.deepEqual((await refusal('account change', change('nope'))).details.errors, only('way'));
    await run('account change', change('way'));
    await run('account change', { params, body: { connector: null } });
  });
});
