import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf } from '../../src/console/messages/message-story.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { createReceipts } from '../../src/domain/sending/receipts.ts';
import { createSettling, type Outcome } from '../../src/domain/sending/settle.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** Why a message did not arrive, as its page tells it. */

const params = { username: 'acme' };

onEveryEngine('the story of a message', (engine) => {
  async function opened(t: { after(work: () => Promise<void>): void }): Promise<{
    api: OperatorApi;
    client: ConsoleClient;
    id: string;
    answer: (outcome: Outcome) => Promise<void>;
    page: () => Promise<string>;
  }> {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    const { database } = api.services;
    await act(api, 'account add', { body: { username: 'acme', region: 'ZA', credits: '100' } });
    const body = { recipients: ['0825550201'], text: 'Hello' };
    const { accepted } = await act<{ accepted: { id: string }[] }>(api, 'message send', { params, body });
    const id = accepted[0]?.id ?? '';
    const now = () => api.clock.now;
    const times = { leaseMs: 60_000, unknownOutcomeMs: 900_000 };
    const claiming = createClaiming(database, { now, owner: 'test', newAttemptId, ...times });
    const settling = createSettling(database, now);
    const client = await signedIn(api, params);
    return {
      api,
      client,
      id,
      async answer(outcome) {
        const [message] = await claiming.claim({ connector: 'loopback', isDefault: true }, 1);
        assert.ok(message);
        api.clock.now += 2_000;
        const state =
          outcome.kind === 'submitted' ? 'accepted' : outcome.kind === 'unknown-outcome' ? outcome.kind : 'refused';
        const gatewayId = state === 'accepted' ? 'a81-5530c2' : null;
        const parts = message.parts.map(({ number }) => ({ part: number, state, gatewayId }) as const);
        await settling.settle([{ message, parts, outcome }]);
      },
      page: async () =>
        (await client.get(`/console/messages/${id}`)).text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' '),
    };
  }

  test('a message that is tried again shows the words of the carrier and the time of the next attempt', async (t) => {
    const { api, answer, page } = await opened(t);
    const dueAt = api.clock.now + 20_000;
    await answer({ kind: 'waiting', dueAt, reason: 'ESME_RTHROTTLED (0x58)' });
    const said = await page();
    assert.match(said, /What happens next Attempt 1 was not successful\. The next one is at 15 Nov 2026, 12:00:20/);
    assert.match(said, /The carrier’s words: ESME_RTHROTTLED \(0x58\)/);
    assert.match(said, /Attempt 1: not taken .* Through loopback, answered after 2\.0 s/);
    assert.doesNotMatch(said, /Why it did not arrive/);
  });

  test('every attempt keeps its own words, and the credits stand beside the step that moved them', async (t) => {
    const { api, answer, page } = await opened(t);
    await answer({ kind: 'waiting', dueAt: api.clock.now + 5_000, reason: 'busy' });
    api.clock.now += 10_000;
    await answer({ kind: 'submitted' });
    const said = await page();
    assert.match(
      said,
      /Accepted from you .* 1 credit held\..*Attempt 1: not taken.*busy.*Attempt 2: the carrier took it/,
    );
    assert.match(said, /The carrier’s id: a81-5530c2/);
    assert.match(said, /With the carrier [^.]* 1 credit used\./);
    assert.match(said, /Its receipt is awaited for up to 72 hours/);
  });

  test('a refusal of the carrier is called the carrier’s, and one of ours is called ours', async (t) => {
    const refused = await opened(t);
    await refused.answer({ kind: 'rejected', reason: 'ESME_RINVDSTADR (0x0B)' });
    const said = await refused.page();
    assert.match(said, /Why it did not arrive Refused\. The carrier did not take or deliver it\./);
    assert.match(said, /The carrier’s words: ESME_RINVDSTADR \(0x0B\) What to do:/);
    assert.match(said, /1 credit free again\./);
    const own = await opened(t);
    await act(own.api, 'blacklist add', { params, body: { number: '+27825550201' } });
    const blocked = await own.page();
    assert.match(blocked, /Why it did not arrive Ended by Columba\. Columba did not hand it to a carrier\./);
    assert.match(blocked, /Our reason: the recipient is on the blacklist/);
    assert.doesNotMatch(blocked, /The carrier’s words/);
  });

  test('a message that the carrier deleted is not called cancelled, on its page, in conversations and in the search', async (t) => {
    const { api, client, answer, page } = await opened(t);
    await answer({ kind: 'submitted' });
    const now = () => api.clock.now;
    const about = { connector: 'loopback', attemptId: null, gatewayId: 'a81-5530c2', at: now(), detail: null };
    await createReceipts(api.services.database, now).receive({ ...about, status: 'DELETED' });
    const said = await page();
    assert.match(said, /Why it did not arrive Deleted by the carrier\./);
    for (const path of ['conversation?with=%2B27825550201', 'conversations', 'search?q=Hello', 'sent']) {
      const { text } = await client.get(`/console/${path}`);
      assert.match(text, /Deleted by the carrier/, path);
      assert.doesNotMatch(text, /<span[^>]*>(<svg.*?<\/svg>)?Cancelled/, path);
    }
  });

  test('an unknown outcome says that nobody knows, and when the settings of the account decide', async (t) => {
    const { api, answer, page } = await opened(t);
    await answer({ kind: 'unknown-outcome', dueAt: api.clock.now + 900_000, reason: 'no answer within 30 s' });
    const said = await page();
    assert.match(said, /nobody knows whether it has the message\. .* decide at 15 Nov 2026, 12:15:00/);
    assert.match(said, /Attempt 1: no answer, so its outcome is unknown/);
  });
});

test('states of many parts that say the same are one step with their number and the sum of their credits', () => {
  const movement = (id: bigint) =>
    ({
      id,
      kind: 'capture',
      amount: 1n,
      from: 'held',
      to: 'used',
      at: 1,
      messageId: 1n,
      reason: null,
      reference: null,
    }) as const;
  const state = (status: string, text: string | null, id: bigint) =>
    ({
      kind: 'status',
      at: 1,
      status,
      words: text === null ? null : { text, isOurs: false },
      credits: [movement(id)],
    }) as const;
  const steps = stepsOf([
    { kind: 'accepted', at: 0, credits: 3n },
    state('SUBMITTED', null, 1n),
    state('SUBMITTED', 'part 1 of 3: DELIVERED', 2n),
    state('SUBMITTED', 'part 2 of 3: DELIVERED', 2n), // the same movement, because both came at once
    state('SUBMITTED', 'part 3 of 3: EXPIRED', 3n),
    state('EXPIRED', null, 4n),
  ]);
  assert.deepEqual(
    steps.map(({ event, times }) =>
      event.kind === 'status' ? [event.status, event.words?.text, event.credits.length, times] : [event.kind, times],
    ),
    [
      ['accepted', 1],
      ['SUBMITTED', undefined, 1, 1],
      ['SUBMITTED', 'DELIVERED', 1, 2],
      ['SUBMITTED', 'part 3 of 3: EXPIRED', 1, 1],
      ['EXPIRED', undefined, 1, 1],
    ],
  );
});
