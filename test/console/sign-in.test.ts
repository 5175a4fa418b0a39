import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { act, createConsoleClient, linkFor, signedIn } from '../support/console-client.ts';
import { engines } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

const sqlite = engines[0] as (typeof engines)[number];
const PASSWORD = 'eleven purple rivers';

describe('signing in to the console', () => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(sqlite);
    await act(api, 'account add', { body: { username: 'other' } });
  });
  after(() => api.stop());

  test('a visitor who is not signed in is led to the sign-in page, and back afterwards', async () => {
    const client = createConsoleClient(api.address);
    const first = await client.get('/console/inbox?q=a');
    assert.equal(first.status, 303);
    assert.equal(first.location, '/console/sign-in?next=%2Fconsole%2Finbox%3Fq%3Da');
    const page = await client.get(first.location as string);
    assert.match(page.text, /name="next" value="\/console\/inbox\?q&#61;a|name="next" value="\/console\/inbox\?q=a"/);
    assert.match(page.text, /You have no password yet/);
  });

  test('a page whose operator was idle for too long says that the session has ended, and leads back', async () => {
    const client = await signedIn(api, { operator: 'idle' });
    api.clock.now += 31 * 60_000;
    const { status, location } = await client.get('/console/queue');
    assert.deepEqual([status, location], [303, '/console/sign-in?next=%2Fconsole%2Fqueue&ended=']);
    const { text } = await client.get(location as string);
    assert.match(text, /Your session has ended.*after 30 minutes/s);
    assert.match(text, /name="next" value="\/console\/queue"/);
  });

  test('a person who is signed in is not asked for a code', async () => {
    const client = await signedIn(api, { username: 'acme' });
    const { status, location } = await client.get('/console/sign-in/code');
    assert.deepEqual([status, location], [303, '/console/']);
  });

  test('a one-time link signs in once, by its button and not by opening the page', async () => {
    const path = await linkFor(api, { username: 'acme' });
    const client = createConsoleClient(api.address);
    for (let times = 0; times < 2; times += 1) assert.match((await client.get(path)).text, /This link signs in acme/);
    assert.equal((await client.post(path)).location, '/console/');
    assert.match((await client.get('/console/')).text, /Signed in as <strong>acme/);
    const again = await createConsoleClient(api.address).post(path);
    assert.equal(again.status, 404);
    assert.match(again.text, /no longer valid/);
  });

  test('the cookie is HttpOnly, Lax, for all paths, and without prefix on plain HTTP', async () => {
    const reply = await fetch(api.address + (await linkFor(api, { username: 'acme' })), {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'same-origin' },
      redirect: 'manual',
    });
    const [cookie = ''] = reply.headers.getSetCookie();
    assert.match(cookie, /^columba=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  });

  test('name and password sign in; every failure has the same text', async () => {
    const customer = await signedIn(api, { username: 'acme' });
    assert.equal((await customer.post('/console/access/password', { password: PASSWORD })).status, 303);
    const texts = new Set<string>();
    for (const fields of [
      { name: 'acme', password: 'wrong wrong wrong' },
      { name: 'nobody', password: PASSWORD },
      { name: 'acme', password: PASSWORD, kind: 'operator' },
    ]) {
      const { status, text } = await createConsoleClient(api.address).post('/console/sign-in', fields);
      assert.equal(status, 401);
      texts.add(/role="alert">.*?<p>([^<]+)</.exec(text)?.[1] ?? '');
    }
    assert.deepEqual([...texts], ['The name or the password is wrong.']);
    const client = createConsoleClient(api.address);
    const fields = { name: 'acme', password: PASSWORD, next: '/console/sent' };
    assert.equal((await client.post('/console/sign-in', fields)).location, '/console/sent');
  });

  test('a sign-in never leads to another site', async () => {
    for (const next of [
      'https://evil.example/',
      '//evil.example/',
      '/console//evil.example',
      '/console/\\evil',
      'javascript:1',
    ]) {
      const client = createConsoleClient(api.address);
      const fields = { name: 'acme', password: PASSWORD, next };
      assert.equal((await client.post('/console/sign-in', fields)).location, '/console/', next);
    }
  });

  test('a form of another site does nothing, whatever it sends', async () => {
    const customer = await signedIn(api, { username: 'acme' });
    const refused: Record<string, string>[] = [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site', Origin: api.address },
    ];
    for (const headers of refused) {
      const { status, text } = await customer.post('/console/templates', { text: 'planted' }, headers);
      assert.equal(status, 403);
      assert.match(text, /came from another web site/);
    }
    const bare = (headers: Record<string, string>) =>
      fetch(`${api.address}/console/templates`, {
        method: 'POST',
        body: new URLSearchParams({ text: 'planted' }),
        headers: { Cookie: customer.cookie, ...headers },
        redirect: 'manual',
      });
    assert.equal((await bare({})).status, 403);
    assert.equal((await bare({ Origin: 'https://evil.example' })).status, 403);
    assert.equal((await bare({ Origin: 'null' })).status, 403);
    assert.doesNotMatch((await customer.get('/console/templates')).text, /planted/);
    assert.equal((await bare({ Origin: api.address })).status, 303);
    assert.match((await customer.get('/console/templates')).text, /planted/);
  });

  test('reading a page of the console changes nothing, so an image of another site does nothing', async () => {
    const customer = await signedIn(api, { username: 'acme' });
    const count = async () =>
      (await act<{ items: unknown[] }>(api, 'audit list', { query: { limit: '500' } })).items.length;
    const before = await count();
    for (const path of [
      '/console/sign-out',
      '/console/templates',
      '/console/inbox',
      '/console/access',
      '/console/compose',
    ]) {
      await customer.get(path, { 'Sec-Fetch-Site': 'cross-site' });
    }
    assert.equal(await count(), before);
    assert.equal((await customer.get('/console/')).status, 200);
  });

  test('a sign-in ends the session before it, and sets a new cookie', async () => {
    const client = await signedIn(api, { username: 'other' });
    const planted = client.cookie;
    await client.post(await linkFor(api, { username: 'acme' }));
    assert.notEqual(client.cookie, planted);
    const thief = createConsoleClient(api.address);
    thief.cookie = planted;
    assert.equal((await thief.get('/console/')).status, 303);
  });

  test('a cookie is not valid after the sign-out', async () => {
    const client = await signedIn(api, { username: 'acme' });
    const thief = createConsoleClient(api.address);
    thief.cookie = client.cookie;
    assert.equal((await thief.get('/console/inbox')).status, 200);
    assert.equal((await client.post('/console/sign-out')).location, '/console/sign-in?out');
    assert.equal((await thief.get('/console/inbox')).status, 303);
    assert.equal((await thief.get('/console/inbox?part=rows')).status, 401);
  });

  test('a new password ends all other sessions, and the session that set it continues with another cookie', async () => {
    const [one, other] = [await signedIn(api, { username: 'other' }), await signedIn(api, { username: 'other' })];
    const before = one.cookie;
    await one.post('/console/access/password', { password: 'seven yellow mountains' });
    assert.notEqual(one.cookie, before);
    assert.equal((await one.get('/console/')).status, 200);
    assert.equal((await other.get('/console/')).status, 303);
  });

  test('broken cookies are no session', async () => {
    for (const cookie of [
      'columba=',
      'columba=x',
      `columba=${'x'.repeat(5_000)}`,
      'columba=%00',
      'columba',
      '=;;=',
      `columba=${'A'.repeat(43)}`,
    ]) {
      const client = createConsoleClient(api.address);
      client.cookie = cookie;
      assert.equal((await client.get('/console/inbox')).status, 303, cookie);
    }
  });

  test('a form that comes after the session has ended is kept in the sign-in page', async () => {
    const client = await signedIn(api, { username: 'acme' });
    client.cookie = '';
    const lost = await client.post('/console/templates', { text: 'half an\nhour of work' });
    assert.equal(lost.status, 401);
    assert.match(lost.text, /name="kept.text">half an\nhour of work</);
    const fields = {
      name: 'acme',
      password: PASSWORD,
      resume: '/console/templates',
      'kept.text': 'half an\nhour of work',
    };
    const resumed = await client.post('/console/sign-in', fields);
    assert.equal(resumed.status, 200);
    assert.match(resumed.text, /action="\/console\/templates"><textarea hidden name="text">half an\nhour of work</);
  });

  test('a long text of any language is kept over the sign-in, and the page says when it was too long', async () => {
    const headers = { 'Sec-Fetch-Site': 'same-origin' };
    const post = async (path: string, fields: Record<string, string>) => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      const reply = await fetch(api.address + path, { method: 'POST', headers, body });
      return { status: reply.status, text: await reply.text() };
    };
    const text = 'ж'.repeat(12_000);
    const lost = await post('/console/templates', { text });
    assert.equal(lost.status, 401);
    assert.match(lost.text, /action="\/console\/sign-in" enctype="multipart\/form-data"/);
    assert.ok(lost.text.includes(`name="kept.text">${text}<`));
    const fields = { name: 'acme', password: PASSWORD, resume: '/console/templates', 'kept.text': text };
    const resumed = await post('/console/sign-in', fields);
    assert.equal(resumed.status, 200);
    assert.match(resumed.text, /action="\/console\/templates" enctype="multipart\/form-data"/);
    const tooLong = await post('/console/templates', { text: 'ж'.repeat(30_000) });
    assert.equal(tooLong.status, 401);
    assert.match(tooLong.text, /too long to be kept/);
    assert.doesNotMatch(tooLong.text, /name="resume"|name="kept/);
  });

  test('over plain HTTP from elsewhere the sign-in page explains TLS and takes no password', async () => {
    const { hostname, port } = new URL(api.address);
    const { request } = await import('node:http');
    const status = await new Promise<[number, string]>((resolve, reject) => {
      const sent = request({ hostname, port, path: '/console/sign-in', headers: { Host: 'sms.example' } }, (reply) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        reply.on('end', () => resolve([reply.statusCode ?? 0, text]));
      });
      sent.on('error', reject).end();
    });
    assert.equal(status[0], 403);
    assert.match(status[1], /needs HTTPS/);
    assert.doesNotMatch(status[1], /type="password"/);
  });
});

