import { readAddress, readPart } from '../../sms/user-data.ts';
import type { CarrierEvents } from '../connector.ts';
import { type BoxSms, SMS_TYPE, textOf } from './box-protocol.ts';
import { readText } from './incoming.ts';
import { readReceipt, readUnixTime } from './receipts.ts';
import type { Refusals } from './refusals.ts';

/**
 * Tells the domain what a frame of bearerbox says, and resolves when it is on disk. False where the
 * frame is neither a receipt nor a message from a phone.
 */
export async function receiveSms(
  connector: string,
  frame: BoxSms,
  events: CarrierEvents,
  refusals: Refusals,
  now: number,
): Promise<boolean> {
  if (frame.smsType === SMS_TYPE.receipt) {
    const read = readReceipt(frame.receiptMask ?? 0, textOf(frame.body) ?? '');
    const attemptId = textOf(frame.receiptUrl);
    if (read === null || attemptId === null) return false;
    if (await refusals.explains(attemptId, read)) return true;
    await events.receipt({
      connector,
      attemptId,
      gatewayId: textOf(frame.foreignId),
      status: read.status,
      at: readUnixTime(frame.time, now),
      detail: read.detail,
    });
    return true;
  }
  if (frame.smsType !== SMS_TYPE.incoming) return false;
  await events.incoming({
    connector,
    gatewayId: textOf(frame.id),
    sender: readAddress(textOf(frame.sender)),
    destination: readAddress(textOf(frame.receiver)),
    text: readText({ coding: frame.coding, charset: textOf(frame.charset), body: frame.body ?? new Uint8Array() }),
    receivedAt: readUnixTime(frame.time, now),
    part: readPart(frame.udh),
  });
  return true;
}
