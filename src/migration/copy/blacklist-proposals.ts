import { checkNumber } from '../../domain/contacts/blacklist.ts';
import { allReceived } from '../../domain/messages/received.ts';
import { isStop } from '../../domain/receiving/stop-words.ts';
import { csvLine } from '../../transfer/csv.ts';
import { booleanResult } from '../compare/compare.ts';
import type { CompareSettings } from '../compare/compare-values.ts';
import { bodyBytes, type RecordedExchange } from '../compare/recording.ts';
import { fieldsOf } from '../compare/redaction.ts';
import { rawOf } from '../compare/replay.ts';
import { readCall } from '../old-server/call-reader.ts';
import type { MigrationDatabase } from './database.ts';

/**
 * No operation of the old server lists its blacklist. So entries are proposed from recorded calls
 * of BlackListNumber and from received messages that are a STOP word. A person reads and changes
 * the file before it is imported.
 */
export interface Proposal {
  readonly username: string;
  readonly number: string;
  /** `user` for a recorded call, `STOP` for a received message. */
  readonly origin: 'user' | 'STOP' | 'import';
  readonly at: string;
  readonly evidence: string;
}

/** Proposals from calls that the old server carried out. A repeated number is proposed once. */
export class Proposals {
  readonly #found = new Map<string, Proposal>();
  /** How many calls cannot be used, by the reason. */
  readonly left = new Map<string, number>();

  add(proposal: Proposal): void {
    const key = `${proposal.username}\n${proposal.number}`;
    if (!this.#found.has(key) && this.#found.size < PROPOSALS_MAX) this.#found.set(key, proposal);
  }
  leave(reason: string): void {
    this.left.set(reason, (this.left.get(reason) ?? 0) + 1);
  }
  get all(): readonly Proposal[] {
    return [...this.#found.values()];
  }
}

/** The most rows of a CSV file. */
const PROPOSALS_MAX = 100_000;

/** `usernames` maps the names of accounts in recordings to usernames. */
export function proposeFromCall(
  exchange: RecordedExchange,
  usernames: ReadonlyMap<string, string>,
  compare: CompareSettings,
  proposals: Proposals,
): void {
  const { group, operation, protocol, account, request, old, at } = exchange;
  if (group !== 'account' || operation !== 'BlackListNumber' || protocol === null) return;
  const username = account === null ? undefined : usernames.get(account);
  const headers = fieldsOf(request.headers.flat());
  const call = readCall({ method: request.method, target: request.target, headers, body: bodyBytes(request) });
  const number = call?.texts.mobile?.[0] ?? '';
  if (exchange.pseudonyms) proposals.leave('numbers are pseudonyms');
  else if (!old || old.withheld || request.withheld) proposals.leave('not recorded as a whole');
  else if (username === undefined) proposals.leave('account without a user_id');
  else if (booleanResult({ group, operation, protocol }, rawOf(old), compare) !== true)
    proposals.leave('refused by the old server');
  else if (!isUsable(number)) proposals.leave('not a number');
  else proposals.add({ username, number, origin: 'user', at, evidence: call?.texts.sample_message?.[0] ?? '' });
}

/** Proposes the senders of received messages that consist of one of the words. */
export async function proposeFromTexts(
  database: MigrationDatabase,
  { account, username, words }: { readonly account: bigint; readonly username: string; readonly words: string },
  proposals: Proposals,
): Promise<void> {
  for await (const { sender, text, receivedAt } of allReceived(database, account)) {
    if (sender === null || text === null) continue;
    if (!isStop(text, null, words)) continue;
    if (!isUsable(sender)) proposals.leave('not a number');
    else {
      const at = new Date(receivedAt).toISOString();
      proposals.add({ username, number: sender, origin: 'STOP', at, evidence: text });
    }
  }
}

function isUsable(number: string): boolean {
  try {
    checkNumber(number);
    return true;
  } catch {
    return false;
  }
}

const HEADER = ['username', 'number', 'origin', 'at', 'evidence'];

export const proposalsCsv = (proposals: readonly Proposal[]): string =>
  [HEADER, ...proposals.map((each) => [each.username, each.number, each.origin, each.at, each.evidence])]
    .map(csvLine)
    .join('');
