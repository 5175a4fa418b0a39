import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import { operatorNamed, ownerOfOperator } from '../../src/domain/access/operators.ts';
import { factorState } from '../../src/domain/access/second-factor.ts';
import { codeOf, fromBase32, stepOf } from '../../src/domain/access/totp.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createConnectors } from '../../src/domain/sending/connectors.ts';
import { claimDeliveries } from '../../src/domain/webhooks/webhooks.ts';
import { act, type ConsoleClient, createConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

const manyAccounts = sql<Record<string, never>>(
  `insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
   select n, 'crowd-' || n, 0, 0, 0, 0, 0
   from (with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 100)
     select n from numbers) as made`,
  { affects: 'all' },
);

/** What operators do in the console. */
onOneEngine("the operator's acts", (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return { api, client: await signedIn(api, { operator: 'ann' }) };
  }
  const params = { username: 'acme' };

  test('an account is made, changed, granted credits, disabled and removed after its name was typed', async (t) => {
    const { client } = await opened(t);
    const made = await client.post('/console/accounts', {
      username: 'new one',
      company: 'New',
      region: 'ZA',
      credits: '5',
      stopWords: 'STOP, ende',
    });
    assert.match(made.text, /[0-9a-f]{8}-[0-9a-f]{4}-/);
    assert.equal((await client.post('/console/accounts', { username: 'new one' })).status, 400);
    const here = '/console/accounts/new%20one';
    const wrong = await client.post(`${here}/settings`, { company: 'Kept', timeZone: 'Nowhere/Land', priority: '1' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /value="Kept"/);
    const settings = {
      company: 'Newer',
      timeZone: 'Africa/Johannesburg',
      priority: '2',
      allowedNetworks: '10.0.0.0/8, 192.0.2.1',
      stopWords: 'STOP, ende',
      wordLanguages: 'de, en',
      stopAnswer: 'Bye.\r\nWrite START to come back.',
    };
    assert.match((await client.get(here)).text, /value="STOP, ende"/);
    assert.equal((await client.post(`${here}/settings`, settings)).location, `${here}?notice=changed`);
    const shown = (await client.get(here)).text;
    assert.match(shown, /value="10\.0\.0\.0\/8, 192\.0\.2\.1"/);
    assert.match(shown, /value="de, en"/);
    assert.match(shown, />Bye\.\nWrite START to come back\.<\/textarea>/);
    assert.equal((await client.post(`${here}/credits`, { amount: '7', reason: 'Invoice' })).status, 303);
    assert.match((await client.get(here)).text, /Free: 12\./);
    assert.match((await client.post(`${here}/sign-in-link`)).text, /\/console\/sign-in\/[\w-]{43}/);
    assert.match((await client.post(`${here}/disable`)).text, /Disable new one\?/);
    await client.post(`${here}/disable`, { confirmed: 'yes' });
    assert.match((await client.post(`${here}/remove`, { confirmed: 'yes', typed: 'new' })).text, /does not match/);
    const gone = await client.post(`${here}/remove`, { confirmed: 'yes', typed: 'new one' });
    assert.match(gone.location ?? '', /^\/console\/accounts\?notice=removed/);
    assert.equal((await client.get(here)).status, 404);
  });

  test('messages with an unknown outcome are decided after a question that names them', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'message send', { params, body: { recipients: ['+27825550201', '+27825550202'], text: 'Hi' } });
    await api.services.database.run(sql("update dispatch set state = 'needs-decision', reason = 'no answer'"), {});
    assert.match((await client.get('/console/')).text, /2 messages have an unknown outcome/);
    assert.match((await client.get('/console/queue?show=open')).text, /all 2 that match/);
    const question = await client.post('/console/queue', { act: 'submitted', scope: 'all' });
    assert.match(question.text, /Decide about 2 messages: The carrier has it\?/);
    const id = [...question.text.matchAll(/name="id" value="([^"]+)"/g)].map((match) => match[1] as string);
    const done = await client.post('/console/queue', { act: 'submitted', id, confirmed: 'yes' });
    assert.equal(done.location, '/console/queue?show=open&notice=decided&count=2');
    const again = await client.post('/console/queue', { act: 'submitted', id, confirmed: 'yes' });
    assert.match(again.location ?? '', /count=0$/);
  });

  test('the queue speaks of one message with an unknown outcome in the singular', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'message send', { params, body: { recipients: ['+27825550201'], text: 'Hi' } });
    await api.services.database.run(sql("update dispatch set state = 'needs-decision', reason = 'no answer'"), {});
    assert.match((await client.get('/console/')).text, /1 message has an unknown outcome\./);
  });

  test('a message without a route is assigned to an account, and a new route assigns the others', async (t) => {
    const { api, client } = await opened(t);
    const { database, now } = api.services;
    const { incoming } = createCarrierEvents(database, now, 'ZA');
    const message = {
      connector: 'loopback',
      sender: '+27825550299',
      destination: '31999',
      receivedAt: now(),
      part: null,
    };
    for (const text of ['one', 'two', 'three']) await incoming({ ...message, text, gatewayId: text });
    const page = await client.get('/console/unrouted');
    const [, id = ''] = /<tr data-key="(\d+)"/.exec(page.text) ?? [];
    const refused = await client.post('/console/unrouted', { act: 'assign', id, username: 'nobody' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /There is no account with the username nobody/);
    assert.match(refused.text, new RegExp(`id="to-${id}"[^>]* value="nobody"`));
    assert.equal(
      (await client.post('/console/unrouted', { act: 'assign', id, username: 'acme' })).location,
      '/console/unrouted?notice=assigned',
    );
    const route = { act: 'save-route', name: 'market', destination: '31999', routeTo: 'acme', priority: '' };
    assert.equal((await client.post('/console/unrouted', route)).location, '/console/unrouted?notice=saved');
    assert.equal(
      (await client.post('/console/unrouted', { act: 'replay' })).location,
      '/console/unrouted?notice=replayed&count=2',
    );
    assert.match((await client.get('/console/unrouted')).text, /Every message has found its account/);
  });

  test('a form that names an unknown account is shown again with what was typed', async (t) => {
    const { client } = await opened(t);
    for (const [path, fields] of [
      ['unrouted', { act: 'save-route', name: 'kept-name', destination: '31999', routeTo: 'nobody' }],
      ['tokens', { name: 'kept-name', username: 'nobody', scope: 'messages:send' }],
      ['webhooks', { act: 'add', url: 'https://kept-name.example/', event: 'message.received', username: 'nobody' }],
      ['retention/person', { number: '+27825550201', account: 'nobody' }],
    ] as const) {
      const { status, text } = await client.post(`/console/${path}`, fields);
      assert.equal(status, 400, path);
      assert.match(text, /role="alert">.*<p>There is no account with the username nobody/, path);
      assert.match(text, /value="(?:https:..)?kept-name|value="(?:&#43;|\+)27825550201"/, path);
    }
  });

  test('a refused field is named by its label, not as JSON names it', async (t) => {
    const { client } = await opened(t);
    const days = { inbox: 'abc', sent: '', audit: '', ledger: '', unrouted: '' };
    for (const [path, fields, expected] of [
      [
        'accounts',
        { username: 'new', credits: 'many' },
        /<p>Credits to begin with: expected a whole number [^,]*<\/p>/,
      ],
      ['accounts', { username: 'acme' }, /<p>Username: there is already an account/],
      [
        'accounts/acme/settings',
        { allowedNetworks: 'nowhere' },
        /<p>Networks from which the account may be used, separated by commas: /,
      ],
      [
        'accounts/acme/credits',
        { amount: '0', reason: 'x' },
        /<p>Number of credits \(negative to take back\): 0 moves nothing/,
      ],
      ['retention', days, /<p>Received messages: expected a whole number/],
      ['unrouted', { act: 'save-route', name: 'two words', routeTo: 'acme' }, /<p>Name: expected 1 to 64 letters/],
      ['tokens', { name: 'shop' }, /<p>What it may do: choose at least one/],
      ['accounts/acme/access/tokens', { tokenName: 'shop' }, /<p>What it may do: choose at least one/],
    ] as const) {
      const { status, text } = await client.post(`/console/${path}`, fields);
      assert.equal(status, 400, path);
      const [note = ''] = /role="alert">.*?<\/div>/s.exec(text) ?? [];
      assert.match(note, expected, path);
      assert.doesNotMatch(note, /#\/|[?{]\w+\}?:|as a text/, path);
    }
  });

  test('a connector is paused and resumed', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'connector put', { params: { name: 'way' }, body: { kind: 'loopback', isDefault: true } });
    assert.match((await client.post('/console/connectors', { name: 'way', act: 'pause' })).location ?? '', /paused/);
    assert.match((await client.get('/console/')).text, /way is paused\./);
    const customer = await signedIn(api, params);
    assert.match((await customer.get('/console/')).text, /Nothing is being sent now/);
    await client.post('/console/connectors', { name: 'way', act: 'resume' });
    assert.doesNotMatch((await customer.get('/console/')).text, /Nothing is being sent now/);
  });

  test('the queue shows what is due, what is claimed and what is tried again', async (t) => {
    const { api, client } = await opened(t);
    const recipients = Array.from({ length: 130 }, (_, index) => `+2782555${String(1_000 + index)}`);
    const { accepted } = await act<{ accepted: { id: string }[] }>(api, 'message send', {
      params,
      body: { recipients, text: 'Hi' },
    });
    const { database } = api.services;
    const last = BigInt(accepted.at(-1)?.id ?? 0);
    const set = async (change: string, id: bigint) =>
      database.run(sql<{ id: bigint }>(`update dispatch set ${change} where message_id = :id`), { id });
    await set("state = 'submitting', attempts = 1", last);
    await set("attempts = 3, reason = 'throttled'", last - 1n);
    const shown = async (choice: string) => (await client.get(`/console/queue?show=${choice}`)).text;
    const keysOf = (text: string) => [...text.matchAll(/<tr data-key="acme\/(\d+)"/g)].map((match) => match[1]);
    assert.deepEqual(keysOf(await shown('claimed')), [String(last)]);
    assert.deepEqual(keysOf(await shown('retrying')), [String(last - 1n)]);
    const first = await client.get('/console/queue?show=due');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    const second = await client.get(next.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))));
    const keys = [...keysOf(first.text), ...keysOf(second.text)];
    assert.deepEqual(
      keys,
      accepted.slice(0, 100).map(({ id }) => id),
    );
    assert.match(await shown('open'), /No message is in this state/);
  });

  test('the overview shows for each connector what waits, the rate, refusals, receipts and the last error', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'connector put', { params: { name: 'way' }, body: { kind: 'loopback', isDefault: true } });
    await act(api, 'message send', { params, body: { recipients: ['+27825550201'], text: 'Hi' } });
    const { database } = api.services;
    const { id } = await addAttempts(api);
    const counts = { accepted: 3, temporary: 1, permanent: 2, unknownOutcome: 0 };
    const last = { lastAcceptedAt: api.clock.now, lastError: 'throttled', lastErrorAt: api.clock.now };
    await createConnectors(database, () => api.clock.now).addCounts('way', counts, last);
    const { text } = await client.get('/console/');
    const [row = ''] = /<tr data-key="way">.*?<\/tr>/s.exec(text) ?? [];
    assert.match(row, /data-l="Waiting">1</);
    assert.match(row, /data-l="Last minute">1</);
    assert.match(row, /3 accepted in 24 hours, at most 3 in an hour/);
    assert.match(row, /data-l="Failed">40 %</);
    assert.match(row, /data-l="Receipts after">4\.0 s</, id);
    const one = await client.get('/console/connectors/way');
    assert.match(one.text, /1 for a while, 0 unanswered/);
    assert.match(one.text, /throttled/);
  });

  /** One submission of this moment, and three older ones: with receipts after 2, 4 and 90 s. */
  async function addAttempts({ services: { database }, clock }: OperatorApi): Promise<{ id: string }> {
    const account = await accountId(database, 'acme');
    const add = sql<{
      account: bigint;
      attempt: number;
      id: string;
      submittedAt: number;
      statusAt: number | null;
    }>(
      `insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, state, submitted_at, status_at)
       values (:account, 77, :attempt, 1, :id, 'way', 'accepted', :submittedAt, :statusAt)`,
    );
    for (const [attempt, [age, lag]] of [
      [0, null],
      [300_000, 2_000],
      [300_000, 4_000],
      [300_000, 90_000],
    ].entries()) {
      const submittedAt = clock.now - Number(age);
      const statusAt = lag === null ? null : submittedAt + Number(lag);
      await database.run(add, { account, attempt, id: newAttemptId(submittedAt), submittedAt, statusAt });
    }
    return { id: newAttemptId(clock.now) };
  }

  test('the test of a webhook delivers an event without data to that webhook alone', async (t) => {
    const { api, client } = await opened(t);
    for (const url of ['https://one.example/', 'https://other.example/'])
      await client.post('/console/webhooks', { act: 'add', url, event: ['message.received'] });
    const [, id = ''] = /name="id" value="(\d+)"/.exec((await client.get('/console/webhooks')).text) ?? [];
    const tested = await client.post('/console/webhooks', { act: 'test', id });
    assert.equal(tested.location, `/console/webhooks/${id}?notice=tested`);
    const due = { now: api.clock.now, leaseMs: 1_000, perWebhook: () => 10 };
    const deliveries = await claimDeliveries(api.services.database, due);
    assert.deepEqual(
      deliveries.map(({ webhookId, body }) => [String(webhookId), JSON.parse(body).type, JSON.parse(body).data]),
      [[id, 'webhook.test', {}]],
    );
    await api.services.database.run(sql('update webhook set disabled_at = 1'), {});
    assert.match((await client.post('/console/webhooks', { act: 'test', id })).text, /switched off/);
  });

  test('the screens of retention and erasure show counts before anything is deleted', async (t) => {
    const { api, client } = await opened(t);
    const days = { inbox: '30', sent: '', audit: '', ledger: '', unrouted: '' };
    assert.match((await client.post('/console/retention', days)).text, /Received messages: \d+/);
    assert.equal((await client.post('/console/retention', { ...days, inbox: '0' })).status, 400);
    assert.equal(
      (await client.post('/console/retention', { ...days, confirmed: 'yes' })).location,
      '/console/retention?notice=set',
    );
    const person = { number: '+27825550201', account: '' };
    assert.match((await client.post('/console/retention/person', person)).text, /Erase this person from 2 accounts\?/);
    assert.match(
      (await client.post('/console/retention/person', { ...person, number: '+27825559999' })).text,
      /No account knows/,
    );
    await api.services.database.run(manyAccounts, {});
    const erased = await client.post('/console/retention/person', { ...person, confirmed: 'yes' });
    assert.match(erased.text, /Erasing\. Every account.*<li>100 accounts searched.*Erased \d+ entries/s);
    const found = await act<{ accounts: unknown[] }>(api, 'person show', { params: { number: person.number } });
    assert.deepEqual(found.accounts, []);
  });

  test('the settings of an account can be saved although its imported priority is one that nobody could set', async (t) => {
    const { api, client } = await opened(t);
    const here = '/console/accounts/acme';
    const { text } = await client.get(here);
    const fields = Object.fromEntries(
      [...text.matchAll(/<input id="(\w+)" name="\1"[^>]* value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    assert.equal(fields.priority, '5');
    const saved = await client.post(`${here}/settings`, { ...fields, company: 'Newer', connector: '' });
    assert.equal(saved.location, `${here}?notice=changed`);
    const { company, priority } = await act<{ company: string; priority: number }>(api, 'account show', { params });
    assert.deepEqual([company, priority], ['Newer', 5]);
  });

  test('an operator who is disabled is signed out at once, and no button lets operators disable themselves', async (t) => {
    const { api, client } = await opened(t);
    const added = await client.post('/console/operators', { act: 'add', name: 'ben' });
    const [path = ''] = /\/console\/sign-in\/[\w-]{43}/.exec(added.text) ?? [];
    const ben = createConsoleClient(api.address);
    await ben.post(path);
    assert.equal((await ben.get('/console/accounts')).status, 200);
    assert.doesNotMatch((await client.get('/console/operators')).text, /aria-label="Disable ann"/);
    await client.post('/console/operators', { act: 'disable', name: 'ben', confirmed: 'yes' });
    assert.equal((await ben.get('/console/accounts')).status, 303);
  });

  test('the second step of an operator is reset by another one who gives a code of their own', async (t) => {
    const { api, client } = await opened(t);
    const factorOf = async (who: ConsoleClient): Promise<() => string> => {
      const begun = await who.post('/console/access/factor', { act: 'begin' });
      const [, secret = ''] = /name="secret" value="([A-Z2-7]+)"/.exec(begun.text) ?? [];
      const code = () => codeOf(fromBase32(secret), stepOf(api.clock.now));
      assert.equal((await who.post('/console/access/factor', { act: 'confirm', secret, code: code() })).status, 200);
      api.clock.now += 30_000; // each code is good once
      return code;
    };
    const added = await client.post('/console/operators', { act: 'add', name: 'ben' });
    const ben = createConsoleClient(api.address);
    await ben.post(/\/console\/sign-in\/[\w-]{43}/.exec(added.text)?.[0] ?? '');
    await factorOf(ben);
    const reset = (code: string) => client.post('/console/operators', { act: 'reset', name: 'ben', code });
    assert.match((await reset('')).text, /Enter a code of your own second step/);
    for (const code of ['000000', 'abcd-efgh-ijkl-mnop']) {
      const refused = await reset(code);
      assert.deepEqual([refused.status, /The code is wrong/.test(refused.text)], [400, true]);
    }
    const owner = ownerOfOperator(await operatorNamed(api.services.database, 'ben'));
    assert.ok((await factorState(api.services.database, owner)).isOn);
    const code = await factorOf(client);
    const [link = ''] = /\/console\/sign-in\/[\w-]{43}/.exec((await reset(code())).text) ?? [];
    assert.notEqual(link, '');
    assert.equal((await factorState(api.services.database, owner)).isOn, false);
  });

  test('a token is shown once and can be revoked, a webhook can be added, and the audit has each step, also filtered and as CSV', async (t) => {
    const { client } = await opened(t);
    const made = await client.post('/console/tokens', { name: 'shop', scope: ['accounts', 'credits'] });
    const [token = ''] = /colo_[\w-]{43}/.exec(made.text) ?? assert.fail(made.text);
    const list = await client.get('/console/tokens');
    assert.ok(!list.text.includes(token));
    const [, id = ''] = /<tr data-key="(\d+)"><th class="who" scope="row"><bdi>shop</.exec(list.text) ?? [];
    await client.post('/console/tokens/revoke', { token: id, name: 'shop', confirmed: 'yes' });
    const hook = await client.post('/console/webhooks', {
      act: 'add',
      url: 'https://shop.example/events',
      event: ['message.received'],
    });
    assert.match(hook.text, /whsec_/);
    assert.match((await client.get('/console/webhooks')).text, /shop\.example/);
    const audit = await client.get('/console/audit');
    for (const action of ['token add', 'token revoke', 'webhook add']) assert.ok(audit.text.includes(action), action);
    const csv = await client.get('/console/audit.csv');
    assert.match(csv.headers.get('content-disposition') ?? '', /audit\.csv/);
    assert.match(csv.text, /console operator,ann/);
    const filtered = await client.get('/console/audit?actor=ann&action=revoke&from=2020-01-01');
    assert.match(filtered.text, /token revoke/);
    assert.doesNotMatch(filtered.text, /webhook add/);
    const filteredCsv = await client.get('/console/audit.csv?actor=ann&action=revoke');
    assert.equal(filteredCsv.text.trim().split('\n').length, 2);
    assert.match((await client.get('/console/audit?to=2020-01-01')).text, /Nothing matches/);
  });

  test('the overview names messages that wait for a connector that does not exist', async (t) => {
    const { api, client } = await opened(t);
    const { database } = api.services;
    const way = { kind: 'loopback', isDefault: true };
    await act(api, 'connector put', { params: { name: 'way' }, body: way });
    await act(api, 'message send', { params, body: { recipients: ['+27825550201'], text: 'Hi' } });
    assert.match((await client.get('/console/')).text, /Nothing needs your attention now/);
    await database.run(sql('update carrier_connector set is_default = 0'), {});
    assert.match((await client.get('/console/')).text, /No connector is the default\.<.*1 message waits\./);
    await database.run(sql("update account set connector = 'gone'"), {});
    assert.match((await client.get('/console/')).text, /The connector gone does not exist\.<.*1 message waits\./);
  });
});
