import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaceTurns } from '../../../src/base/event-loop.ts';
import { domainOf } from '../../../src/operator/domain.ts';
import { FIRST, LAST } from '../../../src/store/cursor.ts';
import { openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';

onEveryEngine('beginnings that are searched', (engine) => {
  test('all numbers that end with four digits are found, and a beginning of too many words says so', async (t) => {
    const bench = await openActions(engine, t);
    const id = await bench.account('practice', { region: 'ZA' });
    const domain = domainOf(bench.services);
    const received = (sender: string, text: string) =>
      bench.of('practice', 'inbox receive', { body: { sender, text } });
    const contact = (name: string, surname: string, mobile: string) =>
      bench.of('practice', 'contact add', { body: { name, surname, mobile } });
    for (let number = 10; number < 40; number += 1) {
      await received(`+2782555${number}1234`, `answer ${number}`);
      await contact('Patient', String(number), `+2782555${number}1234`);
    }
    const words = Array.from({ length: 25 }, (_, index) => `zb${String(index).padStart(2, '0')}`);
    await received('+27825550201', `${words.join(' ')} of the market`);
    await received('+27825550201', 'zb99 of the zoo');
    assert.equal(await domain.search.isComplete(id), true);
    const found = async (text: string) => {
      const search = await domain.search.received(id, text);
      const { isTooShort } = await domain.search.messages(id, text);
      assert.equal(isTooShort, search.isTooShort);
      return [(await search.read('newest', LAST, 100)).rows.length, isTooShort];
    };
    assert.deepEqual(await found('1234'), [30, false]);
    let pauses = 0;
    const pause = () => {
      pauses += 1;
      return undefined;
    };
    const restore = replaceTurns({ afterPoll: setImmediate, pause });
    await domain.search.messages(id, '1234').finally(restore);
    assert.ok(pauses >= 30, 'calls are answered between the lists of the numbers');
    const people = await domain.search.contactsWith(id, '1234');
    assert.deepEqual([(await people.read('oldest', FIRST, 100)).rows.length, people.isTooShort], [30, false]);
    assert.deepEqual(await found('zb'), [1, true]);
    assert.deepEqual(await found('zb9'), [1, false]);
    assert.deepEqual(await found('zb zoo'), [1, false], 'the other word leads to it');
  });
});
