import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { createConsole } from '../../src/console/app.ts';
import { createPageSemaphore } from '../../src/console/page-semaphore.ts';
import { issueLink } from '../../src/domain/access/sign-in.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createReceived } from '../../src/domain/messages/received.ts';
import { createSent } from '../../src/domain/messages/sent.ts';
import { domainOf } from '../../src/operator/domain.ts';
import { joined } from '../../src/store/transactions.ts';
import { act, consoleRequest, unmarked } from '../support/console-client.ts';
import { counting } from '../support/counted-database.ts';
import { engines, onEveryEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** What a page costs, and that it does not depend on how many messages an account has. */

async function fill({ services: { database, now } }: OperatorApi, username: string, count: number): Promise<void> {
  const account = await accountId(database, username);
  await database.transaction(account, async (queries) => {
    const within = joined(database, queries);
    const received = createReceived(within, now, { wake() {} });
    for (let number = 0; number < count; number += 1) {
      const message = { gatewayId: null, sender: null, shortCode: null, receivedAt: now() + number };
      await received.receive(account, { ...message, text: `number ${number}` });
      const sent = { reference: null, recipient: '+27825550299', text: 'x', status: 'DELIVERED', sentAt: now() };
      await createSent(within, now).record(account, sent);
    }
  });
}

onEveryEngine('cost of pages', (engine) => {
  test('a page reads as many rows for an account with many messages as for one with a single page', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    const costs: Record<string, [number, number][]> = {};
    for (const [username, count] of [
      ['few', 60],
      ['many', 700],
    ] as const) {
      await act(api, 'account add', { body: { username } });
      await fill(api, username, count);
      const { database, read } = counting(api.services.database);
      const console = createConsole({
        services: { ...api.services, database },
        admitClient: () => {},
        report: () => {},
      });
      const owner = { kind: 'account', id: await accountId(database, username), name: username } as const;
      const { token } = await issueLink(database, owner, api.clock.now);
      const ask = (path: string, init: RequestInit = {}) => {
        const request = new Request(`http://localhost${path}`, init);
        return console(consoleRequest(request));
      };
      const signedIn = await ask(`/console/sign-in/${token}`, {
        method: 'POST',
        headers: { 'Sec-Fetch-Site': 'none' },
      });
      const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      for (const path of [
        '/console/',
        '/console/inbox',
        '/console/sent',
        '/console/inbox?part=rows',
        '/console/?part=counts',
      ]) {
        Object.assign(read, { statements: 0, rows: 0 });
        const reply = await ask(path, { headers: { cookie } });
        assert.equal(reply.status, 200);
        await reply.text();
        costs[path] = [...(costs[path] ?? []), [read.statements, read.rows]];
      }
    }
    for (const [path, [few, many]] of Object.entries(costs)) {
      if (path.startsWith('/console/?') || path === '/console/') {
        // How many failed today is counted among the newest 1,000, unread messages of people too.
        assert.ok((many?.[1] ?? 0) <= 2_400, `${path}: ${many?.[1]}`);
      } else assert.deepEqual(many, few, path);
    }
  });
});

describe('acting on all that match', () => {
  test('the words of a search are looked up once for an act on more rows than one batch has', async (t) => {
    const api = await startOperatorApi(engines[0] as (typeof engines)[number], 'empty');
    t.after(() => api.stop());
    const { database, read } = counting(api.services.database);
    const { now } = api.services;
    const console = createConsole({ services: { ...api.services, database }, admitClient: () => {}, report: () => {} });
    const lookups: Record<string, number[]> = {};
    for (const [username, count] of [
      ['few', 3],
      ['many', 1_100],
    ] as const) {
      await act(api, 'account add', { body: { username } });
      await fill(api, username, count);
      const id = await accountId(database, username);
      const { token } = await issueLink(database, { kind: 'account', id, name: username }, now());
      const post = (path: string, fields: Record<string, string>, cookie = '') => {
        const headers = { 'Sec-Fetch-Site': 'same-origin', cookie };
        const body = new URLSearchParams(fields);
        return console(consoleRequest(new Request(`http://localhost${path}`, { method: 'POST', body, headers })));
      };
      const signedIn = await post(`/console/sign-in/${token}`, {});
      const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      while (!(await domainOf(api.services).search.isComplete(id)));
      read.byName.clear();
      const given = { act: 'read', scope: 'all', snapshot: '1000000', q: 'number' };
      await (await post('/console/inbox', given, cookie)).text();
      const counts = createReceived(database, now, { wake() {} });
      assert.equal(await counts.countUnread(id), 0n, username);
      lookups[username] = ['search.nextToken', 'search.countEntries'].map((name) => read.byName.get(name) ?? 0);
    }
    assert.ok((lookups.few?.[0] ?? 0) > 0);
    assert.deepEqual(lookups.many, lookups.few);
  });

  test('an act on all that match stops after the current batch when its page is left', async (t) => {
    const api = await startOperatorApi(engines[0] as (typeof engines)[number], 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { username: 'acme' } });
    await fill(api, 'acme', 1_600);
    const { database, now } = api.services;
    const console = createConsole({ services: api.services, admitClient: () => {}, report: () => {} });
    const owner = { kind: 'account', id: await accountId(database, 'acme'), name: 'acme' } as const;
    const { token } = await issueLink(database, owner, now());
    const post = (path: string, cookie: string, fields: Record<string, string> = {}) => {
      const headers = { 'Sec-Fetch-Site': 'same-origin', cookie };
      const request = new Request(`http://localhost${path}`, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers,
      });
      return console(consoleRequest(request));
    };
    const cookie = (await post(`/console/sign-in/${token}`, '')).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const reply = await post('/console/inbox', cookie, { act: 'read', scope: 'all', snapshot: '1000000' });
    const reader = (reply.body ?? assert.fail('no body')).getReader();
    const decoder = new TextDecoder();
    for (let text = ''; !unmarked(text).includes('500 of 1,600 done'); )
      text += decoder.decode((await reader.read()).value);
    await reader.cancel();
    const { unread } = await unreadOf(api);
    assert.ok(unread === 1_100 || unread === 600, String(unread));
  });
});

