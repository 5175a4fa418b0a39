import { z } from 'zod';
import type { ArrivedMessage } from '../../domain/receiving/incoming.ts';
import type { ReceivedReceipt } from '../connector.ts';

/**
 * The body that a carrier posts to a connector of the kind callback: one or many receipts or
 * incoming messages.
 */
export type Callback =
  | { readonly receipts: readonly ReceivedReceipt[]; readonly messages: readonly ArrivedMessage[] }
  | { readonly errors: readonly string[] };

const ITEMS_MAX = 500;
const TEXT_LENGTH_MAX = 10_000;
const ERRORS_MAX = 20;

const line = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^\P{Cc}*$/u);
const instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const receipt = z
  .strictObject({
    attemptId: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .optional(),
    gatewayId: line(200).optional(),
    status: z.enum(['ENROUTE', 'DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'ACCEPTED', 'UNKNOWN', 'REJECTED']),
    at: instant.optional(),
    code: z
      .string()
      .regex(/^[\w.:-]{1,64}$/)
      .optional(),
  })
  .refine((each) => each.attemptId !== undefined || each.gatewayId !== undefined);

const incoming = z.strictObject({
  gatewayId: line(200).optional(),
  sender: line(50),
  destination: line(50),
  text: z.string().max(TEXT_LENGTH_MAX),
  receivedAt: instant.optional(),
  part: z
    .strictObject({
      reference: z.int().min(0).max(65_535),
      total: z.int().min(2).max(255),
      number: z.int().min(1).max(255),
    })
    .optional(),
});

const oneOrMany = <T extends z.ZodType>(item: T) => z.union([item, z.array(item).min(1).max(ITEMS_MAX)]);
const callback = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('message.receipt'), timestamp: instant.optional(), data: oneOrMany(receipt) }),
  z.strictObject({ type: z.literal('message.incoming'), timestamp: instant.optional(), data: oneOrMany(incoming) }),
]);

export function readCallback(
  body: Uint8Array,
  { connector, id, now }: { readonly connector: string; readonly id: string; readonly now: number },
): Callback {
  const read = oneOrMany(callback).safeParse(jsonOf(body));
  if (!read.success) return { errors: errorsOf(read.error) };
  const receipts: ReceivedReceipt[] = [];
  const messages: ArrivedMessage[] = [];
  for (const { type, data } of listOf(read.data)) {
    if (type === 'message.receipt') for (const each of listOf(data)) receipts.push(receiptOf(each, connector, now));
    else for (const each of listOf(data)) messages.push(messageOf(each, messages.length));
  }
  if (receipts.length + messages.length > ITEMS_MAX) return { errors: [`/: more than ${ITEMS_MAX} items`] };
  return { receipts, messages };

  function messageOf(each: z.output<typeof incoming>, index: number): ArrivedMessage {
    const { sender, destination, text, part = null } = each;
    // A carrier that repeats a request repeats its webhook-id.
    const gatewayId = each.gatewayId ?? `webhook:${id}:${index}`;
    return { connector, gatewayId, sender, destination, text, receivedAt: Math.min(each.receivedAt ?? now, now), part };
  }
}

const receiptOf = (each: z.output<typeof receipt>, connector: string, now: number): ReceivedReceipt => ({
  connector,
  attemptId: each.attemptId ?? null,
  gatewayId: each.gatewayId ?? null,
  status: each.status,
  at: Math.min(each.at ?? now, now), // a carrier's clock that is ahead must not outdo later receipts
  detail: each.code ?? null,
});

const listOf = <T>(given: T | T[]): T[] => (Array.isArray(given) ? given : [given]);

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Names the fields that are wrong, never their values. */
const errorsOf = ({ issues }: z.ZodError): string[] =>
  issues.slice(0, ERRORS_MAX).map(({ path, code }) => `/${path.map(String).join('/')}: ${code.replaceAll('_', ' ')}`);
