import { createCarrierEvents } from '../carriers/carrier-events.ts';
import type { ReceivedReceipt } from '../carriers/connector.ts';
import { addToken } from '../domain/access/tokens.ts';
import { accountId } from '../domain/accounts/accounts.ts';
import { newAttemptId } from '../domain/sending/attempts.ts';
import { type ClaimedMessage, createClaiming } from '../domain/sending/claim.ts';
import { createConnectors } from '../domain/sending/connectors.ts';
import { createSettling, type Outcome, type Settlement } from '../domain/sending/settle.ts';
import type { Services } from '../operator/action.ts';
import { domainOf } from '../operator/domain.ts';
import type { RawInput } from '../operator/input.ts';
import { ANSWERS, numberOf, PATIENTS, type Patient, PRACTICE, recall, reminder } from './demo-practice.ts';

/**
 * The last two weeks of the practice of the demo. Messages are accepted, claimed, settled and
 * answered by the same code as any others, at times of a clock that this file moves, so counts,
 * credits, timelines and the audit belong together. Only the carrier is told here.
 */
export async function playHistory(services: Services, act: Act): Promise<void> {
  const stage = createStage(services, act);
  const calendar = createCalendar(services.now());
  await stage.prepare(calendar.at(-DAYS, '07:30'));
  for (let day = -DAYS; day <= 0; day += 1) ordinaryDay(stage, calendar, day);
  lateStories(stage, calendar);
  today(stage, calendar);
  await stage.play(services.now());
  await stage.finish(calendar);
}

const REMINDED_AT = '14:00';

/** Runs an action at the time of `services`. */
export type Act = (services: Services, name: string, given: Partial<RawInput>) => Promise<unknown>;

const DAYS = 13;
export const CARRIER = 'atlantic';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Cape Town has no summer time. */
const OFFSET = 2 * HOUR;
const params = { username: PRACTICE.username };

type Stage = ReturnType<typeof createStage>;
type Calendar = ReturnType<typeof createCalendar>;

/** What becomes of a message: the outcome of each attempt, and the receipts after the last one. */
interface ScriptedResult {
  readonly refusals?: readonly string[];
  readonly isForGood?: boolean;
  readonly receipt?: ReceivedReceipt['status'] | null;
  readonly detail?: string;
  readonly afterMs?: number;
}
const ARRIVES: ScriptedResult = { receipt: 'DELIVERED' };
const PHONE_OFF: ScriptedResult = { receipt: 'EXPIRED', detail: 'err:027 absent subscriber', afterMs: 90 * MINUTE };
const CONGESTED: ScriptedResult = { receipt: 'EXPIRED', detail: 'err:011 network congestion', afterMs: 35 * MINUTE };
const GONE: ScriptedResult = { receipt: 'UNDELIVERABLE', detail: 'err:001 unknown subscriber' };
const NO_SUCH_NUMBER: ScriptedResult = { refusals: ['ESME_RINVDSTADR (0x0B): invalid destination'], isForGood: true };
const BUSY_ONCE: ScriptedResult = { ...ARRIVES, refusals: ['ESME_RTHROTTLED (0x58): too many messages'] };
const SILENT: ScriptedResult = { receipt: null };

function createCalendar(now: number) {
  const startOf = (at: number) => Math.floor((at + OFFSET) / DAY) * DAY - OFFSET;
  /** The last moment at which somebody was at the reception. */
  const opened = startOf(now) + 8.5 * HOUR;
  const lastOpen = now < opened ? opened - DAY + 8.5 * HOUR : Math.min(now, opened + 8.5 * HOUR);
  const start = startOf(lastOpen);
  const at = (day: number, time: string): number => {
    const [hours = 0, minutes = 0] = time.split(':').map(Number);
    return start + day * DAY + hours * HOUR + minutes * MINUTE;
  };
  const weekday = (day: number) => new Date(at(day, '12:00')).getUTCDay();
  const isOpen = (day: number) => weekday(day) !== 0 && weekday(day) !== 6;
  const names = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    timeZone: PRACTICE.details.timeZone,
  });
  return {
    at,
    isOpen,
    weekday,
    /** So many minutes before the last moment at which somebody was there. */
    before: (minutes: number) => lastOpen - minutes * MINUTE,
    nameOf: (day: number) => names.format(at(day, '12:00')).replace(',', ''),
    nextOpen(day: number): number {
      let next = day + 1;
      while (!isOpen(next)) next += 1;
      return next;
    },
    now,
  };
}

