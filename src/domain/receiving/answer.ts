import { createHash } from 'node:crypto';
import { Problem } from '../../base/problem.ts';
import { e164 } from '../../sms/numbers.ts';
import { partsOf } from '../../sms/parts.ts';
import type { Database, Transaction } from '../../store/database.ts';
import { joined } from '../../store/transactions.ts';
import { balancesOf } from '../accounts/ledger.ts';
import { createAccepting, type SendingAccount } from '../sending/accept.ts';
import { addOnceWithin } from './incoming.sql.ts';

/**
 * The answer to a STOP or HELP word. It is a message like any other, which costs credits and obeys
 * quiet hours, except that it is sent even if its recipient is on the blacklist. A sender gets each
 * of the two answers at most once in 24 hours, so that two machines do not answer each other for
 * ever.
 */
export interface Answer {
  readonly word: 'stop' | 'help';
  readonly sender: string;
  /** The number that the sender wrote to, from which the answer comes. */
  readonly destination: string;
  readonly text: string;
}

const DAY_MS = 24 * 3_600_000;
const NUMBER = /^\+?\d{1,15}$/;

/**
 * Sends an answer inside a transaction of the account. Nothing is sent if the sender cannot get a
 * message or the credits do not suffice; the opt-out is valid all the same.
 */
export async function sendAnswer(
  database: Database,
  { queries, account, at }: Transaction<bigint>,
  settings: SendingAccount,
  { word, sender, destination, text }: Answer,
): Promise<void> {
  const recipient = e164(sender, settings.region);
  if (recipient === null || (await balancesOf(queries, account)).free < BigInt(partsOf(text))) return;
  const hash = createHash('sha256').update(`answer:${word}:${account}:${recipient}`).digest('hex');
  const once = { hash, receivedAt: at, forgetAt: at + DAY_MS, withinMs: DAY_MS - 1 };
  if ((await queries.run(addOnceWithin, once)) === 0) return;
  const accepting = createAccepting(joined(database, queries), () => at);
  const message = {
    recipients: [{ number: recipient, text }],
    sender: NUMBER.test(destination) ? destination : null,
    reference: null,
    sendAt: null,
    notAfter: at + DAY_MS,
    isAnswer: true,
  };
  try {
    await accepting.accept(account, settings, message);
  } catch (thrown) {
    if (!(thrown instanceof Problem) || thrown.kind === 'unavailable') throw thrown;
  }
}
