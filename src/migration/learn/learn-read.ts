import { parseSchemaDate } from '../../asmx/contract/dates.ts';
import { eitherWay, type Learned, type Observation, onlyDoubt } from './learned.ts';

/**
 * Learns whether Read returns only messages that are marked as read: it looks for messages that
 * Unread has shown in answers of Read whose time range includes them. If reading itself marks
 * messages, this proves nothing.
 */
interface Message {
  readonly id: bigint;
  readonly timestamp: number;
}

// The most accounts whose last unread messages are remembered.
const ACCOUNTS_MAX = 10_000;

export class ReadLearner {
  readonly #unread = new Map<string, readonly Message[]>();
  readonly #zone: string;
  #present = 0;
  #missing = 0;
  /** How often Unread showed earlier messages again, and how often it did not. */
  #stayed = 0;
  #marked = 0;

  constructor(zone: string) {
    this.#zone = zone;
  }

  see({ name, account, texts }: Observation, value: unknown): void {
    if (account === null || !name.startsWith('inbox.')) return;
    if (name === 'inbox.Read') this.#compare(account, texts, value as readonly Message[]);
    else if (name === 'inbox.Unread') this.#remember(account, value as readonly Message[]);
    // A mark or a deletion changes which messages are unread.
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
    // A cap cuts the list at one end, but between its ends no message can be cut off.
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
    const [present, missing] = [this.#present, this.#missing];
    if (present + missing > 0 && this.#marked > this.#stayed)
      return onlyDoubt(entry, 'Unread marks what it returns, so Read cannot be judged; look at the old server');
    const text = `of ${present + missing} unread messages Read returned ${present}`;
    return eitherWay(entry, [present, missing], {
      dialect: missing > present ? { readReturnsReadOnly: true } : {},
      text,
      none: 'no Read was seen whose time range has a message that Unread showed before',
      both: `${text}; was one marked in between?`,
    });
  }
}

const CHANGES = ['inbox.MarkMessageAsRead', 'inbox.DeleteMessage', 'inbox.DeleteAllMessages'];
