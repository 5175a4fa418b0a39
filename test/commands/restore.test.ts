import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { createConnectors } from '../../src/domain/sending/connectors.ts';
import { moveIntoPlace } from '../../src/serve/backup/recover.ts';
import { columba, freshPath } from '../support/command.ts';
import { MINUTE, message, openSendingOn, SMPP_CARRIER } from '../support/sending.ts';

/** A backup of a service whose carrier has two messages; one is due, and one is due tomorrow. */
async function backedUp() {
  const [path, folder] = [freshPath('db'), freshPath('backup')];
  const sending = await openSendingOn(`sqlite:${path}`);
  sending.clock.now = Date.now() - MINUTE;
  await createConnectors(sending.database, sending.now).prepare([SMPP_CARRIER], SMPP_CARRIER);
  const account = await sending.addAccount();
  await sending.accept(account, message({ to: ['+27825550201', '+27825550202'] }));
  const claimed = await sending.claiming.claim({ connector: SMPP_CARRIER.name, isDefault: true }, 10);
  await sending.settling.settle(
    claimed.map((each, index) => ({
      message: each,
      parts: [{ part: 1, state: 'accepted', gatewayId: `g-${index}` }],
      outcome: { kind: 'submitted' },
    })),
  );
  await sending.accept(account, message({ to: ['+27825550203'] }));
  await sending.accept(account, message({ to: ['+27825550204'], sendAt: Date.now() + 24 * 60 * MINUTE }));
  await sending.database.close();
  const [from, on] = [
    ['--from', `file:${folder}`],
    ['--database', `sqlite:${path}`],
  ];
  for (const command of [
    ['restore', '--adopt', '--nothing-lost'],
    ['backup', 'now', ...from],
  ]) {
    const { code, stderr } = await columba([...command, ...on]);
    assert.equal(code, 0, stderr);
  }
  return from;
}

describe('columba restore', () => {
  test('what is held, what carriers are asked about and what is due later is told by a dry run, a restore and an adoption', async () => {
    const from = await backedUp();
    const on = ['--database', `sqlite:${freshPath('db')}`];
    const told = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await columba([...args, ...on]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const WOULD =
      'hold 1 message for a decision, and ask carriers about 2 parts that they had before. Nothing was changed.';
    const DUE_LATER = 'Due later: 1 message. With --hold-scheduled they are held then,';
    const dry = await told('restore', '--dry-run', ...from);
    assert.match(dry, /^Would restore the state of 20\S+, and hold 1 message/);
    assert.ok(dry.includes(`${WOULD}\n${DUE_LATER}`), dry);
    const json = JSON.parse(await told('restore', '--dry-run', '--json', ...from));
    assert.deepEqual({ ...json, restoredTo: '' }, { isDryRun: true, restoredTo: '', held: 1, scheduled: 1, asked: 2 });

    const [first, ...others] = (await told('restore', '--hold-scheduled', ...from)).trimEnd().split('\n');
    assert.match(first ?? '', /^Restored the state of 20\S+ as generation \d+\. Held for a decision: 1 message\.$/);
    assert.deepEqual(others, [
      'Show them with columba queue list --restored true, and decide with columba queue decide --restored.',
      'Due later, and held then: 1 message.',
      'Carriers will be asked about 2 parts that they had before.',
    ]);

    const again = await told('restore', '--adopt', '--dry-run');
    assert.ok(again.startsWith(`Would ${WOULD}\n${DUE_LATER}`), again);
    assert.match(
      await told('restore', '--adopt'),
      /^The database is adopted as generation \d+\. Held for a decision: 1 message\.\n[\s\S]+\nCarriers will be asked about 2 parts/,
    );
  });

  test('what is held when it is due is sent then, after columba queue decide submit-again --scheduled', async () => {
    const from = await backedUp();
    const on = ['--database', `sqlite:${freshPath('db')}`];
    assert.equal((await columba(['restore', '--hold-scheduled', ...from, ...on])).code, 0);
    const held = 'is held when it is due: may have been sent after the backup that was restored';
    const queue = async () => (await columba(['queue', 'list', ...on])).stdout;
    assert.ok((await queue()).includes(held));
    const refused = await columba(['queue', 'decide', 'submitted', '--scheduled', ...on]);
    assert.deepEqual([refused.code, /scheduled: expected the decision submit-again/.test(refused.stderr)], [1, true]);
    const decided = await columba(['queue', 'decide', 'submit-again', '--scheduled', ...on]);
    assert.equal(decided.stdout, 'Decided: 1.\n', decided.stderr);
    assert.ok(!(await queue()).includes(held));
  });
});

test('a restored database has its name on disk before the command ends, so a failure of the power does not undo it', (t) => {
  const [temporary, path] = [freshPath('restored'), freshPath('db')];
  for (const end of ['', '-generation']) fs.writeFileSync(temporary + end, '');
  fs.writeFileSync(path, '');
  const calls: string[] = [];
  const { fsyncSync, renameSync } = fs;
  t.mock.method(fs, 'renameSync', (from: string, to: string) => {
    renameSync(from, to);
    calls.push('rename');
  });
  t.mock.method(fs, 'fsyncSync', (file: number) => {
    fsyncSync(file);
    calls.push(`sync ${fs.fstatSync(file).ino}`);
  });
  syncBuiltinESMExports();
  try {
    moveIntoPlace(temporary, path, Date.now());
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
  assert.deepEqual(calls, ['rename', 'rename', 'rename', `sync ${fs.statSync(dirname(path)).ino}`]);
});
