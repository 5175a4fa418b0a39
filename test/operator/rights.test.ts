import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { commandActor } from '../../src/commands/operator.ts';
import { actorOf } from '../../src/console/acting.ts';
import type { Action, Example } from '../../src/operator/action.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { type Actor, accountScopes, type Scope, scopes } from '../../src/operator/actor.ts';
import { readInput } from '../../src/operator/input.ts';
import { openapi } from '../../src/operator/openapi.ts';
import { perform } from '../../src/operator/perform.ts';
import { engines, onOneEngine } from '../support/engines.ts';
import { type CallOptions, type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { isProof } from '../support/proof.ts';

/**
 * All actions × all kinds of callers. What is expected is written in the declaration of an action:
 * `scope`, `needs`, `needsFactor`, `endless`, `accountTokens` and `customers`.
 */

/** Inputs that need more than the example of the action does. */
const FURTHER: Readonly<Record<string, readonly Example[]>> = {
  'account add': [{ body: { username: 'new-one' } }, { body: { username: 'new-two', helpAnswer: 'Call us.' } }],
  'account change': [{ params: { username: 'acme' }, body: { stopAnswer: 'You get no more messages.' } }],
  'queue decide': [{ body: { decision: 'submit-again' } }],
  'message decide': [{ params: { username: 'acme', id: '2001' }, body: { decision: 'submit-again' } }],
  'account sign-in-link': [{ params: { username: 'acme' }, body: { resetSecondFactor: true } }],
  'operator sign-in-link': [{ params: { name: 'ann' }, body: { resetSecondFactor: true } }],
  'inbox change-many': [{ params: { username: 'acme' }, body: { ids: ['1001'], change: 'delete' } }],
  'message change-many': [{ params: { username: 'acme' }, body: { ids: ['2001'], change: 'delete' } }],
  'webhook add': [{ body: { url: 'https://shop.example/', events: ['message.received'], full: true } }],
  'message send': [
    {
      params: { username: 'acme' },
      body: { recipients: ['+27825550201'], template: 'Hello ((first name))', fromContacts: true },
    },
  ],
  'connector put': [
    { params: { name: 'thief' }, body: { kind: 'kannel-box', config: { host: 'kannel.example' }, isDefault: true } },
  ],
  'token add': [
    ...scopes.map((scope) => ({ body: { name: 'x', scopes: [scope] } })),
    { body: { name: 'x', scopes: ['contacts'], username: 'acme' } },
  ],
  'account-token add': accountScopes.map((scope) => ({
    params: { username: 'acme' },
    body: { name: 'x', scopes: [scope] },
  })),
};

interface Case {
  readonly action: Action;
  readonly input: Example;
  readonly needed: readonly Scope[];
  readonly needsFactor: boolean;
  readonly isEndless: boolean;
}

const rawOf = ({ params = {}, query = {}, body = {} }: Example) => ({
  params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
  query,
  body,
  upload: new Uint8Array(),
});

const cases: readonly Case[] = actions.flatMap((action) =>
  [action.example, ...(FURTHER[action.name] ?? [])].map((input) => {
    const read = readInput(action, rawOf(input));
    const needed = [...(action.scope === null ? [] : [action.scope]), ...(action.needs?.scopes(read) ?? [])];
    const isEndless = action.endless?.isMade(read) ?? false;
    return { action, input, needed, needsFactor: action.needsFactor?.(read) ?? false, isEndless };
  }),
);

const mayToken = ({ action, needed, needsFactor }: Case, kind: Actor['kind'], held: readonly Scope[]): boolean =>
  !needsFactor && (kind === 'operator' || action.accountTokens === true) && needed.every((each) => held.includes(each));

const pathOf = ({ action: { path }, input: { params = {}, query } }: Case): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  return query ? `${filled}?${new URLSearchParams(query as Record<string, string>)}` : filled;
};

/** An upload without a row is refused, but not for a lack of rights. */
function contentOf({ action, input }: Case): CallOptions {
  if (action.upload) return { text: 'x', headers: { 'Content-Type': action.upload.mediaType } };
  return action.body ? { body: input.body ?? {} } : {};
}

const caseName = ({ action, input }: Case): string => `${action.name} ${JSON.stringify(input.body ?? {})}`;

test('every action whose answer has a credential declares the rights of the credential', () => {
  const fieldsOf = ({ output }: Action): string[] =>
    Object.keys((output as { shape?: Record<string, unknown> } | null)?.shape ?? {});
  const giving = actions.filter((action) =>
    fieldsOf(action).some((field) => ['token', 'link', 'userId'].includes(field)),
  );
  assert.deepEqual(
    giving.filter(({ needs }) => !needs).map(({ name }) => name),
    [],
  );
  assert.ok(giving.length >= 7, String(giving.length));
});

