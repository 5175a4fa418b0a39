import { STATUS_FIELD } from '../../asmx/dialect/dialect.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import { Counts, type Doubt, type Finding, type Learned, type Observation } from './learned.ts';

/** Learns the words of delivery statuses. */
type Status = (typeof DELIVERY_STATUSES)[number];

/** Words that servers and carriers use, in lower case and without punctuation. */
const WORDS: Readonly<Record<Status, readonly string[]>> = {
  QUEUED: ['queued', 'pending', 'waiting', 'new', 'scheduled', 'inqueue', 'created'],
  SUBMITTED: ['submitted', 'senttonetwork', 'senttocarrier', 'senttogateway', 'senttosmsc', 'acknowledged'],
  ENROUTE: ['enroute', 'intransit', 'buffered', 'bufferedatsmsc', 'retrying'],
  DELIVERED: ['delivered', 'delivrd', 'deliveredtohandset', 'deliveredtophone', 'deliveredtorecipient', 'success'],
  EXPIRED: ['expired', 'timedout', 'timeout', 'validityexpired'],
  DELETED: ['deleted', 'cancelled', 'canceled'],
  UNDELIVERABLE: ['undeliverable', 'undeliv', 'undelivered', 'failed', 'failure', 'notdelivered', 'deliveryfailed'],
  ACCEPTED: ['accepted', 'acceptd'],
  UNKNOWN: ['unknown', 'none', 'nostatus'],
  REJECTED: ['rejected', 'rejectd', 'blocked', 'refused', 'blacklisted', 'barred'],
};
/** Words that mean different statuses on different servers. */
const DOUBTFUL: Readonly<Record<string, Status>> = {
  sent: 'SUBMITTED',
  ok: 'DELIVERED',
  received: 'DELIVERED',
  done: 'DELIVERED',
  error: 'UNDELIVERABLE',
};

const plain = (word: string): string => word.toLowerCase().replace(/[^a-z]/g, '');

export class WordsLearner {
  readonly #words = new Counts();

  /** The statuses of values are still the words of the old server. */
  see(_: Observation, value: unknown): void {
    for (const row of Array.isArray(value) ? value : []) {
      const word = (row as Readonly<Record<string, unknown>> | null)?.[STATUS_FIELD];
      if (typeof word === 'string' && word !== '') this.#words.add(word);
    }
  }

  learned(): Learned {
    const words = new Map<Status, string[]>();
    const findings: Finding[] = [];
    const uncertain: Doubt[] = [];
    for (const [word, count] of this.#words.ranked) {
      const status = statusOf(word);
      if (status === undefined) {
        uncertain.push({
          entry: 'statusWords',
          reason: `“${word}” (${count} times) is no word we know; say which status it is`,
          word,
        });
        continue;
      }
      words.set(status, [...(words.get(status) ?? []), word]);
      findings.push({ entry: `statusWords.${status}`, count, text: `“${word}”` });
      if (isDoubtful(word)) {
        uncertain.push({ entry: `statusWords.${status}`, reason: `“${word}” is taken as ${status}; is it?` });
      }
    }
    const missing = DELIVERY_STATUSES.filter((status) => !words.has(status));
    const isOurs = [...words].every(([status, theirs]) => theirs.join() === status);
    if (words.size > 0 && !isOurs && missing.length > 0) {
      for (const status of missing) {
        const entry = `statusWords.${status}`;
        uncertain.push({
          entry,
          reason: 'no word was seen for this status, so it is written as Columba writes it; name the word',
        });
      }
    }
    const statusWords = Object.fromEntries(
      [...words].map(([status, theirs]) => [status, theirs.length === 1 ? (theirs[0] as string) : theirs]),
    );
    return { dialect: words.size > 0 && !isOurs ? { statusWords } : {}, findings, uncertain };
  }
}

function statusOf(word: string): Status | undefined {
  const own = DELIVERY_STATUSES.find((status) => status === word);
  if (own) return own;
  const known = plain(word);
  const found = DELIVERY_STATUSES.find((status) => WORDS[status].includes(known));
  return found ?? (Object.hasOwn(DOUBTFUL, known) ? DOUBTFUL[known] : undefined);
}

const isDoubtful = (word: string): boolean => Object.hasOwn(DOUBTFUL, plain(word));
