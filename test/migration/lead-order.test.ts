import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import type { RawAnswer, RawRequest } from '../../src/migration/compare/redaction.ts';
import type { SeenCall } from '../../src/migration/old-server/call-reader.ts';
import { createLead, type LeadSettings } from '../../src/migration/proxy/lead.ts';
import { createSeal } from '../../src/migration/proxy/write-seal.ts';

/** The old server gets the writes of an account in the order of their ids, and Columba too. */

const CALL = {
  protocol: 'get',
  group: 'account',
  operation: 'MoveContactToNewGroup',
  userId: 'somebody',
} as SeenCall;
const REQUEST = { method: 'GET', path: '/', rawHeaders: [], body: null } as unknown as RawRequest;
const DONE = { status: 200, headers: {}, body: Buffer.from('<boolean>true</boolean>') } as unknown as RawAnswer;

function startLead() {
  const begun: bigint[] = [];
  const open: (() => void)[] = [];
  let asked = 0;
  const columba = {
    exchange: () => {
      asked += 1;
      return new Promise<RawAnswer>((resolve) => open.push(() => resolve(DONE)));
    },
  };
  const writes = {
    begin: async () => {
      begun.push(BigInt(begun.length + 1));
      return begun.at(-1);
    },
    setDue: async () => {},
    remove: async () => {},
    extend: async () => {},
  };
  const lead = createLead({
    writes,
    columba,
    columbaCalls: { call: async () => assert.fail('no list is asked for') },
    seal: createSeal(Buffer.from('a key for tests')),
    availability: { isDown: false, noteFailure: () => {} },
    compare: { listLimit: 10 },
    deliveries: { behind: new Set() },
    bypass: { isCurrent: async () => true },
    clock: systemClock,
    failed: assert.fail,
  } as unknown as LeadSettings);
  return { lead, open, asked: () => asked, begun };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('a write of an account in lead begins when the one before it has its answer, and other accounts do not wait', async () => {
  const { lead, open, asked, begun } = startLead();
  const answers = [lead.write(1n, CALL, REQUEST), lead.write(1n, CALL, REQUEST), lead.write(2n, CALL, REQUEST)];
  answers.forEach((answer) => {
    answer.catch(() => {});
  });
  await turns();
  assert.deepEqual([asked(), begun.length], [2, 2], 'one of each account');
  open[0]?.();
  await turns();
  assert.deepEqual([asked(), begun.length], [3, 3]);
  for (const each of open) each();
  assert.equal((await Promise.allSettled(answers)).length, 3);
});