/** The patients of a day. Neighbouring days have others. */
const patientsOf = (day: number): Patient[] => {
  const count = 19 + ((((day * 7) % 11) + 11) % 11);
  const first = (((day + DAYS) * 23) % PATIENTS.length) + PATIENTS.length;
  return Array.from({ length: count }, (_, index) => PATIENTS[(first + index) % PATIENTS.length] as Patient).filter(
    ({ group, name }) => group !== 'Team' && name !== 'Thandi',
  );
};

/** Reminders of the next day at two, and answers to them. On Mondays, a recall in the morning. */
function ordinaryDay(stage: Stage, calendar: Calendar, day: number): void {
  if (!calendar.isOpen(day)) return;
  const isCongested = day < 0 && calendar.nextOpen(day) >= 0;
  const next = calendar.nextOpen(day);
  const patients = patientsOf(next);
  stage.send(calendar.at(day, REMINDED_AT), {
    people: patients,
    textOf: (patient, index) => reminder(patient, calendar.nameOf(next), index),
    reference: `Reminders ${calendar.nameOf(next)}`,
    resultOf: (number, index) => resultOf(number) ?? (isCongested && index % 4 === 1 ? CONGESTED : ARRIVES),
  });
  for (const [index, [name, text]] of ANSWERS.entries()) {
    const isAsked = patients.some((each) => each.name === name);
    const at = calendar.at(day, REMINDED_AT) + (6 + index * 17) * MINUTE;
    const isEarly = at < calendar.before(160); // what comes later is told in today()
    if (isAsked && isEarly && (index + day) % 3 !== 0) stage.receive(at, numberOf(name), text);
  }
  if (calendar.weekday(day) !== 1) return;
  const half = PATIENTS.filter(({ group }, index) => group === 'Patients' && index % 2 === Math.abs(day) % 2);
  stage.send(calendar.at(day, '09:02'), { people: half, textOf: recall, reference: 'Recall' });
}

/** Numbers with which something is always wrong. */
const resultOf = (number: string): ScriptedResult | undefined => {
  if (number === numberOf('Johan')) return GONE;
  if (number === numberOf('Rashid')) return NO_SUCH_NUMBER;
  return undefined;
};

const usual = (number: string): ScriptedResult => resultOf(number) ?? ARRIVES;

/** The day before the last, and the day before that. */
function lateStories(stage: Stage, { at, before }: Calendar): void {
  const opening = 'We have an opening today at 15:00. Reply YES to take it.';
  stage.write(at(-2, '11:40'), 'Yusuf', opening, SILENT);
  stage.receive(at(-2, '15:05'), numberOf('Lerato'), 'Is parking free on Saturdays?');
  stage.write(at(-2, '15:09'), 'Lerato', 'Yes. You can park behind the house, at 12 Vine Street.');
  const grace = at(-1, '17:20');
  stage.write(at(-1, '09:05'), 'Grace', recall({ name: 'Grace' }));
  stage.receive(Math.min(grace, before(300)), numberOf('Grace'), 'STOP');
  stage.write(at(-2, '09:02'), 'Thandi', recall({ name: 'Thandi' }));
  stage.receive(at(-2, '12:41'), numberOf('Thandi'), 'Yes please! Any afternoon this week works');
  stage.write(at(-2, '12:55'), 'Thandi', 'We have Thursday at 14:30 with Dr Naidoo, or Friday at 16:00 with Dr Botha.');
  stage.write(at(-9, '11:20'), 'Thandi', recall({ name: 'Thandi' }), PHONE_OFF);
}

/** What the person at the reception sees first. */
function today(stage: Stage, { before }: Calendar): void {
  const [thandi, address] = [numberOf('Thandi'), '12 Vine Street, Gardens. Please come 10 minutes early.'];
  stage.write(before(150), 'Sipho', reminder({ name: 'Sipho' }, 'Thursday', 1), PHONE_OFF);
  stage.receive(before(156), '+27845550171', 'Wrong number, I am not Mrs Jacobs');
  stage.write(before(124), 'Anneke', 'Your crown is back from the lab. Shall we book you in?', BUSY_ONCE);
  stage.receive(before(95), numberOf('Layla'), 'شكرًا، سأكون هناك الساعة ٩');
  stage.receive(before(55), numberOf('Pieter'), 'Can I move Friday to next week?');
  stage.receive(before(36), thandi, ANSWERED);
  stage.write(before(33), 'Thandi', `Booked: Thursday, 14:30, Dr Naidoo, ${address}`);
  stage.receive(before(30), thandi, 'Perfect, see you at half past two.');
  stage.receive(before(29), thandi, 'Do I need to bring the old X-rays?');
}
/** What is older has been read. */
const UNREAD_MINUTES = 100;
const ANSWERED = 'Thursday is good';
/** The most ids that an action takes. */
const ROWS_MAX = 1_000;

