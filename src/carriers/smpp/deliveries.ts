import type { CarrierEvents } from '../connector.ts';
import type { SmppConfig, SmppDependencies } from './config.ts';
import { readMessage } from './incoming.ts';
import { hasUnknownTlv, type Pdu } from './pdu.ts';
import { type ReadReceipt, readReceipt } from './receipts.ts';
import { STATUS } from './status.ts';

/** Receipts and messages that an SMSC brings. They are acknowledged when they are on disk. */
export interface Deliveries {
  start(events: CarrierEvents): void;
  /** For one connection: resolves to the command_status of the answer, and never rejects. */
  newReceiver(): (pdu: Pdu) => Promise<number>;
  /** Resolves when nothing is being stored. */
  stored(): Promise<unknown>;
}

/** Without the database an SMSC would repeat a message at once, again and again. */
const REFUSAL_DELAY_MS = 1_000;

export function createDeliveries(
  name: string,
  config: SmppConfig,
  { clock, log, noticed = () => {} }: SmppDependencies,
): Deliveries {
  const underWay = new Set<Promise<number>>();
  let events: CarrierEvents | undefined;

  async function storeReceipt(pdu: Pdu, read: ReadReceipt, to: CarrierEvents): Promise<void> {
    const { ids, status, at, detail, isContradictory } = read;
    if (isContradictory) noticed(name, 'contradictory-receipt');
    const [gatewayId = null, ...otherGatewayIds] = ids;
    const receipt = { connector: name, attemptId: null, gatewayId, otherGatewayIds, status, detail };
    const about = config.matchByAddress ? addressOf(pdu, read, config) : null;
    const isForAllParts = config.quirks.noReceiptForParts;
    await to.receipt({ ...receipt, isForAllParts, at: at ?? clock.now(), ...(about && { about }) });
  }

  async function storeMessage(pdu: Pdu, to: CarrierEvents, repeats: Repeats): Promise<void> {
    const message = readMessage(pdu, config);
    if (!message) return;
    const { repeat, undo } = repeats.add(JSON.stringify(message));
    try {
      await to.incoming({ connector: name, gatewayId: null, ...message, receivedAt: clock.now(), repeat });
    } catch (thrown) {
      undo();
      throw thrown;
    }
  }

  async function store(pdu: Pdu, repeats: Repeats): Promise<number> {
    if (!events) return STATUS.temporaryError;
    if (hasUnknownTlv(pdu)) noticed(name, 'unknown-tlv');
    try {
      const receipt = readReceipt(pdu, config, clock.now());
      if (receipt) await storeReceipt(pdu, receipt, events);
      else await storeMessage(pdu, events, repeats);
      return STATUS.ok;
    } catch (thrown) {
      log.warn({ connector: name, err: thrown }, 'smpp: a message was not stored; the SMSC repeats it');
      await clock.sleep(REFUSAL_DELAY_MS);
      return STATUS.temporaryError;
    }
  }

  return {
    start(given) {
      events = given;
    },
    newReceiver() {
      const repeats = createRepeats(clock.monotonic);
      return (pdu) => {
        const stored = store(pdu, repeats).finally(() => underWay.delete(stored));
        underWay.add(stored);
        return stored;
      };
    },
    stored: () => Promise.allSettled(underWay),
  };
}

/** A receipt comes from the number that got the message. */
function addressOf({ message }: Pdu, { textStart }: ReadReceipt, { defaultSender }: SmppConfig) {
  if (!message) return null;
  const { source, destination } = message;
  const sender = destination.address;
  return {
    recipient: source.address,
    sender,
    isDefaultSender: sender === (defaultSender ?? '').replace(/^\+/, ''),
    textStart,
  };
}

/** A message without an id is the same one as an equal one that came so shortly before. */
const SAME_WITHIN_MS = 10_000;
const REMEMBERED_MAX = 10_000;

interface Repeats {
  /** How many equal messages came shortly before. It is undone where the message is not stored. */
  add(message: string): { readonly repeat: number; undo(): void };
}

/**
 * SMPP gives messages no ids. What an SMSC repeats it repeats on another connection, or after a
 * refusal. So equal messages of one connection that are stored are different messages.
 */
function createRepeats(monotonic: () => number): Repeats {
  const known = new Map<string, { count: number; at: number }>();

  function forgetOld(now: number): void {
    for (const [key, { at }] of known) {
      if (now - at <= SAME_WITHIN_MS && known.size < REMEMBERED_MAX) return;
      known.delete(key);
    }
  }

  return {
    add(message) {
      const now = monotonic();
      forgetOld(now);
      const entry = known.get(message) ?? { count: 0, at: now };
      known.delete(message); // the map is in the order of times
      known.set(message, entry);
      entry.at = now;
      const repeat = entry.count++;
      return {
        repeat,
        undo() {
          entry.count--;
        },
      };
    },
  };
}
