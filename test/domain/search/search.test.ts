import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ConversationPosition } from '../../../src/domain/search/conversations.ts';
import { createIndexer } from '../../../src/domain/search/indexer.ts';
import { domainOf } from '../../../src/operator/domain.ts';
import { cursorBefore, FIRST, LAST } from '../../../src/store/cursor.ts';
import { openActions } from '../../support/actions.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';

const noPause = async () => {};

/** An account with a contact, received, sent and scheduled messages. */
async function practice(engine: Engine, t: TestContext) {
  const bench = await openActions(engine, t);
  const id = await bench.account('practice', { credits: '100', region: 'ZA' });
  const domain = domainOf(bench.services);
  const received = (sender: string, text: string) =>
    bench.of('practice', 'inbox receive', { body: { gatewayId: `${sender}${text}`, sender, text } });
  const sent = (recipient: string, text: string, reference?: string) =>
    bench.of('practice', 'message record', { body: { recipient, text, ...(reference ? { reference } : {}) } });
  const contact = (name: string, surname: string, mobile: string) =>
    bench.of('practice', 'contact add', { body: { name, surname, mobile } });
  const texts = async (words: string) => {
    assert.equal(await domain.search.isComplete(id), true);
    return (await domain.search.messages(id, words)).messages.map(({ text }) => text);
  };
  const people = async (words: string) => {
    assert.equal(await domain.search.isComplete(id), true);
    return (await domain.search.contacts(id, words)).map(({ name }) => name);
  };
  return { ...bench, id, domain, received, sent, contact, texts, people };
}

const entries = sql<{ account: bigint }, { token: string }>(
  'select token from search_entry where account_id = :account order by token',
);
const changes = sql<Record<string, never>, { was_text: string | null }>('select was_text from search_change', {
  affects: 'none',
});
const entriesOfAll = sql<Record<string, never>, { token: string }>('select token from search_entry', {
  affects: 'none',
});

