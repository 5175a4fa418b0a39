import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { check } from '../../proof/checker/checker.ts';
import type { Event, History } from '../../proof/checker/history.ts';

/** A run in which everything went right: one message is delivered, one cancelled, one refused by the carrier. */
const RIGHT: readonly Event[] = [
  { kind: 'send-asked', token: 'a', account: 'acme', parts: 2 },
  { kind: 'accepted', token: 'a', id: '1' },
  { kind: 'send-asked', token: 'b', account: 'acme', parts: 1 },
  { kind: 'accepted', token: 'b', id: '2' },
  { kind: 'balances', account: 'acme', granted: 10n, free: 7n, held: 3n, used: 0n },
  { kind: 'cancel-asked', token: 'b' },
  { kind: 'cancelled', token: 'b' },
  { kind: 'submitted', token: 'a', part: 1, attemptId: '1', taken: 'no', answered: true },
  { kind: 'submitted', token: 'a', part: 1, attemptId: '2', taken: 'yes', answered: true },
  { kind: 'submitted', token: 'a', part: 2, attemptId: '3', taken: 'yes', answered: true },
  { kind: 'receipt-taken', token: 'a', part: 2, status: 'DELIVERED' },
  { kind: 'receipt-taken', token: 'a', part: 1, status: 'DELIVERED' },
  { kind: 'balances', account: 'acme', granted: 10n, free: 8n, held: 0n, used: 2n },
];
const OUTCOMES: History['outcomes'] = [{ token: 'a', list: 'sent', status: 'DELIVERED', captured: 2 }];
const checked = (events: readonly Event[], outcomes = OUTCOMES, more: Partial<History> = {}) =>
  check({ events, outcomes, unknownOutcomePolicy: 'never-twice', pendingReason: null, ...more }).map(
    ({ text }) => text,
  );
const found = (faults: readonly string[], pattern: RegExp) => {
  assert.equal(faults.length, 1, faults.join('\n'));
  assert.match(faults[0] as string, pattern);
};

