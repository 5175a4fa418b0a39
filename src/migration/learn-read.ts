import { parseSchemaDate } from '../contract/dates.ts';
import type { Learned, Observation } from './learned.ts';

/**
 * Learns whether Read returns only messages that are marked as read. A message that Unread showed
 * before is looked for in the answers of Read whose time range has it. Where reading itself marks
 * messages, that proves nothing.
 */
interface Message {
  readonly id: bigint;
  readonly timestamp: number;
}

// The last unread messages of so many accounts.
const ACCOUNTS_MAX = 10_000;

export class ReadLearner {
  readonly #unread = new Map<string, readonly Message[]>();
  readonly #zone: string;
  #present = 0;
  #missing = 0;
  /** How often Unread showed a message again that it had shown before, and how often none. */
  #stayed = 0;
  #marked = 0;

  constructor(zone: string) {
    this.#zone = zone;
  }

  see({ name, account, texts }: Observation, value: unknown): void {
    if (account === null || !name.startsWith('inbox.')) return;
    if (name === 'inbox.Read') this.#compare(account, texts, value as readonly Message[]);
    else if (name === 'inbox.Unread') this.#remember(account, value as readonly Message[]);
    // A mark or a deletion changes what is unread.
    else if (CHANGES.includes(name)) this.#unread.delete(account);
  }

  #remember(account: string, messages: readonly Message[]): void {
    const before = this.#unread.get(account) ?? [];
    if (before.length > 0) {
      const ids = new Set(messages.map(({ id }) => id));
      if (before.some(({ id }) => ids.has(id))) this.#stayed += 1;
      else this.#marked += 1;
    }
    if (this.#unread.size >= ACCOUNTS_MAX) this.#unread.clear();
    this.#unread.set(account, messages);
  }

  #compare(account: string, texts: Observation['texts'], rows: readonly Message[]): void {
    const [from, to] = [this.#instant(texts.from?.[0]), this.#instant(texts.to?.[0])];
    if (from === null || to === null || Number(texts.max_count?.[0] ?? 0) <= 0) return;
    const ids = new Set(rows.map(({ id }) => id));
    // A cap cuts the list at one of its ends. What is missing between them is missing.
    let [first, last] = rows.length === 0 ? [from - 1, to + 1] : [to, from];
    for (const { timestamp } of rows) {
      first = Math.min(first, timestamp);
      last = Math.max(last, timestamp);
    }
    for (const { id, timestamp } of this.#unread.get(account) ?? []) {
      if (ids.has(id)) this.#present += 1;
      else if (timestamp > first && timestamp < last) this.#missing += 1;
    }
  }

  #instant(text: string | undefined): number | null {
    return text === undefined ? null : parseSchemaDate(text, { now: 0, zone: this.#zone });
  }

  learned(): Learned {
    const entry = 'readReturnsReadOnly';
    const count = this.#present + this.#missing;
    if (count === 0) {
      const reason = 'no Read was seen whose time range has a message that Unread showed before';
      return { dialect: {}, findings: [], uncertain: [{ entry, reason }] };
    }
    if (this.#marked > this.#stayed) {
      const reason = 'Unread marks what it returns, so Read cannot be judged; look at the old server';
      return { dialect: {}, findings: [], uncertain: [{ entry, reason }] };
    }
    const isOnly = this.#missing > this.#present;
    const text = `of ${count} unread messages Read returned ${this.#present}`;
    const isMixed = this.#missing > 0 && this.#present > 0;
    return {
      dialect: isOnly ? { readReturnsReadOnly: true } : {},
      findings: [{ entry, count, text }],
      uncertain: isMixed ? [{ entry, reason: `${text}; was one marked in between?` }] : [],
    };
  }
}

const CHANGES = ['inbox.MarkMessageAsRead', 'inbox.DeleteMessage', 'inbox.DeleteAllMessages'];