onEveryEngine('search', (engine) => {
  test('a contact is found by first name, surname, both in any order, a beginning, and without accents', async (t) => {
    const { contact, people } = await practice(engine, t);
    await contact('Zoë', 'Müller', '0825550201');
    await contact('Thandi', 'Mokoena', '+27825550202');
    for (const words of ['zoe', 'MULLER', 'Müller Zoë', 'zo mü', 'zoë'])
      assert.deepEqual(await people(words), ['Zoë Müller'], words);
    assert.deepEqual(await people('mo'), ['Thandi Mokoena']);
    assert.deepEqual(await people('nobody'), []);
  });

  test('a number is found in every notation, and by its last four digits', async (t) => {
    const { contact, received, sent, people, texts } = await practice(engine, t);
    await contact('Thandi', 'Mokoena', '082 555 0201');
    await received('+27825550201', 'hello');
    await sent('0825550201', 'good day');
    await received('+27825559999', 'another');
    for (const number of ['0825550201', '+27 82 555-0201', '0027825550201', '(082) 5550201', '0201']) {
      assert.deepEqual(await people(number), ['Thandi Mokoena'], number);
      assert.deepEqual((await texts(number)).sort(), ['good day', 'hello'], number);
    }
  });

  test('messages are found by words of their text, all of them wanted, newest first', async (t) => {
    const { clock, received, sent, texts } = await practice(engine, t);
    await received('+27825550201', 'Can I come on Tuesday?');
    clock.now += 1_000;
    await sent('+27825550201', 'Tuesday 14:30 is yours. Dr Adams');
    clock.now += 1_000;
    await received('+27825550202', 'Çay içer misin');
    assert.deepEqual(await texts('tuesday'), ['Tuesday 14:30 is yours. Dr Adams', 'Can I come on Tuesday?']);
    assert.deepEqual(await texts('adams tuesday'), ['Tuesday 14:30 is yours. Dr Adams']);
    assert.deepEqual(await texts('tues ada'), ['Tuesday 14:30 is yours. Dr Adams']);
    assert.deepEqual(await texts('tuesday wednesday'), []);
    assert.deepEqual(await texts('cay'), ['Çay içer misin']);
  });

  test('scripts without blanks between words are found by any of their characters', async (t) => {
    const { received, texts } = await practice(engine, t);
    await received('+27825550201', '我们星期二见');
    assert.deepEqual(await texts('星期二'), ['我们星期二见']);
    assert.deepEqual(await texts('星期三'), []);
  });

  test('a message is found by its reference and by its id, and a scheduled one too', async (t) => {
    const { of, sent, texts, clock } = await practice(engine, t);
    const { id } = await sent('+27825550201', 'your bill', 'INV-2026/17');
    assert.deepEqual(await texts('inv-2026/17'), ['your bill']);
    assert.deepEqual(await texts(id), ['your bill']);
    const at = new Date(clock.now + 86_400_000).toISOString();
    await of('practice', 'message send', {
      body: { recipients: ['+27825550203'], text: 'see you tomorrow', sendAt: at },
    });
    assert.deepEqual(await texts('tomorrow'), ['see you tomorrow']);
    assert.deepEqual(await texts('0825550203'), ['see you tomorrow']);
  });

  test('what is changed or deleted is found as it is now, and the index keeps nothing of it', async (t) => {
    const { of, id, contact, received, people, texts, database } = await practice(engine, t);
    const { id: contactId } = await contact('Ann', 'Lee', '+27825550201');
    assert.deepEqual(await people('lee'), ['Ann Lee']);
    await of('practice', 'contact change', {
      params: { id: contactId },
      body: { name: 'Ann', surname: 'Botha', mobile: '+27825550201' },
    });
    assert.deepEqual(await people('lee'), []);
    assert.deepEqual(await people('botha'), ['Ann Botha']);
    const { id: message } = await received('+27825550201', 'unusual zebra');
    assert.deepEqual(await texts('zebra'), ['unusual zebra']);
    await of('practice', 'inbox remove', { params: { id: message } });
    assert.deepEqual(await texts('zebra'), []);
    await of('practice', 'contact remove', { params: { id: contactId } });
    assert.deepEqual(await people('botha'), []);
    assert.deepEqual(await database.all(entries, { account: id }), []);
  });

  test('an erased person leaves nothing in the index and in its notes', async (t) => {
    const { run, contact, received, sent, texts, database } = await practice(engine, t);
    await contact('Ann', 'Lee', '+27825550201');
    await received('+27825550201', 'unusual zebra');
    assert.deepEqual(await texts('zebra'), ['unusual zebra']);
    await sent('+27825550201', 'another giraffe');
    await run('person erase', { params: { number: '+27825550201' }, query: {} });
    assert.deepEqual(await database.all(changes, {}), []);
    assert.deepEqual(await database.all(entriesOfAll, {}), []);
  });

  test('messages from before the index are added to it while the service runs', async (t) => {
    const { id, domain, received, sent, contact, database, texts, people } = await practice(engine, t);
    for (let number = 0; number < 45; number += 1) await received(`+278255502${10 + number}`, `old words ${number}`);
    await sent('+27825550299', 'old answer');
    await contact('Ann', 'Lee', '+27825550201');
    const forget = sql('delete from search_change', { affects: 'none' });
    const begin = sql<{ account: bigint }>(
      'insert into search_backfill (account_id, kind, to_id) values (:account, 1, 9223372036854775807)',
    );
    await database.run(forget, {});
    await database.run(begin, { account: id });
    assert.equal(await domain.search.isComplete(id), false, 'the search says that it does not see everything');
    assert.equal((await domain.searchEverywhere('words')).isComplete, false, 'and so does that of operators');
    await createIndexer(database, domain.region).run(noPause);
    assert.equal((await domain.searchEverywhere('words')).isComplete, true);
    assert.deepEqual(await texts('words 44'), ['old words 44']);
    assert.deepEqual(await texts('answer'), ['old answer']);
    assert.deepEqual(await people('lee'), ['Ann Lee']);
    assert.equal((await domain.search.messages(id, 'old')).messages.length, 25);
  });

  test('results come in pages without gaps, and accounts do not see each other', async (t) => {
    const { id, account, of, domain, received, clock } = await practice(engine, t);
    await account('other', { region: 'ZA' });
    for (let number = 0; number < 60; number += 1) {
      clock.now += 1_000;
      await received('+27825550201', `reminder ${number}`);
    }
    await of('other', 'inbox receive', {
      body: { gatewayId: '1', sender: '+27825550201', text: 'reminder of another' },
    });
    await domain.search.isComplete(id);
    const seen: (string | null)[] = [];
    for (let after: Parameters<typeof domain.search.messages>[2] | null = undefined; after !== null; ) {
      const { messages, next }: Awaited<ReturnType<typeof domain.search.messages>> = await domain.search.messages(
        id,
        'remind',
        after,
      );
      seen.push(...messages.map(({ text }) => text));
      after = next;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 60 }, (_, index) => `reminder ${59 - index}`),
    );
  });

  test('an operator finds a number, an id and a reference in all accounts', async (t) => {
    const { account, of, domain, received, sent } = await practice(engine, t);
    await account('other', { region: 'GB' });
    await received('0825550201', 'local');
    const { id: message } = await sent('+27825550202', 'bill', 'INV-9');
    await of('other', 'inbox receive', { body: { gatewayId: '1', sender: '+27825550201', text: 'abroad' } });
    await of('other', 'message record', {
      body: { recipient: '+447700900123', text: 'other bill', reference: 'inv-9' },
    });
    const find = async (text: string) =>
      (await domain.searchEverywhere(text)).found.map((each) => `${each.username}: ${each.message.text}`).sort();
    assert.deepEqual(await find('+27 82 555 0201'), ['other: abroad', 'practice: local']);
    assert.deepEqual(await find('INV-9'), ['other: other bill', 'practice: bill']);
    assert.ok((await find(message)).includes('practice: bill'));
    assert.deepEqual(await find('+27825550777'), []);
  });

  test('conversations are listed with their last message and unread count; both directions and all notations are one', async (t) => {
    const { id, domain, received, sent, clock, of } = await practice(engine, t);
    await received('0825550201', 'first');
    clock.now += 1_000;
    await sent('+27825550201', 'answer');
    clock.now += 1_000;
    await received('+27825550202', 'somebody else');
    clock.now += 1_000;
    const { id: last } = await received('+27825550201', 'thanks');
    await domain.search.isComplete(id);
    const list = async () =>
      (await domain.conversations.list(id, 50)).conversations.map(({ number, last: message, unread }) => [
        number,
        message?.text,
        unread,
      ]);
    assert.deepEqual(await list(), [
      ['+27825550201', 'thanks', 2],
      ['+27825550202', 'somebody else', 1],
    ]);
    const thread = await domain.conversations.thread(id, '082 555 0201', 2);
    assert.deepEqual(
      thread.messages.map(({ text }) => text),
      ['answer', 'thanks'],
    );
    const earlier = await domain.conversations.thread(
      id,
      '082 555 0201',
      2,
      thread.earlier ?? assert.fail('no earlier ones'),
    );
    assert.deepEqual(
      earlier.messages.map(({ text }) => text),
      ['first'],
    );
    assert.equal(earlier.earlier, null);
    await of('practice', 'inbox remove', { params: { id: last } });
    await domain.search.isComplete(id);
    assert.deepEqual(await list(), [
      ['+27825550202', 'somebody else', 1],
      ['+27825550201', 'answer', 1],
    ]);
  });

  test('a list of one kind reads only that kind, in both orders and from any position', async (t) => {
    const { id, domain, received, sent, contact, clock, of } = await practice(engine, t);
    for (let number = 1; number <= 5; number += 1) {
      clock.now += 1_000;
      await received('+27825550201', `question ${number} about tuesday`);
    }
    for (let number = 1; number <= 40; number += 1)
      await sent('+27825550202', `tuesday reminder ${number}`, `R-${number}`);
    await contact('Tuesday', 'Weld', '0825550209');
    const at = new Date(clock.now + 86_400_000).toISOString();
    await of('practice', 'message send', { body: { recipients: ['+27825550203'], text: 'tuesday', sendAt: at } });
    assert.equal(await domain.search.isComplete(id), true);
    const inbox = await domain.search.received(id, 'tues');
    const first = await inbox.read('newest', LAST, 3);
    assert.deepEqual(
      first.rows.map(({ text }) => text),
      [5, 4, 3].map((number) => `question ${number} about tuesday`),
    );
    const { at: lastAt, id: lastId } = first.last ?? assert.fail('there is more');
    const rest = await inbox.read('newest', cursorBefore(lastAt, lastId), 3);
    assert.deepEqual([rest.rows.map(({ text }) => text?.[9]), rest.last], [['2', '1'], null]);
    const oldest = await inbox.read('oldest', FIRST, 2);
    assert.deepEqual(
      oldest.rows.map(({ text }) => text?.[9]),
      ['1', '2'],
    );
    assert.equal((await (await domain.search.sent(id, 'tuesday')).read('newest', LAST, 100)).rows.length, 40);
    assert.equal((await (await domain.search.sent(id, 'R-7')).read('newest', LAST, 100)).rows[0]?.reference, 'R-7');
    assert.equal((await (await domain.search.sent(id, '082 555 0202')).read('newest', LAST, 9)).rows.length, 9);
    assert.equal((await (await domain.search.scheduled(id, 'tuesday')).read('oldest', FIRST, 9)).rows.length, 1);
    const people = await (await domain.search.contactsWith(id, 'weld tues')).read('oldest', FIRST, 9);
    assert.deepEqual(
      people.rows.map(({ surname }) => surname),
      ['Weld'],
    );
    assert.deepEqual((await (await domain.search.received(id, '...')).read('newest', LAST, 9)).rows, []);
  });

  test('a conversation is failed while its last message did not arrive, and unanswered while it was received', async (t) => {
    const { id, domain, of, received, sent, clock, database } = await practice(engine, t);
    const shown = async (which: 'failed' | 'unanswered') => {
      assert.equal(await domain.search.isComplete(id), true);
      return (await domain.conversations.list(id, 50, undefined, which)).conversations.map(({ number }) => number);
    };
    const status = (message: string, to: string) =>
      of('practice', 'message status', { params: { id: message }, body: { status: to } });
    const { id: first } = await sent('+27825550201', 'one');
    const { id: other } = await sent('+27825550202', 'two');
    assert.deepEqual(await shown('failed'), []);
    await status(first, 'UNKNOWN');
    await status(other, 'DELIVERED');
    assert.deepEqual(await shown('failed'), ['+27825550201']);
    const { id: cancelled } = await sent('+27825550203', 'cancelled');
    await status(cancelled, 'DELETED');
    assert.deepEqual(await shown('failed'), ['+27825550201'], 'a message that was cancelled did not fail');
    await status(first, 'DELIVERED');
    assert.deepEqual(await shown('failed'), [], 'a late receipt says that it arrived');
    clock.now += 1_000;
    const { id: third } = await sent('0825550201', 'three');
    await status(third, 'UNDELIVERABLE');
    assert.deepEqual(await shown('failed'), ['+27825550201']);
    const { rows } = await (await domain.search.sent(id, 'three')).read('newest', LAST, 9);
    assert.equal(rows.length, 1, 'a new status leaves the entries as they are');
    clock.now += 1_000;
    const { id: reply } = await received('+27825550201', 'hello?');
    assert.deepEqual([await shown('failed'), await shown('unanswered')], [[], ['+27825550201']]);
    await of('practice', 'inbox remove', { params: { id: reply } });
    assert.deepEqual([await shown('failed'), await shown('unanswered')], [['+27825550201'], []]);
    assert.deepEqual(await database.all(changes, {}), []);
  });

  test('unread conversations come in pages without gaps and repetitions, whatever their other messages are', async (t) => {
    const { id, domain, of, received, sent, clock } = await practice(engine, t);
    for (let round = 1; round <= 2; round += 1) {
      for (let number = 0; number < 7; number += 1) {
        clock.now += number % 2; // some come at the same moment
        await received(number % 2 === 0 ? `+2782555020${number}` : `082 555 020${number}`, `round ${round}`);
      }
    }
    clock.now += 1_000;
    await sent('+27825550200', 'answered, and still unread');
    const { id: read } = await received('+27825550209', 'already read');
    await of('practice', 'inbox mark', { params: { id: read }, body: { read: true } });
    assert.equal(await domain.search.isComplete(id), true);
    const seen: string[] = [];
    for (let after: ConversationPosition | undefined, pages = 0; pages < 9; pages += 1) {
      const { conversations, next } = await domain.conversations.list(id, 2, after, 'unread');
      for (const { number, unread } of conversations) seen.push(`${number} ${unread}`);
      if (next === null) break;
      after = next;
    }
    assert.deepEqual(
      seen,
      [6, 5, 4, 3, 2, 1, 0].map((number) => `+2782555020${number} 2`),
    );
  });

  test('a deleted account leaves nothing in the index', async (t) => {
    const { run, id, received, texts, database, sent } = await practice(engine, t);
    await received('+27825550201', 'zebra');
    assert.deepEqual(await texts('zebra'), ['zebra']);
    await sent('+27825550201', 'not indexed yet');
    await run('account disable', { params: { username: 'practice' } });
    await run('account remove', { params: { username: 'practice' } });
    assert.deepEqual(await database.all(entries, { account: id }), []);
    assert.deepEqual(await database.all(changes, {}), []);
  });
});
