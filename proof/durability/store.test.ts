import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { columba, freshDatabase, type Server, serving } from '../../test/support/command.ts';
import { SAMPLE } from '../../test/support/engines.ts';
import { ACME } from '../../test/support/service.ts';

/** The whole program on a real file, killed in the middle of its work. */
const ROUNDS = 4;
const CLIENTS = 8;
const WRITES_BEFORE_KILL = 40;

const url = (server: Server, call: string) =>
  `${server.address}/api/${call}${call.includes('?') ? '&' : '?'}user_id=${ACME}`;

async function isTrue(server: Server, call: string): Promise<boolean> {
  const answer = await fetch(url(server, call));
  return answer.status === 200 && (await answer.text()).includes('>true<');
}

describe('a crash', () => {
  test('every acknowledged write survives kill -9, and the database contains nothing that was not written', async () => {
    const database = freshDatabase();
    const { code, stderr } = await columba(['import', SAMPLE, '--database', database]);
    assert.equal(code, 0, stderr);
    const asked = new Set<string>();
    const acknowledged = new Set<string>();

    for (let round = 0; round < ROUNDS; round++) {
      const server = await serving(['--database', database]);
      let alive = true;
      const enough = Promise.withResolvers<void>();
      let written = 0;
      const client = async (name: number) => {
        for (let number = 0; alive; number++) {
          const text = `round ${round} client ${name} number ${number}`;
          asked.add(text);
          try {
            if (!(await isTrue(server, `account.asmx/SaveMessageTemplate?message=${encodeURIComponent(text)}`))) return;
          } catch {
            return; // killed before it answered: the write may be there or not
          }
          acknowledged.add(text);
          if (++written === WRITES_BEFORE_KILL) enough.resolve();
        }
      };
      const clients = Array.from({ length: CLIENTS }, (_, name) => client(name));
      await enough.promise;
      server.child.kill('SIGKILL');
      alive = false;
      await Promise.all([server.ended, ...clients]);
      assert.ok(acknowledged.size >= (round + 1) * WRITES_BEFORE_KILL);
    }

    const server = await serving(['--database', database]);
    const answer = await fetch(url(server, 'account.asmx/FetchSavedMessages'));
    const kept = [...(await answer.text()).matchAll(/<string>(round [^<]*)<\/string>/g)].map(
      ([, text]) => text as string,
    );
    assert.deepEqual(
      [...acknowledged].filter((text) => !kept.includes(text)),
      [],
    );
    assert.deepEqual(
      kept.filter((text) => !asked.has(text)),
      [],
    );
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });

  test('programs that start at the same time on a new database wait for one another', async () => {
    const database = freshDatabase();
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, (_, index) => columba(['account', 'add', `${index}`, '--database', database])),
    );
    for (const { code, stderr } of outcomes) assert.deepEqual([code, stderr], [0, '']);
  });
});