interface Sending {
  readonly people: readonly Patient[];
  readonly textOf: (patient: Patient, index: number) => string;
  readonly reference: string | null;
  readonly sendAt?: string;
  readonly resultOf?: (number: string, index: number) => ScriptedResult;
}

function createStage(services: Services, act: Act) {
  let at = 0;
  const now = () => at;
  const { database } = services;
  const here: Services = { ...services, now };
  const results = new Map<string, ScriptedResult>();
  const script: { readonly at: number; readonly work: () => Promise<unknown> }[] = [];
  const plan = (when: number, work: () => Promise<unknown>): void => void script.push({ at: when, work });
  const events = createCarrierEvents(database, now, null);
  const carrier = createCarrier(here, results, plan);
  const run = (name: string, given: Partial<RawInput>) => act(here, name, given);

  async function sendNow({ people, textOf, reference, sendAt, resultOf: chosen = usual }: Sending): Promise<void> {
    const recipients = people.map(({ mobile }) => mobile);
    for (const [index, number] of recipients.entries()) results.set(number, chosen(number, index));
    const when = sendAt === undefined ? {} : { sendAt };
    const body = { recipients, texts: people.map(textOf), reference, sender: PRACTICE.number, ...when };
    await run('message send', { params, body });
    await carrier.carry();
  }

  return {
    send: (when: number, sending: Sending) => plan(when, () => sendNow(sending)),
    write(when: number, name: string, text: string, result: ScriptedResult = ARRIVES): void {
      const people = PATIENTS.filter((each) => each.name === name);
      plan(when, () => sendNow({ people, textOf: () => text, reference: null, resultOf: () => result }));
    },
    receive: (when: number, sender: string, text: string) =>
      plan(when, async () => {
        const given = { connector: CARRIER, gatewayId: null, sender, destination: PRACTICE.number, text, part: null };
        await events.incoming({ ...given, receivedAt: at });
        await carrier.carry(); // the answer to STOP
      }),

    /** The carrier, the account, its contacts and its credits. */
    async prepare(begin: number): Promise<void> {
      at = begin;
      const config = { receiptAfterMs: 1_000 };
      await run('connector put', { params: { name: CARRIER }, body: { kind: 'loopback', isDefault: true, config } });
      const { username, details, number, templates } = PRACTICE;
      await run('account add', { body: { username, ...details, credits: '600' } });
      for (const [name, destination] of [
        ['vine-street', number],
        ['vine-street-without-sender', CARRIER],
      ] as const) {
        await run('route put', { params: { name }, body: { username, destination } });
      }
      const rows = PATIENTS.map(({ name, surname, mobile, group }) => `'${mobile},${name},${surname},${group}\n`);
      await run('contact import', { params, upload: Buffer.from(`mobile,name,surname,group\n${rows.join('')}`) });
      const owner = await accountId(database, username);
      const scopes = ['messages:read', 'messages:send'];
      await addToken(database, { name: 'appointment book', account: owner, scopes, expiresAt: null }, at);
      for (const text of templates) await run('template add', { params, body: { text } });
      plan(at + 9 * DAY, () =>
        run('credits add', { params, body: { amount: '500', reason: 'Bought by card', reference: 'INV-2291' } }),
      );
    },

    /** Plays what happened until now, in the order of its times. */
    async play(until: number): Promise<void> {
      for (;;) {
        const next = script.reduce<(typeof script)[number] | undefined>(
          (a, b) => (a && a.at <= b.at ? a : b),
          undefined,
        );
        if (!next || next.at > until) return;
        script.splice(script.indexOf(next), 1);
        at = Math.max(at, next.at);
        await next.work();
      }
    },

    /** What is read already, and what is planned. */
    async finish(calendar: Calendar): Promise<void> {
      at = calendar.now;
      const { received, sent } = domainOf(here);
      const account = await accountId(database, PRACTICE.username);
      const isRead = ({ receivedAt, text }: { receivedAt: number; text: string | null }) =>
        receivedAt < calendar.before(UNREAD_MINUTES) || text === ANSWERED;
      const read = (await received.newest(account, ROWS_MAX)).filter(isRead);
      await run('inbox change-many', { params, body: { ids: read.map(({ id }) => String(id)), change: 'read' } });
      const seen = (await sent.newest(account, ROWS_MAX)).map(({ id }) => String(id));
      await run('message change-many', { params, body: { ids: seen, change: 'mark' } });
      const day = [0, 1, 2, 3].find((each) => calendar.isOpen(each) && calendar.at(each, REMINDED_AT) > at) ?? 1;
      const next = calendar.nextOpen(day);
      const sendAt = (when: number) => new Date(when).toISOString();
      await sendNow({
        people: patientsOf(next),
        textOf: (patient, index) => reminder(patient, calendar.nameOf(next), index),
        reference: `Reminders ${calendar.nameOf(next)}`,
        sendAt: sendAt(calendar.at(day, REMINDED_AT)),
      });
      const monday = [1, 2, 3, 4, 5, 6, 7].find((each) => calendar.weekday(each) === 1) ?? 7;
      const people = PATIENTS.filter(({ group }) => group === 'Patients');
      await sendNow({ people, textOf: recall, reference: 'Recall', sendAt: sendAt(calendar.at(monday, '08:00')) });
    },
  };
}