test('every action whose answer has a credential is refused to a token that expires, or gives the credential the same expiry', () => {
  const fieldsOf = ({ output }: Action): string[] =>
    Object.keys((output as { shape?: Record<string, unknown> } | null)?.shape ?? {});
  const lasting = actions.filter(
    (action) => !action.endless && fieldsOf(action).some((field) => ['token', 'link', 'userId'].includes(field)),
  );
  // A new account has nothing in it yet; a token gets the end of the token that makes it.
  assert.deepEqual(
    lasting.map(({ name }) => name),
    ['account add', 'token add', 'account-token add'],
  );
});

test('the OpenAPI document names the scopes that each action needs', () => {
  const { paths } = openapi('1') as { paths: Record<string, Record<string, { description: string }>> };
  for (const { needs, endless, path, method } of actions) {
    const description = paths[path]?.[method.toLowerCase()]?.description ?? '';
    for (const { says } of [needs, endless].filter((each) => each !== undefined)) {
      assert.ok(description.includes(says), path);
    }
  }
});

test('every declared right is tested with an input that needs it', () => {
  for (const { name } of actions.filter(({ needs }) => needs)) {
    assert.ok(
      cases.some(({ action, needed }) => action.name === name && needed.length > 1),
      name,
    );
  }
  for (const { name } of actions.filter(({ endless }) => endless)) {
    assert.ok(
      cases.some(({ action, isEndless }) => action.name === name && isEndless),
      name,
    );
  }
  for (const { name } of actions.filter(({ needsFactor }) => needsFactor)) {
    assert.ok(
      cases.some((each) => each.action.name === name && each.needsFactor),
      name,
    );
  }
});

