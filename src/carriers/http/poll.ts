import type { Clock } from '../../base/clock.ts';
import type { HttpOutcome } from '../../base/http-client.ts';
import { createRepeat, type Repeat } from '../../base/repeat.ts';
import type { CarrierEvents } from '../connector.ts';
import { messageOf } from './callback-reading.ts';
import type { Poll } from './form.ts';
import { fits, jsonOf, type Readable } from './sources.ts';
import { xmlReader } from './xml.ts';

/**
 * Fetches messages from phones where the provider calls nobody. Reading deletes the message there,
 * so the next one is fetched only when this one is on disk; a crash between the two loses it.
 */
export interface PollParts {
  readonly name: string;
  readonly poll: Poll;
  readonly clock: Clock;
  readonly setting: Readable['setting'];
  readonly ask: () => Promise<HttpOutcome>;
  readonly events: CarrierEvents;
  readonly failed: (thrown: unknown) => void;
  readonly unread: (head: string, body: Uint8Array) => void;
}

const MESSAGES_MAX = 100;
const RETRY_MS = 1_000;

export function createPolling({ name, poll, clock, setting, ask, events, failed, unread }: PollParts): Repeat {
  async function fetchOne(isStopping: () => boolean): Promise<boolean> {
    const outcome = await ask();
    if (outcome.kind !== 'answered') return false;
    const { status, headers, body } = outcome;
    const header = (field: string) => String(headers[field.toLowerCase()] ?? '') || undefined;
    const from: Readable = { status, header, json: jsonOf(body), xml: xmlReader(body), body, setting };
    if (status !== (poll.request.expect ?? 200) || fits(poll.until, from)) return false;
    const message = messageOf(poll.read, undefined, from, { connector: name, now: clock.now() });
    if (typeof message === 'string') {
      unread(`HTTP ${status} to a poll\n${message}`, body);
      return false;
    }
    for (;;) {
      try {
        await events.incoming(message);
        return true;
      } catch (thrown) {
        failed(thrown); // the message is nowhere else
        if (isStopping()) return false;
        await clock.sleep(RETRY_MS);
      }
    }
  }

  return createRepeat({
    clock,
    everyMs: poll.everySeconds * 1_000,
    async work(isStopping) {
      for (let count = 0; count < MESSAGES_MAX && !isStopping(); count++) if (!(await fetchOne(isStopping))) return;
    },
    failed,
  });
}
