import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Problem } from '../../../src/base/problem.ts';
import type { Owner } from '../../../src/domain/access/owners.ts';
import { SESSIONS_MAX, type Session } from '../../../src/domain/access/sessions.ts';
import { createSignIn, LINK_MS, type SignedIn } from '../../../src/domain/access/sign-in.ts';
import { codeOf, fromBase32, STEP_MS, stepOf } from '../../../src/domain/access/totp.ts';
import { openActions } from '../../support/actions.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql, TABLES } from '../../support/opened-database.ts';

const PASSWORD = 'correct horse battery';
const HOME = { address: '192.0.2.7', agent: 'a browser' };
const ELSEWHERE = { address: '198.51.100.9', agent: 'another browser' };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function open(engine: Engine, t: TestContext) {
  const bench = await openActions(engine, t);
  const slept: number[] = [];
  const dependencies = { now: () => bench.clock.now, sleep: async (ms: number) => void slept.push(ms) };
  const signIn = createSignIn(bench.database, dependencies);
  const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1);
  const operator = async (name: string) => tokenOf((await bench.run('operator add', { body: { name } })).link);
  const customer = async (username: string) =>
    tokenOf((await bench.of(username, 'account sign-in-link', { body: {} })).link);
  /** An operator with a password, signed in. */
  const ann = async (): Promise<SignedIn> => {
    const { session } = await signIn.redeemLink(await operator('ann'), HOME);
    return signIn.setPassword(session, PASSWORD, HOME);
  };
  const audited = async () =>
    (await bench.run('audit list')).items.map((entry: { action: string; actorName: string }) => [
      entry.action,
      entry.actorName,
    ]);
  return { ...bench, slept, dependencies, signIn, operator, customer, ann, audited };
}

const refusal = async (work: Promise<unknown>): Promise<Problem> => {
  const thrown = await work.then(
    () => assert.fail('it was not refused'),
    (reason) => reason,
  );
  assert.ok(thrown instanceof Problem, String(thrown));
  return thrown;
};