onOneEngine('rights', (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
    await api.call('POST', '/operators', { body: { name: 'ann' } });
  });
  after(() => api.stop());

  const callers: [string, Actor['kind'], readonly Scope[], string | undefined][] = [
    ...scopes.map((scope) => [`an operator's token with ${scope}`, 'operator', [scope], undefined] as const),
    ["an operator's token with every scope", 'operator', scopes, undefined] as const,
    ...accountScopes.map((scope) => [`the account's token with ${scope}`, 'account', [scope], 'acme'] as const),
    ["the account's token with all it may have", 'account', accountScopes, 'acme'] as const,
  ].map((each) => [...each]);

  /** Outside of the proof a token with one scope tries every so-manyth case, and those with all scopes try all. */
  const SHARE = 5;
  // Whether a scope suffices is decided without the database, so one engine tries each scope alone. It is a few thousand calls.
  const tried = engine === engines[0] ? callers : callers.filter(([, , held]) => held.length > 1);
  for (const [place, [name, kind, held, username]] of tried.entries()) {
    test(`${name} may do what the declarations say, and nothing else`, async () => {
      const { token } = await api.addToken(held, username);
      const isTried = (index: number) => isProof || held.length > 1 || index % SHARE === place % SHARE;
      for (const each of cases.filter((_, index) => isTried(index))) {
        const { action } = each;
        const answer = await api.call(action.method, pathOf(each), { token, ...contentOf(each) });
        const isRefused = answer.status === 403;
        assert.equal(!isRefused, mayToken(each, kind, held), `${caseName(each)}: ${answer.status} ${answer.text}`);
        assert.notEqual(answer.status, 401, caseName(each));
        assert.ok(answer.status < 500, `${caseName(each)}: ${answer.text}`);
        if (action.name === 'account disable' && !isRefused) await api.call('POST', '/accounts/acme/enable');
      }
    });
  }

  const endingToken = async (more: object = {}) => {
    const expiresAt = new Date(api.clock.now + 3_600_000).toISOString();
    const body = { name: 'short', scope: scopes, expiresAt, ...more };
    return (await api.call('POST', '/tokens', { body })).json.token as string;
  };

  test('a token that expires may do what the declarations say, and creates nothing that outlives it', async () => {
    const token = await endingToken();
    for (const each of cases) {
      const { action, isEndless } = each;
      const answer = await api.call(action.method, pathOf(each), { token, ...contentOf(each) });
      const may = mayToken(each, 'operator', scopes) && !isEndless;
      assert.equal(answer.status !== 403, may, `${caseName(each)}: ${answer.status} ${answer.text}`);
      if (action.name === 'account disable') await api.call('POST', '/accounts/acme/enable');
      if (action.name === 'operator remove') await api.call('POST', '/operators/ann/enable');
    }
  });

  test('the token of an account sees nothing of another account', async () => {
    const { token } = await api.addToken(accountScopes, 'globex');
    for (const each of cases.filter(({ action }) => action.accountTokens)) {
      const answer = await api.call(each.action.method, pathOf(each), { token, ...contentOf(each) });
      assert.equal(answer.status, 404, `${caseName(each)}: ${answer.text}`);
    }
  });

  const isForbidden = async ({ action, input }: Case, actor: Actor): Promise<boolean> => {
    // Only the answer about rights counts, so the work is rolled back.
    const undo = async () => {
      throw new Problem('conflict', 'undone');
    };
    try {
      await perform(api.services, action, rawOf(input), actor, undo);
    } catch (thrown) {
      assert.ok(thrown instanceof Problem && thrown.kind !== 'internal', `${action.name}: ${String(thrown)}`);
      return thrown.kind === 'forbidden';
    }
    return false;
  };

  test('the console and the machine may do what the declarations say', async () => {
    const operator = actorOf({ kind: 'operator', id: 1n, name: 'ann' }, '127.0.0.1');
    const customer = actorOf({ kind: 'account', id: 1n, name: 'acme' }, '127.0.0.1');
    for (const each of cases) {
      const { action, needsFactor } = each;
      assert.equal(await isForbidden(each, commandActor()), false, `machine: ${caseName(each)}`);
      assert.equal(await isForbidden(each, operator), needsFactor, `operator: ${caseName(each)}`);
      const fresh = { ...operator, hasFreshFactor: true };
      assert.equal(await isForbidden(each, fresh), false, `with a fresh second factor: ${caseName(each)}`);
      const mayCustomer = action.accountTokens === true || action.customers === true;
      assert.equal(await isForbidden(each, customer), !mayCustomer, `customer: ${caseName(each)}`);
    }
  });

  test('a token with only the scope accounts can create no operator, no link and no user_id', async () => {
    const { token } = await api.addToken(['accounts']);
    const tries: [string, object][] = [
      ['/operators', { name: 'mallory' }],
      ['/operators/ann/enable', {}],
      ['/operators/ann/sign-in-link', {}],
      ['/operators/ann/sign-in-link', { resetSecondFactor: true }],
      ['/accounts/acme/sign-in-link', {}],
      ['/accounts/acme/user-ids', {}],
      ['/accounts/acme/tokens', { name: 'x', scopes: ['messages:read'] }],
      ['/tokens', { name: 'x', scopes: ['messages:read'] }],
      ['/accounts', { username: 'rich', credits: '1000000' }],
    ];
    for (const [path, body] of tries) {
      const answer = await api.call('POST', path, { token, body });
      assert.equal(answer.status, 403, `${path}: ${answer.text}`);
    }
    const names = (await api.call('GET', '/operators')).json.items.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, ['ann']);
  });

  test('a token that expires can create no token that outlives it', async () => {
    const ends = new Date(api.clock.now + 60_000).toISOString();
    const { token } = (
      await api.call('POST', '/tokens', { body: { name: 'short', scopes: ['accounts', 'contacts'], expiresAt: ends } })
    ).json;
    const make = (path: string, more: object) =>
      api.call('POST', path, { token, body: { name: 'x', scopes: ['contacts'], ...more } });
    const later = new Date(api.clock.now + 120_000).toISOString();
    assert.equal((await make('/tokens', { expiresAt: later })).status, 400);
    assert.equal((await make('/tokens', {})).json.expiresAt, ends);
    assert.equal((await make('/accounts/acme/tokens', {})).json.expiresAt, ends);
  });

  test('a token that expires can create no user_id, sign-in link, operator or webhook with texts', async () => {
    const token = await endingToken();
    const events = ['message.received'];
    const tries: [string, object][] = [
      ['/accounts/acme/user-ids', {}],
      ['/accounts/acme/user-ids', { revokeOthers: true }],
      ['/accounts/acme/sign-in-link', {}],
      ['/operators', { name: 'mallory' }],
      ['/operators/ann/enable', {}],
      ['/operators/ann/sign-in-link', {}],
      ['/webhooks', { url: 'https://mallory.example/', events, full: true }],
    ];
    for (const [path, body] of tries) {
      const answer = await api.call('POST', path, { token, body });
      assert.equal(answer.status, 403, `${path}: ${answer.text}`);
      assert.match(answer.json.detail, /The token expires, but what this creates would not/);
    }
    const idsOnly = { url: 'https://shop.example/', events };
    assert.equal((await api.call('POST', '/webhooks', { token, body: idsOnly })).status, 201);
  });

  test('a token without messages:read cannot route incoming messages to an account that it creates', async () => {
    const { token } = await api.addToken(['accounts', 'gateway']);
    const username = `spy ${engine.name}`;
    assert.equal((await api.call('POST', '/accounts', { token, body: { username } })).status, 201);
    const tries: [string, string, object][] = [
      ['PUT', '/routes/spy', { username, priority: 1_000 }],
      ['POST', '/unrouted/replay', {}],
      ['POST', '/unrouted/1152921504606846976/assign', { username }],
    ];
    for (const [method, path, body] of tries) {
      const answer = await api.call(method, path, { token, body });
      assert.deepEqual([answer.status, answer.json.detail], [403, 'The token lacks the scope messages:read.'], path);
    }
  });

  test('a token without messages:send can set no automatic answer, and can send no message again', async () => {
    const { token } = await api.addToken(['accounts', 'gateway', 'messages:read']);
    const tries: [string, string, object][] = [
      ['PATCH', '/accounts/acme', { helpWords: ['INFO'], helpAnswer: 'Buy at mallory.example' }],
      ['POST', '/accounts', { username: 'answering', stopAnswer: 'Buy at mallory.example' }],
      ['POST', '/accounts/acme/messages/activate', {}],
      ['POST', '/accounts/acme/messages/2001/decide', { decision: 'submit-again' }],
    ];
    for (const [method, path, body] of tries) {
      const answer = await api.call(method, path, { token, body });
      assert.deepEqual([answer.status, answer.json.detail], [403, 'The token lacks the scope messages:send.'], path);
    }
    const without = { helpWords: ['INFO'], helpAnswer: null };
    assert.equal((await api.call('PATCH', '/accounts/acme', { token, body: without })).status, 200);
  });

  test('a token that may send but not read learns neither the recipient nor the characters of a message that it sends again', async () => {
    const { token } = await api.addToken(['messages:send'], 'acme');
    const body = { recipient: '+27825550209', text: 'Ω', status: 'DELIVERED' };
    const { id } = (await api.call('POST', '/accounts/acme/messages/record', { body })).json;
    const resend = (options: CallOptions) => api.call('POST', `/accounts/acme/messages/${id}/resend`, options);
    const answer = await resend({ token });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual([answer.json.accepted[0].recipient, answer.json.ucs2Characters], [null, []]);
    assert.equal((await resend({})).json.accepted[0].recipient, body.recipient);
  });

  test('no token resets the second factor of an operator, not even one with every scope', async () => {
    const body = { resetSecondFactor: true };
    const answer = await api.call('POST', '/operators/ann/sign-in-link', { body });
    assert.equal(answer.status, 403);
    assert.match(answer.json.detail, /code of the second factor, or by a command on the machine/);
    assert.equal((await api.call('POST', '/operators/ann/sign-in-link', { body: {} })).status, 201);
  });

  test('a token that may read messages cannot delete them, and one that may not read them is shown none', async () => {
    const { token: reading } = await api.addToken(['messages:read'], 'acme');
    const { token: deleting } = await api.addToken(['messages:delete'], 'acme');
    const { token: gateway } = await api.addToken(['gateway']);
    const received = await api.call('POST', '/accounts/acme/inbox', {
      body: { gatewayId: 'known', text: 'a secret text', sender: '+27825550201' },
    });
    const { id } = received.json;
    assert.equal((await api.call('DELETE', `/accounts/acme/inbox/${id}`, { token: reading })).status, 403);
    const again = await api.call('POST', '/accounts/acme/inbox', {
      token: gateway,
      body: { gatewayId: 'known', text: 'guessed' },
    });
    assert.deepEqual([again.status, again.json.message], [200, null]);
    const [sent] = (await api.call('GET', '/accounts/acme/messages')).json.items;
    const status = await api.call('POST', `/accounts/acme/messages/${sent.id}/status`, {
      token: gateway,
      body: { status: sent.status },
    });
    assert.deepEqual([status.status, status.json.text, status.json.recipient], [200, null, null]);
    assert.equal((await api.call('DELETE', `/accounts/acme/inbox/${id}`, { token: deleting })).status, 200);
  });

  test('a connector that is put again without its secret has none, so that no stored secret goes to a new address', async () => {
    const { token } = await api.addToken(['gateway', 'messages:read']);
    const config = { host: 'kannel.example', adminPort: 13_000, adminPassword: 'stored-secret' };
    const put = (changed: object) =>
      api.call('PUT', '/connectors/box', { token, body: { kind: 'kannel-box', config: changed } });
    assert.equal((await put(config)).json.config.adminPassword, '…');
    const moved = await put({ host: 'elsewhere.example' });
    assert.deepEqual([moved.status, moved.json.config.adminPassword], [200, undefined]);
  });
});
