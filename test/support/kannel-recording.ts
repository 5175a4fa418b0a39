import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import type { CarrierEvents, LateAnswer, ReceivedReceipt, Submission } from '../../src/carriers/connector.ts';
import type { KannelDependencies } from '../../src/carriers/kannel/config.ts';
import type { ArrivedMessage } from '../../src/domain/receiving/incoming.ts';

/** What a connector tells, and what it logs. */
export interface Recording {
  readonly events: CarrierEvents;
  readonly receipts: ReceivedReceipt[];
  readonly incoming: ArrivedMessage[];
  readonly late: LateAnswer[];
  readonly logged: string[];
  readonly deps: KannelDependencies;
  /** While it is set, nothing can be stored. */
  fault: Error | null;
  of(attemptId: string): string[];
}

export function record(): Recording {
  const log = (fields: object, message: string) => void self.logged.push(`${message} ${JSON.stringify(fields)}`);
  const self: Recording = {
    receipts: [],
    incoming: [],
    late: [],
    logged: [],
    fault: null,
    deps: {
      ...systemClock,
      log: { info: log, warn: log },
    },
    events: {
      async receipt(receipt) {
        if (self.fault) throw self.fault;
        self.receipts.push(receipt);
      },
      async incoming(message) {
        if (self.fault) throw self.fault;
        self.incoming.push(message);
      },
      async late(answer) {
        if (self.fault) throw self.fault;
        self.late.push(answer);
      },
    },
    of: (attemptId) => self.receipts.filter((each) => each.attemptId === attemptId).map(({ status }) => status),
  };
  return self;
}

export function submissionOf(text: string, more: Partial<Submission> = {}): Submission {
  const encoding = more.encoding ?? 'gsm7';
  const utf16 = Buffer.from(text, 'utf16le').swap16();
  return {
    attemptId: randomBytes(16).toString('hex'),
    sender: '1000',
    recipient: '+46700000001',
    // Septets are what Kannel works out itself, and nothing here depends on them.
    body: encoding === 'ucs2' ? utf16 : Buffer.from(text, 'latin1'),
    text,
    encoding,
    udh: null,
    priority: 0,
    validUntil: null,
    ...more,
  };
}

export const NEVER = new AbortController().signal;