async function unreadOf({ services: { database } }: OperatorApi): Promise<{ unread: number }> {
  const inbox = createReceived(database, () => 0, { wake() {} });
  return { unread: Number(await inbox.countUnread(await accountId(database, 'acme'))) };
}

describe('pages that are made at a time', () => {
  test('the number of pages that are made at a time is bounded, those beyond the queue are refused, and every place is released', async () => {
    const whenAdmitted = createPageSemaphore({ sleep: async () => {}, atOnce: 2, waitingMax: 3 });
    let [running, most] = [0, 0];
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    };
    const results = await Promise.allSettled(Array.from({ length: 7 }, () => whenAdmitted(work)));
    assert.equal(most, 2);
    const refused = results.filter((each) => each.status === 'rejected').map(({ reason }) => reason);
    assert.equal(refused.length, 2);
    assert.ok(refused.every((reason) => reason instanceof Problem && reason.kind === 'too-many'));
    await whenAdmitted(work);
  });
});

describe('pages beside calls of the contract', () => {
  test('pages wait while calls of the contract wait, and are refused when calls would be', async () => {
    const loads: ('free' | 'behind' | 'overloaded')[] = ['behind', 'behind', 'free'];
    let slept = 0;
    const sleep = async () => {
      slept += 1;
    };
    const whenAdmitted = createPageSemaphore({ contractLoad: () => loads.shift() ?? 'free', sleep });
    assert.equal(await whenAdmitted(async () => 'page'), 'page');
    assert.equal(slept, 1);
    const refused = createPageSemaphore({ contractLoad: () => 'overloaded', sleep });
    await assert.rejects(
      refused(async () => 'page'),
      { kind: 'too-many' },
    );
    slept = 0;
    const late = createPageSemaphore({ contractLoad: () => 'behind', sleep });
    await assert.rejects(
      late(async () => 'page'),
      { kind: 'too-many' },
    );
    assert.equal(slept, 400);
  });

  test('pages are refused with Retry-After while the contract sheds load, and answered afterwards', async (t) => {
    const api = await startOperatorApi(engines[0] as (typeof engines)[number], 'empty');
    t.after(() => api.stop());
    let load: 'free' | 'overloaded' = 'overloaded';
    const console = createConsole({
      services: api.services,
      admitClient: () => {},
      report: () => {},
      contractLoad: () => load,
    });
    const ask = () => console(consoleRequest(new Request('http://localhost/console/sign-in')));
    const refused = await ask();
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
    load = 'free';
    assert.equal((await ask()).status, 200);
  });
});

describe('two nodes without sticky sessions', () => {
  test('a session of one node is valid at the other, and ends at both with the sign-out', async (t) => {
    const api = await startOperatorApi(engines[0] as (typeof engines)[number]);
    t.after(() => api.stop());
    const nodes = [0, 1].map(() => createConsole({ services: api.services, admitClient: () => {}, report: () => {} }));
    let turn = 0;
    const ask = (path: string, init: RequestInit = {}) => {
      turn += 1;
      const request = new Request(`https://sms.example${path}`, init);
      return (nodes[turn % 2] as (typeof nodes)[number])(consoleRequest(request));
    };
    const database = api.services.database;
    const owner = { kind: 'account', id: await accountId(database, 'acme'), name: 'acme' } as const;
    const { token } = await issueLink(database, owner, api.clock.now);
    const own = { 'Sec-Fetch-Site': 'same-origin' };
    const first = await ask(`/console/sign-in/${token}`, { method: 'POST', headers: own });
    const [set = ''] = first.headers.getSetCookie();
    assert.match(set, /^__Host-columba=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/);
    const cookie = set.split(';')[0] ?? '';
    for (let times = 0; times < 4; times += 1)
      assert.equal((await ask('/console/inbox', { headers: { cookie } })).status, 200);
    await ask('/console/sign-out', { method: 'POST', headers: { cookie, ...own } });
    for (let times = 0; times < 2; times += 1)
      assert.equal((await ask('/console/inbox', { headers: { cookie } })).status, 303);
  });
});
