import { isFinal, RECEIPT_STATUSES } from '../../domain/messages/statuses.ts';
import type { CarrierAnswer } from '../connector.ts';
import { type Address, answerTo, COMMAND, type Pdu } from './pdu.ts';
import { meaningOf, STATUS, type StatusMeaning, statusWords } from './status.ts';

/** query_sm, SMPP 3.4, 4.8: asks what became of a message. */
export interface Asked {
  readonly messageId: string;
  /** That of the submission: the SMSC compares it. */
  readonly source: Address;
}
export type QueryAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: Buffer }
  /** It left, and no answer came. */
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'unsent'; readonly reason: string };

export const queryBody = ({ messageId, source: { ton, npi, address } }: Asked): Buffer =>
  Buffer.concat([Buffer.from(`${messageId}\0`, 'latin1'), Buffer.of(ton, npi), Buffer.from(`${address}\0`, 'latin1')]);

/** The query of a connection that has no answer yet. */
export function createQuery(monotonic: () => number) {
  let open: { readonly sequence: number; readonly since: number; settle(answer: QueryAnswer): void } | null = null;
  /** Of the last one, whose answer may still come. */
  let last = -1;

  function end(reason: string): void {
    open?.settle({ kind: 'lost', reason });
  }

  return {
    end,
    isOpen: (sequence: number): boolean => open?.sequence === sequence,
    answer(sequence: number, signal: AbortSignal): Promise<QueryAnswer> {
      end('another one was asked');
      const { promise, resolve } = Promise.withResolvers<QueryAnswer>();
      const aborted = () => end('aborted before an answer came');
      last = sequence;
      open = {
        sequence,
        since: monotonic(),
        settle(answer) {
          open = null;
          signal.removeEventListener('abort', aborted);
          resolve(answer);
        },
      };
      signal.addEventListener('abort', aborted, { once: true });
      if (signal.aborted) aborted();
      return promise;
    },
    giveUp(ageMs: number): void {
      if (open && monotonic() - open.since >= ageMs) end(`no answer in ${Math.round(ageMs / 1_000)} seconds`);
    },
    /**
     * Whether an answer is to a query. An SMSC that does not know the command may answer with a
     * generic_nack that names no sequence.
     */
    takes({ command, sequence, status, body }: Pdu): boolean {
      const isNack = command === COMMAND.genericNack;
      if (command !== answerTo(COMMAND.querySm) && !isNack) return false;
      const isNameless = isNack && sequence === 0 && status === STATUS.invalidCommand && open !== null;
      if (sequence !== last && !isNameless) return !isNack;
      const error = isNack && status === 0 ? STATUS.invalidCommand : status;
      open?.settle({ kind: 'answered', status: error, body: Buffer.from(body ?? []) });
      return true;
    },
  };
}

/**
 * Ids are stored in lower case and without zeros in front (ids.ts), and some SMSCs know only what
 * they gave. So a message is asked about in several forms, first in the one that was known last,
 * until three in a row were known in none.
 */
export function createForms() {
  let known: (id: string) => string = FORMS[0] as (typeof FORMS)[0];
  let strangers = 0;
  return {
    of(id: string): string[] {
      if (!HEX.test(id)) return [id];
      const forms = strangers < STRANGERS_MAX ? [known, ...FORMS] : [known];
      return [...new Set(forms.map((form) => form(id)))];
    },
    onKnown(id: string, form: string): void {
      strangers = 0;
      if (known(id) !== form) known = FORMS.find((each) => each(id) === form) ?? known;
    },
    onStranger(): void {
      strangers++;
    },
  };
}
const HEX = /^[0-9a-f]{1,32}$/i;
const STRANGERS_MAX = 3;
const padded = (id: string, width: number): string => id.padStart(width === 16 && id.length > width ? 32 : width, '0');
const FORMS: readonly ((id: string) => string)[] = [0, 8, 10, 16].flatMap((width) => [
  (id) => padded(id, width),
  (id) => padded(id, width).toUpperCase(),
]);

const THROTTLED_RETRY_MS = 60_000;

/** What an answer means. The pace of questions says nothing about that of submissions. */
export function readAnswer(
  answer: QueryAnswer,
  now: number,
  own?: Readonly<Record<string, StatusMeaning>>,
): CarrierAnswer {
  if (answer.kind === 'unsent') return answer;
  if (answer.kind === 'lost') return { kind: 'silent', reason: answer.reason };
  const { status, body } = answer;
  if (status !== 0) return refusalOf(status, meaningOf(status, own));
  const read = READ.exec(body.toString('latin1'));
  const [, date = '', state = '', error = ''] = read ?? [];
  const told = RECEIPT_STATUSES[state.charCodeAt(0) - 1];
  if (!read || told === undefined) return { kind: 'later', reason: 'an answer that cannot be read' };
  if (!isFinal(told)) return { kind: 'later', reason: `the message is ${told}` };
  const code = error.charCodeAt(0) || 0;
  const detail = code === 0 ? 'query_sm' : `query_sm, error ${code}`;
  return { kind: 'told', status: told, at: dateOf(date, now) ?? now, detail };
}

function refusalOf(status: number, meaning: StatusMeaning): CarrierAnswer {
  const reason = statusWords(status);
  if (status === STATUS.invalidCommand) return { kind: 'not-offered', reason: 'query_sm is not known there' };
  switch (meaning) {
    case 'throttle':
      return { kind: 'unsent', reason, retryAfterMs: THROTTLED_RETRY_MS };
    case 'temporary':
      return { kind: 'later', reason };
    case 'connector':
    case 'credentials':
      // Their words are about binds and submissions.
      return { kind: 'silent', reason: `query_sm was refused with ${reason.split(':', 1)[0]}` };
    default:
      return { kind: 'unknown', reason, isDoubtful: meaning === 'doubtful' };
  }
}
/** message_id, final_date, message_state, error_code; the last may be absent. */
const READ = /^[^\0]{0,255}\0([^\0]{0,17})\0(.)(.?)/s;

/** Further back, the clock of the SMSC is wrong. */
const OLDEST_MS = 30 * 24 * 3_600_000;

/** `261118024532000+`: tenths of a second, and how many quarters of an hour it is ahead of UTC. */
function dateOf(text: string, now: number): number | null {
  const [, date, quarters, sign] = /^(\d{12})\d(\d\d)([+-])$/.exec(text) ?? [];
  if (date === undefined) return null;
  const [year, month, day, hour, minute, second] = (date.match(/../g) ?? []).map(Number) as number[];
  const local = Date.UTC(2000 + (year ?? 0), (month ?? 1) - 1, day, hour, minute, second);
  const at = local - (sign === '-' ? -1 : 1) * Number(quarters) * 15 * 60_000;
  return at <= now && now - at <= OLDEST_MS ? at : null;
}
