import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLedger } from '../../../src/domain/accounts/ledger.ts';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { isStopWord, replyWordOf } from '../../../src/domain/receiving/stop-words.ts';
import { WORD_LISTS } from '../../../src/domain/receiving/word-lists.ts';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../../src/domain/sending/claim.ts';
import { type ActionBench, openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';

const SENDER = '+27825550201';
const HOUR = 3_600_000;
const NONE = { stop_words: null, start_words: null, help_words: null, word_languages: null, help_answer: null };

describe('words that opt out, opt in and ask for help', () => {
  test('an account without reply words recognises none', () => {
    for (const text of ['STOP', 'START', 'HELP']) assert.equal(replyWordOf(text, null, NONE), null);
  });

  test('START and UNSTOP are recognised if the account has STOP words, and HELP if it has an answer', () => {
    const words = { ...NONE, stop_words: 'ENDE' };
    const found = ['ende', 'Start.', ' unstop ', 'HELP', 'STOP', 'start now'].map((text) =>
      replyWordOf(text, null, words),
    );
    assert.deepEqual(found, ['stop', 'start', 'start', null, null, null]);
    assert.equal(replyWordOf('help?', null, { ...NONE, help_answer: 'Call us.' }), 'help');
    assert.equal(replyWordOf('AUX', null, { ...NONE, help_answer: 'Call us.', help_words: 'AUX' }), 'help');
    assert.equal(replyWordOf('JA', null, { ...words, start_words: 'JA' }), 'start');
    assert.equal(replyWordOf('JA', null, { ...words, start_words: 'JA', stop_words: 'JA' }), 'stop');
  });

  test('every entry of every list is one word and is recognised only in its language', () => {
    for (const [language, lists] of Object.entries(WORD_LISTS)) {
      const words = { ...NONE, word_languages: language, help_answer: 'Call us.' };
      for (const kind of ['stop', 'start', 'help'] as const) {
        for (const word of lists[kind]) {
          assert.ok(isStopWord(word), word);
          assert.equal(replyWordOf(word[0] + word.slice(1).toLowerCase(), null, words), kind, `${language} ${word}`);
        }
      }
    }
    assert.equal(replyWordOf('ABMELDEN', null, { ...NONE, word_languages: 'en' }), null);
    assert.equal(replyWordOf('abmelden', null, { ...NONE, word_languages: 'en,de' }), 'stop');
  });

  test('a reply word is recognised behind the keyword of its route', () => {
    const words = { ...NONE, stop_words: 'STOP', help_answer: 'Call us.' };
    const found = ['win stop', 'WIN START', 'win help', 'other stop'].map((text) => replyWordOf(text, 'WIN', words));
    assert.deepEqual(found, ['stop', 'start', 'help', null]);
  });
});

let count = 0;
const says = ({ database, services }: ActionBench, text: string, sender = SENDER, destination = '31234') =>
  createIncoming(database, services.now, 'ZA').receive({
    connector: 'loopback',
    gatewayId: `reply-${++count}`,
    sender,
    destination,
    text,
    receivedAt: services.now(),
    part: null,
  });
const numbers = async (bench: ActionBench, username: string) =>
  (await bench.of(username, 'blacklist list')).items.map(({ number }: { number: string }) => number);
const sent = async (bench: ActionBench, username = 'acme') =>
  (await bench.of(username, 'message list')).items.map(({ text }: { text: string }) => text);

onEveryEngine('words that senders reply with', (engine) => {
  const opened = async (t: Parameters<typeof openActions>[1], fields: object = {}) => {
    const bench = await openActions(engine, t);
    const account = await bench.account('acme', { credits: '10', stopWords: ['STOP'], ...fields });
    await bench.run('route put', { params: { name: 'code' }, body: { username: 'acme', destination: '31234' } });
    const claiming = createClaiming(bench.database, {
      now: bench.services.now,
      owner: 'test',
      newAttemptId,
      leaseMs: HOUR,
      unknownOutcomeMs: HOUR,
    });
    return { bench, account, claim: () => claiming.claim({ connector: 'loopback', isDefault: true }, 10) };
  };
  const checkLedger = async ({ database, services }: ActionBench) =>
    assert.deepEqual((await createLedger(database, services.now).check()).discrepancies, []);

  test('STOP puts the sender on the blacklist with the text as evidence, and START, UNSTOP and own words remove it', async (t) => {
    const { bench } = await opened(t, { startWords: ['JA'], wordLanguages: ['de'] });
    for (const [stop, start] of [
      ['Stop!', 'start'],
      ['abmelden', 'UNSTOP'],
      ['STOP', 'ja'],
      ['Stopp', 'anmelden'],
    ] as const) {
      await says(bench, stop);
      const [entry] = (await bench.of('acme', 'blacklist list')).items;
      assert.deepEqual([entry.number, entry.origin, entry.evidence], [SENDER, 'STOP', stop]);
      await says(bench, start);
      assert.deepEqual(await numbers(bench, 'acme'), [], start);
    }
    assert.equal((await bench.of('acme', 'message send', { body: { recipients: [SENDER], text: 'x' } })).parts, 1);
  });

  test('START removes an entry in another notation, and the entry of an erased person', async (t) => {
    const { bench } = await opened(t, { region: 'ZA' });
    await bench.of('acme', 'blacklist add', { body: { number: '082 555 0201', origin: 'STOP' } });
    await says(bench, 'START');
    assert.deepEqual(await numbers(bench, 'acme'), []);
    await says(bench, 'STOP');
    await bench.run('person erase', { params: { number: SENDER } });
    assert.deepEqual(await numbers(bench, 'acme'), [null]);
    await says(bench, 'START');
    assert.deepEqual(await numbers(bench, 'acme'), []);
  });

  test('the answer to STOP is sent although the sender is on the blacklist, from the number that was written to', async (t) => {
    const { bench, claim } = await opened(t, { stopAnswer: 'You get no more messages.' });
    await bench.of('acme', 'message send', { body: { recipients: [SENDER], text: 'waits' } });
    await says(bench, 'STOP');
    const claimed = await claim();
    assert.deepEqual(
      claimed.map(({ recipient, text, sender, isAnswer }) => [recipient, text, sender, isAnswer]),
      [[SENDER, 'You get no more messages.', '31234', true]],
    );
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '9', held: '1', used: '0' });
    await checkLedger(bench);
  });

  test('each answer is sent to a sender at most once in 24 hours', async (t) => {
    const { bench } = await opened(t, { stopAnswer: 'Bye.', helpAnswer: 'Call us.' });
    for (const text of ['STOP', 'stop', 'help', 'HELP', 'Stop']) await says(bench, text);
    assert.deepEqual((await sent(bench)).sort(), ['Bye.', 'Call us.']);
    await says(bench, 'help', '+27825550202');
    assert.equal((await sent(bench)).length, 3);
    bench.clock.now += 24 * HOUR - 1;
    await says(bench, 'help');
    assert.equal((await sent(bench)).length, 3);
    bench.clock.now += 1;
    await says(bench, 'help');
    assert.equal((await sent(bench)).length, 4);
    assert.deepEqual(await numbers(bench, 'acme'), [SENDER]);
  });

  test('a second opt-out does not cancel an answer that waits', async (t) => {
    const { bench, claim } = await opened(t, { stopAnswer: 'Bye.' });
    await says(bench, 'STOP');
    assert.deepEqual(await bench.of('acme', 'blacklist add', { body: { number: SENDER } }), { cancelled: 0 });
    assert.equal((await claim()).length, 1);
  });

  test('an answer that quiet hours hold back is not cancelled by a second STOP, nor by an entry of the account', async (t) => {
    const quiet = { quietHours: '00:00-23:59', timeZone: 'UTC' };
    const { bench, claim } = await opened(t, { stopAnswer: 'Bye.', ...quiet });
    const body = { recipients: [SENDER], text: 'waits' };
    assert.equal((await bench.of('acme', 'message send', { body })).accepted.length, 1);
    await says(bench, 'STOP');
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '9', held: '1', used: '0' });
    await says(bench, 'STOP');
    assert.deepEqual(await bench.of('acme', 'blacklist add', { body: { number: SENDER } }), { cancelled: 0 });
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '9', held: '1', used: '0' });
    await bench.of('acme', 'account change', { body: { quietHours: null } });
    bench.clock.now += 24 * HOUR - 1;
    assert.deepEqual(
      (await claim()).map(({ text }) => text),
      ['Bye.'],
    );
    await checkLedger(bench);
  });

  test('without credits no answer is sent but the opt-out applies, and a later STOP is answered', async (t) => {
    const { bench } = await opened(t, { credits: '0', stopAnswer: 'Bye.', helpAnswer: 'Call us.' });
    await says(bench, 'STOP');
    await says(bench, 'HELP');
    assert.deepEqual(await numbers(bench, 'acme'), [SENDER]);
    assert.deepEqual(await sent(bench), []);
    assert.equal((await bench.of('acme', 'inbox list')).items.length, 2);
    await bench.of('acme', 'credits add', { body: { amount: '1', reason: 'test' } });
    await says(bench, 'STOP');
    assert.deepEqual(await sent(bench), ['Bye.']);
    await checkLedger(bench);
  });

  test('a STOP to a shared number applies to all accounts of the number, and so does START', async (t) => {
    const { bench } = await opened(t);
    await bench.account('globex', { credits: '10' });
    await bench.account('initech', { credits: '10' });
    const route = (name: string, body: object) => bench.run('route put', { params: { name }, body });
    await route('code', { username: 'acme', destination: '31234', sharedOptOut: true });
    await route('globex', { username: 'globex', destination: '31234', keyword: 'WIN' });
    await route('initech', { username: 'initech', destination: '31999' });
    const body = { recipients: [SENDER], text: 'waits' };
    for (const username of ['acme', 'globex', 'initech']) await bench.of(username, 'message send', { body });
    await Promise.all([says(bench, 'STOP'), says(bench, 'stop')]);
    assert.deepEqual(await Promise.all(['acme', 'globex', 'initech'].map((username) => numbers(bench, username))), [
      [SENDER],
      [SENDER],
      [],
    ]);
    const statuses = await Promise.all(
      ['acme', 'globex', 'initech'].map(async (username) => (await bench.of(username, 'message list')).items[0].status),
    );
    assert.deepEqual(statuses, ['DELETED', 'DELETED', 'QUEUED']);
    await says(bench, 'START');
    assert.deepEqual(await numbers(bench, 'globex'), []);
    await route('code', { username: 'acme', destination: '31234' });
    await says(bench, 'STOP');
    assert.deepEqual([await numbers(bench, 'acme'), await numbers(bench, 'globex')], [[SENDER], []]);
    await checkLedger(bench);
  });

  test('START to a shared number leaves the entries that an account made by itself', async (t) => {
    const { bench } = await opened(t);
    const route = (name: string, body: object) => bench.run('route put', { params: { name }, body });
    await route('code', { username: 'acme', destination: '31234', sharedOptOut: true });
    for (const username of ['globex', 'initech']) {
      await bench.account(username, { region: 'ZA' });
      await route(username, { username, destination: '31234', keyword: username });
    }
    await bench.of('acme', 'blacklist add', { body: { number: SENDER } });
    await bench.of('globex', 'blacklist add', { body: { number: '082 555 0201' } });
    await says(bench, 'STOP');
    const all = () => Promise.all(['acme', 'globex', 'initech'].map((username) => numbers(bench, username)));
    assert.deepEqual(await all(), [[SENDER], ['082 555 0201'], [SENDER]]);
    await says(bench, 'START');
    assert.deepEqual(await all(), [[SENDER], ['082 555 0201'], []]);
    await says(bench, 'STOP');
    await bench.run('person erase', { params: { number: SENDER } });
    await says(bench, 'START');
    assert.deepEqual(await all(), [[null], [null], []]);
  });

  test('a number that an account blacklists after a STOP stays there after a START, until the account removes it', async (t) => {
    const { bench } = await opened(t, { region: 'ZA' });
    await bench.run('route put', {
      params: { name: 'code' },
      body: { username: 'acme', destination: '31234', sharedOptOut: true },
    });
    await bench.account('globex', { region: 'ZA' });
    await bench.run('route put', {
      params: { name: 'globex' },
      body: { username: 'globex', destination: '31234', keyword: 'globex' },
    });
    await says(bench, 'STOP');
    for (const username of ['acme', 'globex']) {
      const { cancelled } = await bench.of(username, 'blacklist add', {
        body: { number: '082 555 0201', evidence: 'called us' },
      });
      assert.equal(cancelled, 0);
    }
    await says(bench, 'STOP');
    await says(bench, 'START');
    for (const username of ['acme', 'globex']) {
      const [entry, ...more] = (await bench.of(username, 'blacklist list')).items;
      assert.deepEqual([entry.number, entry.origin, entry.evidence, more], [SENDER, 'user', 'STOP', []], username);
      const refused = await bench.of(username, 'message send', { body: { recipients: [SENDER], text: 'x' } });
      assert.equal(refused.parts, 0, username);
      await bench.of(username, 'blacklist remove', { params: { number: SENDER } });
      assert.deepEqual(await numbers(bench, username), [], username);
    }
  });

  test('START removes an imported entry whose evidence is a STOP word, and leaves other imported entries', async (t) => {
    const { bench } = await opened(t, { region: 'ZA' });
    for (const [evidence, left] of [
      ['stop.', []],
      ['complained by mail', [SENDER]],
      [null, [SENDER]],
    ] as const) {
      await bench.of('acme', 'blacklist add', { body: { number: SENDER, origin: 'import', evidence } });
      await says(bench, 'START');
      assert.deepEqual(await numbers(bench, 'acme'), left, String(evidence));
      if (left.length > 0) await bench.of('acme', 'blacklist remove', { params: { number: SENDER } });
    }
  });

  test('a STOP and a START that change the blacklist are in the audit, without number and text', async (t) => {
    const { bench } = await opened(t);
    for (const text of ['STOP', 'STOP', 'START', 'START', 'hello']) await says(bench, text);
    const { items } = await bench.run('audit list', { query: { account: 'acme', actor: 'loopback' } });
    assert.deepEqual(
      items.map(({ actorKind, action, account }: Record<string, unknown>) => [actorKind, action, account]),
      [
        ['message', 'blacklist remove by START', 'acme'],
        ['message', 'blacklist add by STOP', 'acme'],
      ],
    );
    for (const { target } of items) assert.match(target, /^message \d+$/);
    assert.ok(!JSON.stringify(items).includes(SENDER.slice(-6)));
  });

  test('the words and answers of an account can be shown and changed, and wrong ones are refused', async (t) => {
    const { bench } = await opened(t, { helpAnswer: 'Call us.' });
    const body = { startWords: ['JA'], helpWords: ['INFO'], wordLanguages: ['de', 'en'], stopAnswer: 'Bye.' };
    const changed = await bench.of('acme', 'account change', { body: { ...body, helpAnswer: null } });
    const { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer } = changed;
    assert.deepEqual(
      { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer },
      { stopWords: ['STOP'], ...body, helpAnswer: null },
    );
    for (const wrong of [
      { startWords: ['two words'] },
      { wordLanguages: ['xx'] },
      { stopAnswer: '' },
      { helpAnswer: '   ' },
      { helpAnswer: 'x'.repeat(1_001) },
    ]) {
      const problem = await bench.refusal('account change', { params: { username: 'acme' }, body: wrong });
      assert.equal(problem.kind, 'bad-argument', JSON.stringify(wrong));
    }
  });
});
