import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';

const acme = { username: 'acme' };
const LOOPBACK = { kind: 'loopback', config: { receiptAfterMs: 1_000 } };

onOneEngine('actions of outbound routes and spend guards', (engine) => {
  test('a route is put, listed, tried and removed, and a try shows where a message would go and why', async (t) => {
    const { run, account, status, refusal } = await openActions(engine, t);
    await account('acme', { credits: '100', region: 'ZA' });
    for (const name of ['carrier-a', 'carrier-b']) await run('connector put', { params: { name }, body: LOOPBACK });
    const ways = [
      { connector: 'carrier-a', cost: '0.0125 EUR' },
      { connector: 'carrier-b', price: 3 },
    ];
    const za = { params: { name: 'za' }, body: { ways, prefixes: ['+27'], senderPool: ['ACME'] } };
    assert.equal(await status('outbound-route put', za), 201);
    assert.equal(await status('outbound-route put', za), 200);
    const all = { params: { name: 'all' }, body: { ways: [{ connector: 'carrier-b' }], priority: -1 } };
    assert.equal(await status('outbound-route put', all), 201);
    await run('connector pause', { params: { name: 'carrier-a' } });
    const tried = await run('outbound-route try', { body: { username: 'acme', recipient: '082 555 0201' } });
    assert.deepEqual([tried.route, tried.connector, tried.sender, tried.creditsHeld], ['za', 'carrier-b', 'ACME', '3']);
    assert.deepEqual(
      tried.ways.map((each: { connector: string; passedOver: string | null }) => [each.connector, each.passedOver]),
      [
        ['carrier-a', 'paused'],
        ['carrier-b', null],
      ],
    );
    assert.deepEqual(tried.others, [{ route: 'all', why: 'za goes first' }]);
    const { items } = await run('outbound-route list', {});
    assert.deepEqual(
      items.map(({ name, prefixes }: { name: string; prefixes: string[] }) => [name, prefixes]),
      [
        ['all', []],
        ['za', ['+27']],
      ],
    );
    const nowhere = await refusal('outbound-route put', { ...za, body: { ways: [{ connector: 'carrier-x' }] } });
    assert.match(JSON.stringify(nowhere.details), /there is no connector carrier-x/);
    assert.match(
      (await refusal('connector remove', { params: { name: 'carrier-b' } })).message,
      /outbound routes all, za/,
    );
    assert.equal(await status('outbound-route remove', { params: { name: 'za' } }), 200);
    await refusal('outbound-route remove', { params: { name: 'za' } });
  });

  test('a connector whose messages would come back is refused in a route, and one that only calls back here is not', async (t) => {
    const { run, status, refusal } = await openActions(engine, t);
    const own = 'https://operator.example';
    const file = {
      receipts: 'none',
      settings: ['baseUrl'],
      request: { method: 'POST', url: '{setting.baseUrl}/sms', form: { to: '{recipient}', text: '{text}' } },
      answer: [{ when: { status: 200 }, result: 'accepted' }],
    };
    const put = (name: string, baseUrl: string) =>
      run('connector put', {
        params: { name },
        body: { kind: 'http', config: { provider: file, settings: { baseUrl }, publicUrl: own } },
      });
    await put('loop', own);
    await put('provider', 'https://provider.example');
    const route = (connector: string) => ({ params: { name: 'za' }, body: { ways: [{ connector }] } });
    const { details } = await refusal('outbound-route put', route('loop'));
    assert.match(JSON.stringify(details), /leads back to this service/);
    assert.equal(await status('outbound-route put', route('provider')), 201);
  });

  test('a message that is sent names its route, its connector and the credits that are held', async (t) => {
    const { run, of, account } = await openActions(engine, t);
    await account('acme', { credits: '100', region: 'ZA' });
    await run('connector put', { params: { name: 'carrier-a' }, body: LOOPBACK });
    const body = { ways: [{ connector: 'carrier-a', price: 4 }] };
    await run('outbound-route put', { params: { name: 'za' }, body });
    const given = { body: { recipients: ['0825550201'], text: 'hello' } };
    const dry = await of('acme', 'message send', { ...given, query: { dry_run: '' } });
    assert.deepEqual([dry.credits, dry.accepted[0].routed.connector], ['4', 'carrier-a']);
    const { accepted } = await of('acme', 'message send', given);
    assert.deepEqual(accepted[0].routed, { route: 'za', connector: 'carrier-a', credits: '4' });
    assert.deepEqual(await of('acme', 'credits show'), { free: '96', held: '4', used: '0' });
  });

  test('a new account may send to its own country alone, until a guard allows more', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme', { credits: '100', region: 'ZA' });
    const abroad = { body: { recipients: ['+4915112345678', '0825550201'], text: 'hello' } };
    const first = await of('acme', 'message send', abroad);
    assert.deepEqual([first.accepted.length, first.refused[0].reason], [1, 'country']);
    assert.equal((await of('acme', 'guard show')).countries, 'region');
    await of('acme', 'guard put', { body: { countries: ['ZA', 'DE'] } });
    assert.deepEqual((await of('acme', 'guard show')).countries, ['ZA', 'DE']);
    assert.equal((await of('acme', 'message send', abroad)).accepted.length, 2);
  });

  test('held messages are listed with their rule, counted in the status, and released or refused', async (t) => {
    const { run, of, account, status } = await openActions(engine, t);
    await account('acme', { credits: '100', region: 'ZA' });
    await of('acme', 'guard put', { body: { recipientDay: 1 } });
    const given = { body: { recipients: ['0825550201'], text: 'hello' } };
    const ids: string[] = [];
    for (let sent = 0; sent < 3; sent++) ids.push((await of('acme', 'message send', given)).accepted[0].id);
    const [, released = '', refused = ''] = ids;
    const held = async () => (await run('queue list', { query: { held: 'true' } })).items;
    assert.deepEqual(
      (await held()).map(({ id, state }: { id: string; state: string }) => [id, state]),
      ids.slice(1).map((id) => [id, 'held']),
    );
    assert.match((await held())[0].reason, /^recipient-day: /);
    assert.match((await run('status', {})).sending.faults.join(' '), /2 messages are held by the spend guard/);
    assert.equal(await status('message release', { params: { ...acme, id: released } }), 200);
    assert.equal(await status('message refuse', { params: { ...acme, id: refused } }), 200);
    assert.deepEqual(await held(), []);
    assert.deepEqual(await of('acme', 'credits show'), { free: '98', held: '2', used: '0' });
    await of('acme', 'guard remove');
    assert.equal((await of('acme', 'guard show')).countries, null);
  });
});
