import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { createUnsent, type Unsent } from '../../src/http/unsent-bytes.ts';
import { createPieces, get, isLive, start, text, wholeText } from '../support/byte-pieces.ts';
import { adopt } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { until } from '../support/program.ts';
import { openReceiver } from '../support/received-bytes.ts';
import { serve } from '../support/serving.ts';

/** How much of long answers may wait to be taken. */
const KIB = 1_024;
const MIB = 1_024 * KIB;

/** As many as there is room for. */
function fill(unsent: Unsent, receiver: bigint | undefined, isCompressed = false) {
  const all = [];
  for (;;) {
    try {
      all.push(unsent.hold(receiver, isCompressed));
    } catch (thrown) {
      assert.ok(thrown instanceof Problem);
      assert.deepEqual([thrown.kind, thrown.details.retryAfterSeconds], ['too-many', 1]);
      return all;
    }
  }
}

describe('unsent bytes', () => {
  test('an answer counts as 192 KiB from the start, a compressed one as 320 KiB', () => {
    const unsent = createUnsent(64 * MIB);
    assert.equal(fill(unsent, 1n).length, 85);
    assert.equal(fill(unsent, 2n, true).length, 51);
    assert.equal(unsent.bytes, (85 * 192 + 51 * 320) * KIB);
  });

  test('an account may use a quarter of the limit of a process, and all accounts together no more than the limit', () => {
    const unsent = createUnsent(64 * MIB);
    for (const receiver of [1n, 2n, 3n, 4n]) {
      assert.equal(fill(unsent, receiver).length, 85);
      assert.equal(unsent.bytes, Number(receiver) * 85 * 192 * KIB);
    }
    assert.equal(fill(unsent, 5n).length, 1);
    assert.equal(fill(unsent, undefined).length, 0);
    assert.equal(unsent.refused, 6);
  });

  test('bytes beyond 192 KiB of a response count as unsent and are released once', () => {
    const unsent = createUnsent(64 * MIB);
    const [holding, other] = [unsent.hold(1n, false), unsent.hold(1n, false)];
    holding.add(100 * KIB);
    assert.equal(unsent.bytes, 384 * KIB);
    holding.add(MIB);
    assert.equal(unsent.bytes, MIB + 292 * KIB);
    holding.add(-MIB);
    assert.equal(unsent.bytes, 384 * KIB);
    for (const each of [holding, holding, other]) each.release();
    holding.add(-100 * KIB);
    assert.equal(unsent.bytes, 0);
    assert.equal(fill(unsent, 1n).length, 85);
  });

  test('answers are collected as long as half of the room is free, of their account and of the process', () => {
    const unsent = createUnsent(64 * MIB);
    const [first, second, stranger] = [1n, 1n, 2n].map((receiver) => unsent.hold(receiver, false));
    assert.equal(first?.mayCollect, true);
    first?.add(8 * MIB);
    assert.deepEqual([first?.mayCollect, second?.mayCollect, stranger?.mayCollect], [false, false, true]);
    first?.release();
    assert.equal(second?.mayCollect, true);
    for (const receiver of [3n, 4n, undefined]) fill(unsent, receiver);
    assert.deepEqual([second?.mayCollect, stranger?.mayCollect], [false, false]);
  });

  test('while a client that reads nothing uses up the limit of its account, another client of it gets 429, and other accounts are served', async (t) => {
    const endless = createPieces(10_000, text); // more than any system holds
    const failed = (thrown: unknown) => ({ status: 429, headers: {}, body: (thrown as Problem).message });
    const own = (receiver: bigint) => ({ ...createPieces(40, text).reply, receiver, failed });
    const replies = { '/refused': own(1n), '/other': own(2n), '/again': own(1n) };
    // For each account room for one, and for none that is collected.
    const server = await start(
      t,
      { ...replies, '/endless': { ...endless.reply, receiver: 1n, failed } },
      { unsentBytesMax: 4 * 300 * KIB },
    );
    const deaf = openReceiver(server.address);
    deaf.pause();
    deaf.send(get('/endless'));
    await until('it is under way', () => server.traffic.unsentBytes === 192 * KIB);
    const client = openReceiver(server.address);
    client.send(get('/refused') + get('/other'));
    const [refused, other] = await client.answers(2);
    assert.deepEqual(
      [refused?.status, refused?.body.toString()],
      [429, 'Too many long answers have not been read yet. Try again later.'],
    );
    assert.ok(other?.body.toString() === wholeText(40));
    await isLive(server);
    assert.deepEqual([server.traffic.unsentBytes, server.traffic.unsentRefused], [192 * KIB, 1]);
    deaf.leave();
    await until('nothing is held any more', () => server.traffic.unsentBytes === 0);
    client.send(get('/again'));
    assert.ok((await client.answers(3))[2]?.body.toString() === wholeText(40));
    client.leave();
  });
});

onOneEngine('logs and metrics', (engine) => {
  test('a long list that gets 429 because too much is unsent is logged as too-many, not as ok', async () => {
    const kinds: string[] = [];
    const observe = ({ kind }: { kind: string }) => void kinds.push(kind);
    // An account has room for none.
    const { app } = await serve(await engine.fresh('empty'), { observe }, { unsentBytesMax: 600 * KIB });
    try {
      const templates = Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(2_000, '&'));
      await adopt(app, { username: 'deaf', userID: 'deaf', templates });
      const address = await app.start();
      const { status } = await fetch(`${address}/api/account.asmx/FetchSavedMessages?user_id=deaf`);
      assert.deepEqual([status, kinds], [429, ['too-many']]);
    } finally {
      await app.stop();
    }
  });
});