describe('the checker finds each planted fault', () => {
  test('the checker finds no fault in a right history', () => assert.deepEqual(checked(RIGHT), []));

  test('the checker finds an accepted message that is lost', () =>
    found(
      checked([...RIGHT, { kind: 'send-asked', token: 'c', account: 'acme', parts: 1 }, accepted('c')]),
      /^c was accepted and is lost$/,
    ));

  test('the checker accepts that a message whose answer was lost is listed or not', () => {
    const events: Event[] = [...RIGHT, { kind: 'send-asked', token: 'c', account: 'acme', parts: 1 }];
    assert.deepEqual(checked(events), []);
    assert.deepEqual(checked(events, [...OUTCOMES, { token: 'c', list: 'sent', status: 'REJECTED', captured: 0 }]), []);
  });

  test('the checker finds a message that is listed twice', () =>
    found(checked(RIGHT, [...OUTCOMES, ...OUTCOMES]), /^a is listed 2 times$/));

  test('the checker finds a cancelled message that is still listed', () =>
    found(
      checked(RIGHT, [...OUTCOMES, { token: 'b', list: 'sent', status: 'DELIVERED', captured: 0 }]),
      /^b was cancelled and is still listed$/,
    ));

  test('the checker finds a message that is submitted after its cancel was acknowledged', () =>
    found(
      checked([...RIGHT, { kind: 'submitted', token: 'b', part: 1, attemptId: '9', taken: 'no', answered: true }]),
      /^b, part 1, was submitted after its cancel/,
    ));

  test('the checker finds a message that is submitted before its time, but not one that was claimed in time by a faster clock', () => {
    const claim = (number: number, nodeAt: number, message = 'c'): Event & { readonly attemptId: string } => ({
      kind: 'claimed',
      account: 'acme',
      attemptId: `${'0'.repeat(12)}${message.repeat(10)}${String(number).padStart(10, '0')}`,
      nodeAt,
    });
    const part = (number: number, nodeAt: number): Event[] => {
      const claimed = claim(number, nodeAt);
      const rest = { part: number, taken: 'no', answered: true } as const;
      return [claimed, { kind: 'submitted', token: 'c', attemptId: claimed.attemptId, ...rest }];
    };
    const asked: Event = { kind: 'send-asked', token: 'c', account: 'acme', parts: 2, sendAt: 1_000 };
    const early = (...events: Event[]) =>
      checked([...RIGHT, asked, accepted('c'), ...events]).filter((text) => text.includes('before its time'));
    found(early(...part(1, 999)), /^c, part 1, was submitted before its time$/);
    found(early(claim(1, 1_000, 'd'), ...part(2, 999)), /^c, part 2, was submitted before its time$/);
    assert.deepEqual(early(...part(2, 1_000), ...part(1, 700)), []);
    assert.deepEqual(early(claim(1, 1_000), ...part(2, 700)), [], 'the node that claimed it has died');
  });

  test('the checker finds a message that is submitted after the opt-out of its number was acknowledged', () => {
    const sent: Event = { kind: 'send-asked', token: 'c', account: 'acme', parts: 1, number: '+27825550201' };
    const optOut = (claimed: string[], number = '+27825550201'): Event[] => [
      { kind: 'opt-out-asked', account: 'acme', number },
      { kind: 'opted-out', account: 'acme', number, claimed },
    ];
    const submitted = (attemptId: string): Event => {
      const rest = { part: 1, taken: 'no', answered: true } as const;
      return { kind: 'submitted', token: 'c', attemptId, ...rest };
    };
    const ended: History['outcomes'] = [
      ...OUTCOMES,
      { token: 'c', list: 'sent', status: 'DELETED', captured: 0, held: 0 },
    ];
    const before = [...RIGHT, sent, accepted('c')];
    assert.deepEqual(checked([...before, submitted('8'), ...optOut([])], ended), []);
    assert.deepEqual(checked([...before, ...optOut([])]), [], 'a scheduled one is gone');
    assert.deepEqual(checked([...before, ...optOut(['c']), submitted('8')], ended), [], 'it was claimed');
    const late = /^c, part 1, was submitted after its number had opted out$/;
    found(checked([...before, ...optOut([]), submitted('8')], ended), late);
    found(checked([...before, ...optOut(['c']), submitted('8'), submitted('9')], ended), late);
    const others = [...before, ...optOut([], '+27825550202'), submitted('8')];
    found(checked(others, ended), /^c is DELETED, and nobody asked for that$/);
  });

  test('the checker finds credits that are not free again after an opt-out', () => {
    const sent: Event = { kind: 'send-asked', token: 'c', account: 'acme', parts: 1, number: '+27825550201' };
    const optOut: Event[] = [
      { kind: 'opt-out-asked', account: 'acme', number: '+27825550201' },
      { kind: 'opted-out', account: 'acme', number: '+27825550201', claimed: [] },
    ];
    const outcome = { token: 'c', list: 'sent', status: 'DELETED', captured: 0, held: 1 } as const;
    const faults = checked([...RIGHT, sent, accepted('c'), ...optOut], [...OUTCOMES, outcome]);
    found(faults, /^c has ended \(DELETED\), and 1 credits are held for it$/);
  });

  test('the checker finds a submitted message that nobody asked for', () =>
    found(
      checked([...RIGHT, { kind: 'submitted', token: 'x', part: 1, attemptId: '9', taken: 'no', answered: true }]),
      /^x was submitted and never accepted$/,
    ));

  test('the checker finds a refused message that is submitted', () =>
    found(
      checked([
        ...RIGHT,
        { kind: 'send-asked', token: 'c', account: 'acme', parts: 1 },
        { kind: 'refused', token: 'c' },
        { kind: 'submitted', token: 'c', part: 1, attemptId: '9', taken: 'no', answered: true },
      ]),
      /^c was submitted and never accepted$/,
    ));

  test('the checker finds a part that is submitted again after it was accepted, unless the policy allows it', () => {
    const second: Event = { kind: 'submitted', token: 'a', part: 1, attemptId: '9', taken: 'yes', answered: true };
    found(checked([...RIGHT, second]), /^a, part 1, was submitted again/);
    const unanswered = RIGHT.map((event) =>
      event.kind === 'submitted' && event.attemptId === '2' ? { ...event, answered: false } : event,
    );
    found(checked([...unanswered, second]), /^a, part 1, was submitted again/);
    assert.deepEqual(checked([...unanswered, second], OUTCOMES, { unknownOutcomePolicy: 'submit-again' }), []);
    found(
      checked([...RIGHT, second], OUTCOMES, { unknownOutcomePolicy: 'submit-again' }),
      /^a, part 1, was submitted again/,
    );
    const late = RIGHT.map((event) =>
      event.kind === 'submitted' ? { ...event, answeredAt: RIGHT.length + 1 } : event,
    );
    found(
      checked([...late, second], OUTCOMES, { unknownOutcomePolicy: 'submit-again' }),
      /^a, part 1, was submitted again/,
    );
    const jump: Event = { kind: 'clock-jumped' };
    assert.deepEqual(checked([...late, jump, second], OUTCOMES, { unknownOutcomePolicy: 'submit-again' }), []);
    const again = checked([...RIGHT, jump, second], OUTCOMES, { unknownOutcomePolicy: 'submit-again' });
    found(again, /^a, part 1, was submitted again/);
    found(checked([...late, second]), /^a, part 1, was submitted again/);
  });

  test('the checker finds an attempt id that is used twice', () =>
    found(
      checked(RIGHT.map((event) => (event.kind === 'submitted' ? { ...event, attemptId: '1' } : event))),
      /^a used an attempt id twice$/,
    ));

  test('the checker finds a message that is pending for no reason', () => {
    const outcomes: History['outcomes'] = [{ token: 'a', list: 'sent', status: 'SUBMITTED', captured: 2 }];
    const events = RIGHT.filter(({ kind }) => kind !== 'receipt-taken');
    found(checked(events, outcomes), /^a is pending \(sent, SUBMITTED\) for no reason$/);
    assert.deepEqual(checked(events, outcomes, { pendingReason: () => 'the carrier sent no receipt' }), []);
  });

  test('the checker finds a receipt that is acknowledged and lost', () =>
    found(
      checked(RIGHT, [{ token: 'a', list: 'sent', status: 'EXPIRED', captured: 2 }]),
      /^a has the status EXPIRED, and its receipts said DELIVERED$/,
    ));

  test('the checker expects no effect of a receipt after an operator has decided that the message was not submitted', () => {
    const outcomes: History['outcomes'] = [{ token: 'a', list: 'sent', status: 'REJECTED', captured: 2 }];
    found(checked(RIGHT, outcomes), /^a has the status REJECTED, and its receipts said DELIVERED$/);
    const decided: Event = { kind: 'decision-asked', token: 'a', decision: 'not-submitted' };
    assert.deepEqual(checked([...RIGHT, decided], outcomes), []);
  });

  test('the checker accepts that a failed message is UNKNOWN while the outcome of a newer attempt is unknown', () => {
    const outcomes: History['outcomes'] = [{ token: 'a', list: 'sent', status: 'UNKNOWN', captured: 2 }];
    const failed = RIGHT.map((event) => (event.kind === 'receipt-taken' ? { ...event, status: 'EXPIRED' } : event));
    assert.equal(checked(failed, outcomes).length, 2, 'it is pending for no reason, and its receipts say otherwise');
    assert.deepEqual(checked(failed, outcomes, { pendingReason: () => 'an operator decides' }), []);
  });

  test('the checker finds a message that is submitted again after a restore, unless it was brought forward and nothing scheduled is held', () => {
    const AT = 1_000;
    const sent = (attemptId: string): Event[] => [
      { kind: 'submitted', token: 'c', part: 1, attemptId, taken: 'yes', answered: true },
      { kind: 'receipt-taken', token: 'c', part: 1, status: 'DELIVERED' },
    ];
    const played = (sendAt: number | null, newTime: number, holdsScheduled: boolean, isKnown = false) => {
      const moved: Event[] = [
        { kind: 'reschedule-asked', token: 'c', sendAt: newTime },
        { kind: 'rescheduled', token: 'c', sendAt: newTime },
      ];
      const history: readonly Event[] = [
        { kind: 'send-asked', token: 'c', account: 'acme', parts: 1, sendAt },
        accepted('c'),
        ...(isKnown ? moved : []),
        { kind: 'backup-taken' },
        ...(isKnown ? [] : moved),
        ...sent('c1'),
        { kind: 'restored', holdsScheduled, at: AT },
        ...sent('c2'),
      ];
      return checked(history, [{ token: 'c', list: 'sent', status: 'DELIVERED', captured: 1 }]);
    };
    const LATER = 2 * AT;
    const again = (faults: readonly string[]) =>
      assert.deepEqual(faults, [
        'c, part 1, was submitted again after the carrier took it',
        'c, part 1, was submitted again after a backup was restored',
      ]);
    assert.deepEqual(played(LATER, AT - 1, false), []);
    again(played(LATER, AT - 1, true));
    again(played(LATER, AT - 1, false, true));
    again(played(LATER, LATER + 1, false));
    again(played(AT - 1, AT - 2, false));
    again(played(null, AT - 1, false));
  });

  test('the checker finds credits that do not add up at a snapshot', () =>
    found(
      checked([...RIGHT, { kind: 'balances', account: 'acme', granted: 10n, free: 9n, held: 0n, used: 2n }]),
      /^acme: 9 free, 0 held and 2 used are not the 10/,
    ));

  test('the checker finds credits that are used for parts that no carrier accepted, and accepted parts without used credits', () => {
    const used = (captured: number): History['outcomes'] => [
      { token: 'a', list: 'sent', status: 'DELIVERED', captured },
    ];
    found(checked(RIGHT, used(3)), /^a \(DELIVERED\): 3 credits are used, and the carrier took parts for 2 to 2$/);
    found(checked(RIGHT, used(1)), /^a \(DELIVERED\): 1 credits are used/);
  });

  test('the checker finds credits that are used before an operator has decided', () => {
    const events = RIGHT.filter(({ kind }) => kind !== 'receipt-taken');
    const unanswered = (captured: number): string[] => {
      const outcome = { token: 'a', list: 'sent', status: 'UNKNOWN', captured, needsDecision: true } as const;
      return checked(events, [outcome], { pendingReason: () => 'an operator decides' });
    };
    assert.deepEqual(unanswered(0), []);
    found(unanswered(1), /^a \(UNKNOWN\): 1 credits are used/);
  });
});

function accepted(token: string): Event {
  return { kind: 'accepted', token, id: '7' };
}
