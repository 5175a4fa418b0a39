import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { conflict, Problem } from '../../src/base/problem.ts';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import type { Connector, ReceivedReceipt, Submission, SubmitResult } from '../../src/carriers/connector.ts';
import { createGateway } from '../../src/carriers/gateway.ts';
import { readConfig } from '../../src/config/settings.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import { createCancellation } from '../../src/domain/sending/cancel.ts';
import { createExpiry } from '../../src/domain/sending/expire.ts';
import { heldReceipts } from '../../src/domain/sending/receipts.ts';
import { createServices } from '../../src/serve/compose/services.ts';
import { sql } from '../../test/support/opened-database.ts';
import type { Answer, Ask, FromNode, NodeSettings, SubmittedPart, ToNode } from './protocol.ts';

/** A node of a chaos run: the domain and the dispatcher, with a carrier in the process of the run. */
const settings = JSON.parse(process.argv[2] as string) as NodeSettings;
let offsetMs = 0;
const now = () => Date.now() + offsetMs;
const log = pino({ level: 'silent' });
const tell = (message: FromNode) => void process.send?.(message);

const clock = { ...systemClock, now };
const services = await createServices(readConfig({ COLUMBA_DATABASE: settings.database }), { clock, log });
const { database } = services;
const accepting = createAccepting(database, now);
const cancellation = createCancellation(database, now);
const events = createCarrierEvents(database, now);
let calls = 0;
const submitting = new Map<number, (results: SubmitResult[]) => void>();

/** Byte 5 of the user data header is the number of the part. */
const partOf = ({ attemptId, text, udh }: Submission): SubmittedPart => ({ attemptId, text, part: udh?.[5] ?? 1 });

const carrier = (name: string): Connector => ({
  name,
  kind: 'loopback',
  start: async () => {},
  stop: async () => {},
  submit: (parts, signal) =>
    new Promise((resolve) => {
      const call = ++calls;
      submitting.set(call, resolve);
      signal.addEventListener('abort', () => {
        if (submitting.delete(call)) resolve(parts.map(() => ({ kind: 'unknown-outcome', reason: 'no answer' })));
      });
      tell({ kind: 'submit', call, parts: parts.map(partOf) });
    }),
});

const gateway = createGateway({
  defaultRegion: 'ZA',
  database,
  clock,
  events,
  onGatewayIds: heldReceipts,
  ofFile: [],
  settings: { ...settings.times, pollMs: 50, stopTimeoutMs: 1_000 },
  failed: () => {},
  create: carrier,
});

/** Often, so that it meets claims and settlements of other nodes. */
const expire = createExpiry(database, now, (work) => work().catch(() => {}));
void (async () => {
  for (;;) {
    await expire(() => false).catch(() => {});
    await sleep(100, undefined, { ref: false });
  }
})();

const claimedTexts = sql<{ account: bigint; number: string }, { text: string }>(
  `select text from dispatch join sent on sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id
   where dispatch.account_id = :account and sent.recipient = :number and state = 'submitting'`,
);

/** Resolves when the answers that have come are on disk, however often a connection breaks meanwhile. */
async function onDisk(): Promise<void> {
  await sleep(0); // an answer of this turn is on its way to the settler
  await gateway.settled();
}

async function perform(ask: Ask): Promise<Record<string, string>> {
  switch (ask.kind) {
    case 'send': {
      const account = await accountId(database, ask.account);
      const { accepted } = await accepting.accept(
        account,
        { region: 'ZA', timeZone: null, quietHours: null },
        {
          recipients: [{ number: ask.number, text: ask.text }],
          sender: null,
          reference: null,
          sendAt: ask.delayMs === null ? null : now() + ask.delayMs,
          notAfter: ask.validMs === null ? null : now() + (ask.delayMs ?? 0) + ask.validMs,
        },
      );
      if (accepted.length === 0) throw conflict('The number is on the blacklist.');
      gateway.wake();
      return { id: String(accepted[0]?.id) };
    }
    case 'cancel': {
      const account = await accountId(database, ask.account);
      await cancellation.cancel(account, BigInt(ask.id));
      return {};
    }
    case 'opt-out': {
      const account = await accountId(database, ask.account);
      await services.blacklist.add(account, ask.number, null);
      const claimed = await database.all(claimedTexts, { account, number: ask.number });
      return { claimed: JSON.stringify(claimed.map(({ text }) => text)) };
    }
    case 'receipt': {
      const status = ask.status as ReceivedReceipt['status'];
      const { attemptId } = ask;
      await events.receipt({ connector: 'loopback', attemptId, gatewayId: null, status, at: now(), detail: null });
      return {};
    }
    case 'balances': {
      const account = await accountId(database, ask.account);
      const { free, held, used } = await services.ledger.balances(account);
      return { free: String(free), held: String(held), used: String(used) };
    }
    case 'clock':
      offsetMs = ask.offsetMs;
      gateway.wake();
      return {};
    case 'settle':
      await onDisk();
      return {};
    case 'stop':
      await gateway.stop();
      await services.stop();
      return {};
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['bad-argument', 'conflict', 'not-found']);

async function answerOf(ask: Ask): Promise<Answer> {
  try {
    return { kind: 'done', values: await perform(ask) };
  } catch (thrown) {
    const isRefusal = thrown instanceof Problem && REFUSALS.has(thrown.kind);
    return { kind: isRefusal ? 'refused' : 'failed', reason: String(thrown) };
  }
}

process.on('message', async (message: ToNode) => {
  if (message.kind === 'submitted') {
    const resolve = submitting.get(message.call);
    submitting.delete(message.call);
    resolve?.([...message.results]);
    if (!resolve) return;
    await onDisk();
    tell({ kind: 'heard', call: message.call });
    return;
  }
  tell({ kind: 'answer', call: message.call, answer: await answerOf(message.ask) });
  if (message.ask.kind === 'stop') process.disconnect();
});
process.on('disconnect', () => process.exit());
await gateway.start();
tell({ kind: 'serving' });