onEveryEngine('signing in', (engine) => {
  test('a link opens one session, once, within 24 hours, whichever process is asked', async (t) => {
    const { signIn, operator, customer, account, clock, database, dependencies, run } = await open(engine, t);
    await account('acme');
    const other = createSignIn(database, dependencies);
    const token = await operator('ann');
    assert.equal((await other.ownerOfLink(token))?.name, 'ann', 'looking at it does not use it up');
    const both = await Promise.allSettled([signIn.redeemLink(token, HOME), other.redeemLink(token, HOME)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.equal((await refusal(signIn.redeemLink(token, HOME))).kind, 'denied');
    const late = await customer('acme');
    clock.now += LINK_MS;
    assert.equal((await refusal(signIn.redeemLink(late, HOME))).kind, 'denied');
    const first = await customer('acme');
    const second = await customer('acme');
    assert.equal((await refusal(signIn.redeemLink(first, HOME))).kind, 'denied', 'a newer one makes it void');
    const { session, secret } = await signIn.redeemLink(second, HOME);
    assert.deepEqual([session.owner.kind, session.owner.name, session.awaitsCode], ['account', 'acme', false]);
    assert.equal((await other.sessionOf(secret, HOME.address))?.id, session.id);
    const { lastLoginAt } = await run('account show', { params: { username: 'acme' } });
    assert.equal(lastLoginAt, new Date(clock.now).toISOString());
    for (const wrong of ['', 'x', `${token}x`]) assert.equal(await signIn.ownerOfLink(wrong), null);
  });

  test('a link that 20 requests redeem at once opens one session', async (t) => {
    const { signIn, operator } = await open(engine, t);
    const token = await operator('ann');
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => signIn.redeemLink(token, HOME)));
    const opened = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value.session] : []));
    assert.equal(opened.length, 1);
    const { owner } = opened[0] as (typeof opened)[0];
    assert.equal((await signIn.sessionsOf(owner)).length, 1);
  });

  test('no secret of a link, a session, a password or a code is in any table', async (t) => {
    const { signIn, operator, database, clock } = await open(engine, t);
    const token = await operator('ann');
    const first = await signIn.redeemLink(token, HOME);
    const { session, secret } = await signIn.setPassword(first.session, PASSWORD, HOME);
    const { secret: key } = await signIn.beginFactor(session.owner);
    const codes = await signIn.confirmFactor(session, codeOf(fromBase32(key), stepOf(clock.now)), HOME);
    assert.equal(codes.length, 10);
    const secrets = [token, first.secret, secret, PASSWORD, ...codes, ...codes.map((code) => code.replaceAll('-', ''))];
    for (const table of TABLES) {
      const rows = await database.all(sql<Record<string, never>, object>(`select * from ${table}`), {});
      const text = rows.map((row) => Object.values(row).join(' ')).join('\n');
      for (const each of secrets) assert.ok(!text.includes(each), `${table} holds a secret`);
    }
  });

  test('a session ends when it is idle, too old, revoked or its owner disabled', async (t) => {
    const { signIn, ann, clock, run, of, account, customer } = await open(engine, t);
    const { secret, session } = await ann();
    const isValid = async () => (await signIn.sessionOf(secret, HOME.address)) !== null;
    clock.now += 29 * MINUTE;
    assert.ok(await isValid());
    clock.now += 29 * MINUTE;
    assert.ok(await isValid(), 'each use counts');
    clock.now += 30 * MINUTE;
    assert.ok(!(await isValid()), 'idle');
    assert.deepEqual(await signIn.sessionsOf(session.owner), []);

    let current = await signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
      clock.now += 20 * MINUTE;
      assert.ok(await signIn.sessionOf(current.secret, HOME.address));
    }
    clock.now += 20 * MINUTE;
    assert.equal(await signIn.sessionOf(current.secret, HOME.address), null, 'too old');

    current = await signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    assert.ok(await signIn.endSession(current.session.owner, current.session.id));
    assert.equal(await signIn.sessionOf(current.secret, HOME.address), null, 'revoked');

    current = await signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    await run('operator remove', { params: { name: 'ann' } });
    assert.equal(await signIn.sessionOf(current.secret, HOME.address), null, 'disabled');
    assert.equal((await refusal(signIn.withPassword('operator', 'ann', PASSWORD, HOME))).kind, 'denied');
    await run('operator enable', { params: { name: 'ann' } });
    assert.equal(await signIn.sessionOf(current.secret, HOME.address), null, 'it stays ended');

    await account('acme');
    const held = await signIn.redeemLink(await customer('acme'), HOME);
    clock.now += 8 * HOUR - 1;
    assert.ok(await signIn.sessionOf(held.secret, HOME.address), 'a customer may be idle for 8 hours');
    await of('acme', 'account change', { body: { allowedNetworks: ['198.51.100.0/24'] } });
    assert.equal(await signIn.sessionOf(held.secret, HOME.address), null, 'the networks of the account hold');
    assert.ok(await signIn.sessionOf(held.secret, ELSEWHERE.address));
    await of('acme', 'account disable');
    assert.equal(await signIn.sessionOf(held.secret, ELSEWHERE.address), null);
  });

  test('a session from before an account was disabled stays void after the account is enabled again', async (t) => {
    const { signIn, customer, account, of } = await open(engine, t);
    await account('acme');
    const { secret } = await signIn.redeemLink(await customer('acme'), HOME);
    const link = await customer('acme');
    await of('acme', 'account disable', {});
    await of('acme', 'account enable', {});
    assert.equal(await signIn.sessionOf(secret, HOME.address), null);
    assert.equal((await refusal(signIn.redeemLink(link, HOME))).kind, 'denied');
  });

  test('sessions are listed, the newest first, and the oldest is ended beyond the limit', async (t) => {
    const { signIn, ann, clock } = await open(engine, t);
    const { session } = await ann();
    const made: Session[] = [session];
    for (let count = 0; count < SESSIONS_MAX; count++) {
      clock.now += 1;
      made.push((await signIn.withPassword('operator', 'ann', PASSWORD, count === 0 ? ELSEWHERE : HOME)).session);
    }
    const listed = await signIn.sessionsOf(session.owner);
    assert.deepEqual(
      listed.map(({ id }) => id),
      made
        .slice(1)
        .reverse()
        .map(({ id }) => id),
    );
    assert.deepEqual([listed.at(-1)?.address, listed.at(-1)?.agent], [ELSEWHERE.address, ELSEWHERE.agent]);
    assert.equal(await signIn.endOtherSessions(session.owner, listed[0] as Session), SESSIONS_MAX - 1);
    assert.deepEqual(
      (await signIn.sessionsOf(session.owner)).map(({ id }) => id),
      [listed[0]?.id],
    );
  });

  test('a new password ends the other sessions and gives this one a new secret', async (t) => {
    const { signIn, ann } = await open(engine, t);
    const first = await ann();
    const other = await signIn.withPassword('operator', 'ann', PASSWORD, ELSEWHERE);
    const changed = await signIn.setPassword(first.session, 'another good password', HOME);
    for (const { secret } of [first, other]) assert.equal(await signIn.sessionOf(secret, HOME.address), null);
    assert.ok(await signIn.sessionOf(changed.secret, HOME.address));
    assert.equal((await refusal(signIn.withPassword('operator', 'ann', PASSWORD, HOME))).kind, 'denied');
    for (const bad of ['short', 'x'.repeat(201), 'aaaaaaaaaaaaaaa']) {
      const { kind, details, message } = await refusal(signIn.setPassword(changed.session, bad, HOME));
      assert.equal(kind, 'bad-argument');
      assert.equal(details.errors?.[0]?.pointer, '#/password');
      assert.ok(!message.includes(bad));
    }
    const holding = { ...changed.session, owner: { ...changed.session.owner, name: 'annabel' } };
    const { details } = await refusal(signIn.setPassword(holding, 'I am Annabel, who else', HOME));
    assert.equal(details.errors?.[0]?.detail, 'the password contains the name');
  });

  test('every refused sign-in has the same text, whether the name exists or not', async (t) => {
    const { signIn, ann, operator, account } = await open(engine, t);
    await ann();
    await operator('without-password');
    await account('acme');
    const texts = new Set<string>();
    for (const [kind, name] of [
      ['operator', 'ann'],
      ['operator', 'nobody'],
      ['operator', 'without-password'],
      ['account', 'acme'],
      ['account', 'ann'],
    ] as const) {
      const { kind: problem, message } = await refusal(signIn.withPassword(kind, name, 'wrong password', HOME));
      assert.equal(problem, 'denied');
      texts.add(message);
    }
    assert.equal(texts.size, 1);
  });

  test('wrong passwords delay their pair of name and network, and lock nobody else out', async (t) => {
    const { signIn, ann, clock, slept, audited } = await open(engine, t);
    await ann();
    for (let count = 0; count < 5; count++) {
      assert.equal((await refusal(signIn.withPassword('operator', 'ann', 'wrong password', HOME))).kind, 'denied');
    }
    const paused = await refusal(signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    assert.deepEqual([paused.kind, paused.details.retryAfterSeconds], ['too-many', 1]);
    const neighbour = { ...HOME, address: '192.0.2.200' };
    assert.equal((await refusal(signIn.withPassword('operator', 'ann', PASSWORD, neighbour))).kind, 'too-many');
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, ELSEWHERE), 'from another network it goes on');
    assert.equal((await refusal(signIn.withPassword('operator', 'bob', 'wrong password', HOME))).kind, 'denied');
    clock.now += 1_000;
    assert.equal((await refusal(signIn.withPassword('operator', 'ann', 'wrong password', HOME))).kind, 'denied');
    const longer = await refusal(signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    assert.equal(longer.details.retryAfterSeconds, 2, 'the pause doubles');
    clock.now += 2_000;
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    assert.equal((await refusal(signIn.withPassword('operator', 'ann', 'wrong password', HOME))).kind, 'denied');
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, HOME), 'a right one began anew');
    assert.deepEqual(slept, []);
    const actions = (await audited()).map(([action]: string[]) => action);
    assert.ok(actions.includes('sign in paused after wrong passwords'));
    assert.ok(actions.includes('sign in'));
  });

  test('guesses from many networks delay sign-ins of a name, and its owner can still sign in', async (t) => {
    const { signIn, ann, slept, clock } = await open(engine, t);
    await ann();
    for (let network = 0; network < 31; network++) {
      const origin = { ...ELSEWHERE, address: `203.0.${network}.1` };
      assert.equal((await refusal(signIn.withPassword('operator', 'ann', 'wrong password', origin))).kind, 'denied');
    }
    slept.length = 0;
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    assert.deepEqual(slept, [5_000]);
    clock.now += 25 * HOUR;
    slept.length = 0;
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    assert.deepEqual(slept, [], 'a day later it is forgotten');
  });

  test('many attempts at once from one network are refused there, and others are served', async (t) => {
    const { signIn, ann } = await open(engine, t);
    await ann();
    const guesses = Array.from({ length: 40 }, (_, index) =>
      refusal(signIn.withPassword('operator', `nobody ${index}`, 'wrong password', ELSEWHERE)),
    );
    assert.ok(await signIn.withPassword('operator', 'ann', PASSWORD, HOME));
    const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
    assert.deepEqual([...new Set(kinds)].sort(), ['denied', 'too-many']);
  });

  test('with a second factor a sign-in needs a code, each code is good once, and recovery codes help out', async (t) => {
    const { signIn, ann, clock, audited, run } = await open(engine, t);
    const { session } = await ann();
    const { owner } = session;
    const { secret } = await signIn.beginFactor(owner);
    const code = () => codeOf(fromBase32(secret), stepOf(clock.now));
    assert.equal((await refusal(signIn.confirmFactor(session, '000000', HOME))).kind, 'denied');
    assert.deepEqual(await signIn.factorState(owner), { isOn: false, recoveryCodesLeft: 0 });
    const codes = await signIn.confirmFactor(session, code(), HOME);
    assert.deepEqual(await signIn.factorState(owner), { isOn: true, recoveryCodesLeft: 10 });
    assert.equal((await refusal(signIn.beginFactor(owner))).kind, 'conflict');

    const enter = () => signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    const pending = await enter();
    assert.ok(pending.session.awaitsCode);
    assert.ok((await signIn.sessionOf(pending.secret, HOME.address))?.awaitsCode);
    assert.equal((await refusal(signIn.giveCode(pending.session, code(), HOME))).kind, 'denied', 'it was used');
    clock.now += STEP_MS;
    const done = await signIn.giveCode(pending.session, code(), HOME);
    assert.notEqual(done.secret, pending.secret);
    assert.equal((await signIn.sessionOf(done.secret, HOME.address))?.awaitsCode, false);
    assert.equal(await signIn.sessionOf(pending.secret, HOME.address), null);

    const [first = ''] = codes;
    assert.ok(await signIn.giveCode((await enter()).session, first.toUpperCase().replaceAll('-', ' '), HOME));
    assert.equal((await refusal(signIn.giveCode((await enter()).session, first, HOME))).kind, 'denied');
    assert.equal((await signIn.factorState(owner)).recoveryCodesLeft, 9);

    const tried = await enter();
    for (let count = 0; count < 4; count++) await refusal(signIn.giveCode(tried.session, '000000', HOME));
    assert.equal((await refusal(signIn.giveCode(tried.session, codes[1] ?? '', HOME))).kind, 'too-many');

    const link = await run('operator sign-in-link', { params: { name: 'ann' }, body: {} });
    const token = link.link.split('/').at(-1);
    assert.ok((await signIn.redeemLink(token, ELSEWHERE)).session.awaitsCode, 'a link does not go around it');
    const reset = { params: { name: 'ann' }, body: { resetSecondFactor: true } };
    const again = (await run('operator sign-in-link', reset)).link.split('/').at(-1);
    assert.equal((await signIn.redeemLink(again, ELSEWHERE)).session.awaitsCode, false);
    assert.ok((await audited()).some(([action]: string[]) => action === 'second factor on'));
  });

  test('recovery codes can be renewed and the second factor removed, and the audit records both', async (t) => {
    const { signIn, ann, clock, audited } = await open(engine, t);
    const { session } = await ann();
    const { secret } = await signIn.beginFactor(session.owner);
    const old = await signIn.confirmFactor(session, codeOf(fromBase32(secret), stepOf(clock.now)), HOME);
    const renewed = await signIn.renewRecoveryCodes(session.owner, HOME);
    assert.equal(new Set([...old, ...renewed]).size, 20);
    const { session: pending } = await signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    assert.equal((await refusal(signIn.giveCode(pending, old[0] ?? '', HOME))).kind, 'denied');
    assert.ok(await signIn.giveCode(pending, renewed[0] ?? '', HOME));
    await signIn.removeFactor(session.owner, HOME);
    const { session: plain } = await signIn.withPassword('operator', 'ann', PASSWORD, HOME);
    assert.equal(plain.awaitsCode, false);
    await signIn.signOut(plain);
    const actions = (await audited()).map(([action]: string[]) => action);
    for (const action of ['recovery codes renewed', 'second factor off', 'sign out', 'password change']) {
      assert.ok(actions.includes(action), action);
    }
  });

  test('wrong passwords of a person who is signed in are limited in the same way', async (t) => {
    const { signIn, ann } = await open(engine, t);
    const { session } = await ann();
    const owner: Owner = session.owner;
    await signIn.checkPassword(owner, PASSWORD, HOME.address);
    for (let count = 0; count < 5; count++) await refusal(signIn.checkPassword(owner, 'wrong password', HOME.address));
    assert.equal((await refusal(signIn.checkPassword(owner, PASSWORD, HOME.address))).kind, 'too-many');
  });
});