/** The carrier of the practice: claims what is due, settles it, and brings the receipts. */
function createCarrier(
  { database, now }: Services,
  results: ReadonlyMap<string, ScriptedResult>,
  plan: (at: number, work: () => Promise<unknown>) => void,
) {
  const claiming = createClaiming(database, {
    now,
    owner: 'demo',
    newAttemptId,
    leaseMs: 2 * MINUTE,
    unknownOutcomeMs: 15 * MINUTE,
  });
  const settling = createSettling(database, now);
  const connectors = createConnectors(database, now);
  const events = createCarrierEvents(database, now, null);

  function outcomeOf(message: ClaimedMessage): Outcome {
    const { refusals = [], isForGood = false } = results.get(message.recipient) ?? ARRIVES;
    const reason = refusals[message.attempt - 1];
    if (reason === undefined) return { kind: 'submitted' };
    return isForGood ? { kind: 'rejected', reason } : { kind: 'waiting', dueAt: now() + 20 * SECOND, reason };
  }

  function settlementOf(message: ClaimedMessage): Settlement {
    const outcome = outcomeOf(message);
    const isTaken = outcome.kind === 'submitted';
    const state = isTaken ? ('accepted' as const) : ('refused' as const);
    const parts = message.parts.map(({ number, attemptId }) => ({
      part: number,
      state,
      gatewayId: isTaken ? attemptId.slice(-10) : null,
    }));
    return { message, parts, outcome };
  }

  async function carry(): Promise<void> {
    const claimed = await claiming.claim({ connector: CARRIER, isDefault: true }, 250);
    if (claimed.length === 0) return;
    const settlements = claimed.map(settlementOf);
    await settling.settle(settlements);
    const of = (kind: Outcome['kind']) => settlements.filter(({ outcome }) => outcome.kind === kind);
    const counts = {
      accepted: 0,
      temporary: of('waiting').length,
      permanent: of('rejected').length,
      unknownOutcome: 0,
    };
    for (const { parts } of of('submitted')) counts.accepted += parts.length;
    const failed = settlements.flatMap(({ outcome }) => ('reason' in outcome ? [outcome.reason] : [])).at(-1) ?? null;
    const isTaken = counts.accepted > 0;
    await connectors.addCounts(CARRIER, counts, {
      lastAcceptedAt: isTaken ? now() : null,
      lastError: failed,
      lastErrorAt: failed === null ? null : now(),
    });
    if (counts.temporary > 0) plan(now() + 21 * SECOND, carry);
    const taken = claimed.filter((_, index) => settlements[index]?.outcome.kind === 'submitted');
    for (const [afterMs, messages] of Map.groupBy(
      taken,
      ({ recipient }) => results.get(recipient)?.afterMs ?? 8 * SECOND,
    )) {
      plan(now() + afterMs, () => report(messages));
    }
  }

  async function report(messages: readonly ClaimedMessage[]): Promise<void> {
    const receipts = messages.flatMap(({ recipient, parts }) => {
      const { receipt: status = 'DELIVERED', detail = null } = results.get(recipient) ?? ARRIVES;
      if (status === null) return [];
      return parts.map(({ attemptId }) => ({
        connector: CARRIER,
        attemptId,
        gatewayId: null,
        status,
        at: now(),
        detail,
      }));
    });
    await Promise.all(receipts.map((receipt) => events.receipt(receipt)));
  }
  return { carry };
}
