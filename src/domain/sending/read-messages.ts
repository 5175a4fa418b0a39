import { createPauses } from '../../base/event-loop.ts';
import { e164 } from '../../sms/numbers.ts';
import { charactersBeyondGsm7, type Encoding, splitText } from '../../sms/parts.ts';

/** Reads the numbers and texts of new messages, before the transaction that others may wait for. */

interface MeasuredText {
  readonly text: string;
  readonly parts: number;
  readonly encoding: Encoding;
  /** The characters that make the text UCS-2. */
  readonly beyondGsm7: readonly string[];
}
export interface ReadMessage extends MeasuredText {
  readonly number: string;
  /** The number in E.164; null if the number cannot exist. */
  readonly recipient: string | null;
}
/**
 * Other calls are served after each step: reading 1,000 numbers takes 25 ms, and a text of 10,000
 * characters takes 4 ms.
 */
const STEP_MS = 10;

export async function readMessages(
  recipients: readonly { readonly number: string; readonly text: string }[],
  region: string | null,
): Promise<ReadMessage[]> {
  const pause = createPauses(STEP_MS);
  const texts = new Map<string, MeasuredText>();
  const read: ReadMessage[] = [];
  for (const { number, text } of recipients) {
    const measured = texts.get(text) ?? measure(text);
    texts.set(text, measured);
    read.push({ ...measured, number, recipient: e164(number, region) });
    await pause();
  }
  return read;
}

function measure(text: string): MeasuredText {
  const { encoding, parts } = splitText(text);
  return { text, encoding, parts: parts.length, beyondGsm7: encoding === 'gsm7' ? [] : charactersBeyondGsm7(text) };
}
