import assert from 'node:assert/strict';
import type { Connector } from '../../src/carriers/connector.ts';
import { kannel } from '../../test/support/kannel.ts';
import { NEVER, type Recording, submissionOf } from '../../test/support/kannel-recording.ts';
import { testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import type { Smsc } from '../../test/support/smsc.ts';

/** What a suite of a way to Kannel has before its tests. */
export interface Way {
  readonly smsc: Smsc;
  readonly connector: Connector;
  readonly recording: Recording;
}

export function submitBy(way: () => Way) {
  return async (...parts: Parameters<typeof submissionOf>[]) => {
    const submissions = parts.map((part) => submissionOf(...part));
    return { submissions, results: await way().connector.submit(submissions, NEVER) };
  };
}

/** What holds for both ways to a real Kannel. */
export function testBothWays(way: () => Way): void {
  const peer = kannel();
  const submit = submitBy(way);

  testWith(peer, 'a text keeps blanks and line feeds at its ends', async () => {
    const { smsc } = way();
    await submit([' \n a \n ']);
    await until('the carrier has it', () => smsc.submitted.length === 1);
    assert.equal(smsc.submitted[0]?.body, '200a2061200a20');
  });

  testWith(
    peer,
    'a long text is sent in parts with our header, each with its own receipt, and UCS-2 as UTF-16BE',
    async () => {
      const { smsc, recording } = way();
      const udh = (number: number) => Buffer.from([5, 0, 3, 0xab, 2, number]);
      const { submissions, results } = await submit(
        ['x'.repeat(153), { udh: udh(1) }],
        ['end', { udh: udh(2) }],
        ['Привет 😀', { encoding: 'ucs2' }],
      );
      assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['accepted']));
      await until('all receipts', () => submissions.every(({ attemptId }) => recording.of(attemptId).length === 2));
      const bodies = new Map(smsc.submitted.map((pdu) => [pdu.udh, pdu]));
      assert.equal(bodies.get('0003ab0201')?.body.length, 306);
      assert.equal(bodies.get('0003ab0202')?.body, '656e64');
      assert.equal(bodies.get(null)?.dataCoding, 8);
      assert.equal(bodies.get(null)?.body, Buffer.from('Привет 😀', 'utf16le').swap16().toString('hex'));
    },
  );

  testWith(
    peer,
    'messages from phones are received in GSM 7-bit and UCS-2, from alphanumeric senders and in parts',
    async () => {
      const { smsc, recording } = way();
      const from = recording.incoming.length;
      smsc.send({ from: '46700000001', to: '12345', text: 'a + b & c = 100 %41' });
      smsc.send({ from: 'BANK', to: '12345', text: 'Привет 😀', encoding: 'ucs2' });
      smsc.send({ from: '46700000002', to: '12345', text: 'first ', udh: '0500037f0201' });
      smsc.send({ from: '46700000002', to: '12345', text: 'second', encoding: 'ucs2', udh: '06080412340202' });
      await until('all four', () => recording.incoming.length === from + 4);
      const all = recording.incoming.slice(from);
      const of = (text: string) => all.find((each) => each.text === text) ?? assert.fail(text);
      const { sender, destination, part } = of('a + b & c = 100 %41');
      assert.deepEqual([sender, destination, part], ['+46700000001', '12345', null]);
      assert.equal(of('Привет 😀').sender, 'BANK');
      assert.deepEqual(of('first ').part, { reference: 0x7f, total: 2, number: 1 });
      assert.deepEqual(of('second').part, { reference: 0x1234, total: 2, number: 2 });
      assert.equal(new Set(all.map(({ gatewayId }) => gatewayId)).size, 4);
      assert.ok(all.every(({ receivedAt }) => Math.abs(receivedAt - Date.now()) < 3_600_000));
    },
  );
}
