import { createHash } from 'node:crypto';
import { splitText } from '../../sms/parts.ts';
import type { Database } from '../../store/database.ts';
import { WHOLE } from './attempts.ts';
import * as sql from './receipts.sql.ts';

/**
 * A submission whose answer is missing has no id of the carrier, so its receipts match nothing.
 * They still name the two numbers and the beginning of the text. Where exactly one submission with
 * an unknown outcome has these, it gets the id of the receipt.
 */
export interface ReceiptAddress {
  readonly recipient: string;
  readonly sender: string;
  /** Whether this sender is that of messages that name none. */
  readonly isDefaultSender: boolean;
  /** The beginning of the text; empty if the receipt does not have it. */
  readonly textStart: string;
}

const TEXT_MAX = 20;
const PRINTABLE = /^[\x20-\x7e]+$/;
const hashed = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
const withoutPlus = (address: string): string => address.replace(/^\+/, '');

interface About {
  readonly to: string;
  readonly from: string;
  readonly isDefault: boolean;
  /** How many characters of the text were hashed. */
  readonly size: number;
  readonly text: string;
}

/** Hashes, because a held receipt may be of a person who is erased meanwhile. */
export function aboutText({ recipient, sender, isDefaultSender, textStart }: ReceiptAddress): string {
  const start = textStart.slice(0, TEXT_MAX).trimEnd();
  // Carriers write other characters in many ways, so a text with them is not compared.
  const compared = PRINTABLE.test(start) ? start : '';
  const addresses = { to: hashed(withoutPlus(recipient)), from: hashed(withoutPlus(sender)) };
  return JSON.stringify({
    ...addresses,
    isDefault: isDefaultSender,
    size: compared.length,
    text: hashed(compared),
  } satisfies About);
}

/** By then every submission has its answer, or has an unknown outcome. */
const COMPARED_AFTER_MS = 5 * 60_000;
const OLDEST_MS = 72 * 3_600_000;
const RECEIPTS_MAX = 500;
// Beyond this many it is not known whether a match is the only one.
const SUBMISSIONS_MAX = 2_000;

type Submission = Awaited<ReturnType<typeof unknownSubmissions>>[number];
const unknownSubmissions = (database: Database) => database.all(sql.unknownSubmissions, { limit: SUBMISSIONS_MAX + 1 });

export type Fitting = Pick<Submission, 'account_id' | 'message_id'>;
export interface Named extends Pick<Submission, 'account_id' | 'message_id' | 'attempt' | 'part'> {
  readonly connector: string;
  readonly gatewayId: string;
}
export interface Proved {
  settle(named: Named): Promise<void>;
  /** The receipt has the numbers of this message and no text: it may be of another one. */
  note(fitting: Fitting): Promise<void>;
}

/** Compares the held receipts that are old enough, each once, and returns what they prove. */
export async function compareAddresses(database: Database, now: number, { settle, note }: Proved): Promise<void> {
  const before = now - COMPARED_AFTER_MS;
  const receipts = await database.all(sql.heldAbout, { before, limit: RECEIPTS_MAX });
  const last = receipts.at(-1);
  if (!last) return;
  const submissions = await unknownSubmissions(database);
  if (submissions.length <= SUBMISSIONS_MAX) {
    const { proved, fitting } = matchesOf(receipts, submissions);
    for (const named of proved) await settle(named);
    for (const each of fitting) await note(each);
  }
  await database.run(sql.compared, { before, upTo: Number(last.held_at) });
}

type HeldAbout = { connector: string; gateway_id: string; about: string; held_at: bigint };

function matchesOf(receipts: readonly HeldAbout[], submissions: readonly Submission[]) {
  const byNumber = Map.groupBy(submissions, ({ recipient }) => hashed(withoutPlus(recipient)));
  const found = new Map<Submission, Map<string, string>>();
  const likely = new Set<Submission>();
  for (const receipt of receipts) {
    const about: About = JSON.parse(receipt.about);
    const fitting = (byNumber.get(about.to) ?? []).filter((each) => fits(each, receipt, about));
    // Two numbers alone are no proof: they may have had many messages.
    if (about.size === 0) {
      for (const each of fitting) likely.add(each);
      continue;
    }
    const [only] = fitting;
    if (!only || fitting.length > 1) continue;
    found.set(only, (found.get(only) ?? new Map()).set(receipt.gateway_id, receipt.connector));
  }
  // Two ids for one submission: one of them is of something else.
  const proved = [...found].flatMap(([{ account_id, message_id, attempt, part }, ids]): Named[] => {
    const [[gatewayId, connector] = ['', '']] = ids;
    return ids.size > 1 ? [] : [{ account_id, message_id, attempt, part, gatewayId, connector }];
  });
  return { proved, fitting: [...likely] };
}

function fits(submission: Submission, receipt: HeldAbout, about: About): boolean {
  const { connector, submitted_at, sender } = submission;
  const age = Number(receipt.held_at - submitted_at);
  // After a restore it is not known which connector a message took.
  if ((connector !== '' && connector !== receipt.connector) || age < 0 || age > OLDEST_MS) return false;
  const isSender = sender === null ? about.isDefault : hashed(withoutPlus(sender)) === about.from;
  return isSender && hashed(textOf(submission).slice(0, about.size).padEnd(about.size)) === about.text;
}

function textOf({ text, part, parts }: Submission): string {
  const number = Number(part);
  return parts === 1n || number === WHOLE ? text : (splitText(text).parts[number - 1] ?? '');
}