describe('access to pages of others', () => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(sqlite);
    await act(api, 'account add', { body: { username: 'other' } });
  });
  after(() => api.stop());

  test('a customer gets 404 for pages of another account and of operators', async () => {
    const other = await signedIn(api, { username: 'other' });
    for (const path of [
      '/console/accounts',
      '/console/accounts/acme/',
      '/console/accounts/acme/inbox',
      '/console/audit',
      '/console/tokens',
      '/console/operators',
      '/console/retention',
    ]) {
      assert.equal((await other.get(path)).status, 404, path);
    }
    const inbox = await other.get('/console/inbox');
    assert.match(inbox.text, /No message has arrived yet/);
    assert.equal((await other.get('/console/messages/2001')).status, 404);
  });

  test('a customer cannot act on what belongs to another account', async () => {
    const other = await signedIn(api, { username: 'other' });
    const done = await other.post('/console/inbox', { act: 'read', id: ['1003', '1004'] });
    assert.match(done.location ?? '', /notice=read&count=0/);
    assert.equal((await other.post('/console/contacts/101', { mobile: '+27825550999' })).status, 404);
  });

  test('pages have a strict policy and are stored nowhere', async () => {
    const customer = await signedIn(api, { username: 'acme' });
    const { headers, text } = await customer.get('/console/inbox');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'same-origin');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; style-src 'self'; script-src 'self'; /);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.doesNotMatch(text, /<script>|\son\w+=|\sstyle=|javascript:/);
    const [script = ''] = /\/console\/assets\/console-\w+\.js/.exec(text) ?? [];
    const asset = await customer.get(script);
    assert.match(asset.headers.get('cache-control') ?? '', /immutable/);
  });
});
