import { z } from 'zod';
import { RECEIPT_STATUSES } from '../../domain/messages/statuses.ts';
import { FIELD_NAME_FORM } from '../../sms/carrier-fields.ts';

/**
 * The form of a provider file, which describes how an HTTP provider is called, how its answers are
 * read, and what it calls back. docs/PROVIDERS.md explains each part; the JSON Schema beside it is
 * made from this. A file has no code, no expressions and no regular expressions.
 */

export const RESULTS = ['accepted', 'permanent', 'temporary', 'throttled', 'down', 'unknown'] as const;
export type Result = (typeof RESULTS)[number];

const text = (lengthMax = 2_000) => z.string().min(1).max(lengthMax);

const declared = z
  .string()
  .regex(/^[a-z][A-Za-z0-9]{0,39}\??$/, 'expected a name such as apiKey, with a question mark if it is optional');

const SOURCE =
  'status, body, between:BEFORE...AFTER, attemptId, header:NAME, json:/POINTER, xml:/PATH, form:NAME, query:NAME, any:NAME, setting:NAME or literal:TEXT';
const source = z
  .string()
  .max(200)
  .regex(
    /^(?:status|body|attemptId|json:(?:\/.*)?|xml:\/.+|any:.+|between:.+\.\.\..*|(?:header|form|query|setting|literal):.+)$/,
    `expected ${SOURCE}`,
  );
const sources = z
  .union([source, z.array(source).min(1).max(5)])
  .describe(`Where a value is read: ${SOURCE}. Of a list, the first one that is there counts.`);
export type Sources = z.output<typeof sources>;

const scalar = z.union([z.string().max(2_000), z.number(), z.boolean(), z.null()]);
const condition = z.union([
  scalar,
  z.strictObject({ present: z.boolean() }),
  z.strictObject({ startsWith: text(200) }),
  z.strictObject({ contains: text(200) }),
]);
export type Condition = z.output<typeof condition>;
const when = z
  .record(source, z.union([condition, z.array(condition).min(1).max(100)]))
  .refine((given) => Object.keys(given).length > 0, 'expected at least one condition')
  .describe(
    'Conditions by their source, which must all hold. Of a list of values, one must hold. A status may be 2xx.',
  );
export type When = z.output<typeof when>;

export type Template = string | number | boolean | readonly Template[] | { readonly [field: string]: Template };
const template: z.ZodType<Template> = z.lazy(() =>
  z.union([z.string().max(4_000), z.number(), z.boolean(), z.array(template).max(20), z.record(z.string(), template)]),
);
const fields = z.record(text(100), z.string().max(4_000));

const basic = z.strictObject({
  kind: z.literal('basic'),
  user: text(),
  password: z
    .string()
    .regex(/^\{secret\.[A-Za-z0-9]+\}$/, 'expected {secret.NAME}, because a secret is never in the file'),
});

const request = {
  url: text().describe('Its address. Placeholders in it are encoded; one at its beginning is an address itself.'),
  headers: fields.optional(),
  query: fields.optional(),
  form: fields.optional(),
  json: template.optional(),
  xml: text(4_000).optional().describe('A document. Values in it are encoded for XML.'),
};

/** A request beside the messages: for a token, a probe or a poll. */
const sideRequest = z.strictObject({
  method: z.enum(['GET', 'POST']),
  ...request,
  auth: z
    .union([basic, z.literal('request')])
    .optional()
    .describe('`request`: the same as for messages.'),
  expect: z.int().min(100).max(599).optional().describe('The status of a good answer; any 2xx if absent.'),
});
export type SideRequest = z.output<typeof sideRequest>;

const token = z.strictObject({
  kind: z.literal('token'),
  request: sideRequest.describe('The request that gets a token.'),
  token: sources,
  expiresSeconds: sources.optional(),
  expiresMinutes: sources.optional(),
  send: text(200)
    .refine((given) => given.includes('{token}'), 'expected a text with {token}, such as Bearer {token}')
    .describe('The Authorization of messages, such as `Bearer {token}`.'),
});

const messageRequest = z
  .strictObject({
    method: z.enum(['GET', 'POST', 'PUT']),
    ...request,
    text: text(4_000).optional(),
    auth: z.discriminatedUnion('kind', [basic, token]).optional(),
  })
  .refine(
    ({ form, json, xml, text: plain }) => [form, json, xml, plain].filter((body) => body !== undefined).length <= 1,
    'expected only one of form, json, xml and text',
  )
  .refine(
    ({ method, form, json, xml, text: plain }) => method !== 'GET' || (form ?? json ?? xml ?? plain) === undefined,
    'a GET has no body; put the fields into query',
  );

const rule = z.strictObject({
  when,
  result: z.enum(RESULTS),
  gatewayId: sources.optional(),
  reason: sources.optional(),
  retryAfter: sources.optional(),
});
export type Rule = z.output<typeof rule>;

const over = z
  .string()
  .max(200)
  .regex(
    /^(?:url|urlWithoutQuery|body|sortedForm|(?:header|literal):.+)$/,
    'expected url, urlWithoutQuery, body, sortedForm, header:NAME or literal:TEXT',
  );
const timestamp = {
  timestamp: text(100).optional().describe('The header field with the time, in seconds since 1970.'),
  toleranceSeconds: z.int().min(1).max(3_600).optional().describe('How far that time may be from now; 300 if absent.'),
};
const check = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('secretPath') }),
  z.strictObject({ kind: z.literal('basic'), user: declared, password: declared }),
  z.strictObject({ kind: z.literal('header'), name: text(100), secret: declared }),
  z.strictObject({
    kind: z.literal('hmac'),
    algorithm: z.enum(['sha1', 'sha256', 'sha512']),
    key: declared,
    over: z.array(over).min(1).max(10),
    encoding: z.enum(['hex', 'base64']),
    header: text(100),
    prefix: text(20).optional().describe('What stands before the signature in its field, such as `sha256=`.'),
    ...timestamp,
  }),
  z.strictObject({
    kind: z.literal('ed25519'),
    publicKey: declared.describe('The setting with the public key in base64.'),
    over: z.array(over).min(1).max(10),
    header: text(100),
    ...timestamp,
  }),
  z.strictObject({
    kind: z.literal('jwt-hs256'),
    key: declared,
    header: text(100),
    scheme: text(20).optional().describe('What stands before the token in its field, such as `Bearer`.'),
    audience: z.literal('url').optional(),
    urlHash: text(40).optional().describe('The claim with the SHA-256 of the URL.'),
    payloadHash: text(40).optional().describe('The claim with the SHA-256 of the body.'),
  }),
]);
export type Check = z.output<typeof check>;

const receiptRead = z.strictObject({
  attemptId: sources.optional(),
  gatewayId: sources.optional(),
  status: sources,
  detail: sources.optional(),
  at: sources.optional(),
});
const incomingRead = z.strictObject({
  gatewayId: sources.optional(),
  sender: sources,
  destination: sources,
  text: sources,
  receivedAt: sources.optional(),
  'part.reference': sources.optional(),
  'part.total': sources.optional(),
  'part.number': sources.optional(),
  udhHex: sources.optional(),
});
export type IncomingRead = z.output<typeof incomingRead>;

const status = z.enum(RECEIPT_STATUSES);
const charset = z.strictObject({
  from: sources,
  map: z.record(z.string(), z.enum(['utf8', 'utf16be', 'hex', 'hex-utf16be', 'percent-latin1', 'percent-utf16be'])),
});
export type Charset = z.output<typeof charset>;

const callback = {
  path: z.string().regex(/^[a-z0-9-]{1,32}$/, 'expected lower-case letters, digits and hyphens'),
  methods: z.array(z.enum(['GET', 'POST'])).min(1),
  body: z.enum(['json', 'xml', 'form', 'query', 'text', 'any']),
  when: when.optional(),
  each: z
    .string()
    .max(200)
    .regex(/^(?:\/.*)?$/, 'expected a pointer such as /messages')
    .optional()
    .describe('The pointer of a list of JSON, or of elements of XML with the same name, which are read one by one.'),
  check: check.describe('How a callback proves that it comes from the provider.'),
  answer: z.strictObject({ status: z.int().min(200).max(299), type: text(100).optional(), body: text(500).optional() }),
};
const receiptCallback = z.strictObject({
  is: z.literal('receipt'),
  ...callback,
  read: receiptRead,
  map: z
    .record(z.string(), status.nullable())
    .refine((given) => Object.values(given).some((each) => each !== null), 'expected a word that means a status')
    .describe('What each word of the provider means; null for one that says nothing.'),
  unless: z.array(z.strictObject({ when, status })).max(20).optional(),
});
const incomingCallback = z.strictObject({
  is: z.literal('incoming'),
  ...callback,
  read: incomingRead,
  charset: charset.optional(),
});
export type ReceiptCallback = z.output<typeof receiptCallback>;
export type IncomingCallback = z.output<typeof incomingCallback>;

const poll = z.strictObject({
  everySeconds: z.int().min(1).max(3_600),
  is: z.literal('incoming'),
  request: sideRequest,
  until: when.describe('The answer that says that there is nothing more.'),
  read: incomingRead,
  atMostOnce: z
    .literal(true, 'expected true: reading deletes the message there, so a crash may lose one')
    .describe('Reading deletes the message at the provider, so a crash may lose one.'),
});
export type Poll = z.output<typeof poll>;

const examples = z.strictObject({
  answers: z
    .array(
      z.strictObject({
        note: text().optional(),
        status: z.int().min(100).max(599),
        headers: fields.optional(),
        body: z.unknown(),
        expect: z.strictObject({
          result: z.enum(RESULTS),
          gatewayId: z.string().optional(),
          reason: z.string().optional(),
        }),
      }),
    )
    .max(50)
    .default([]),
  callbacks: z
    .array(
      z.strictObject({
        note: text().optional(),
        path: text(32),
        method: z.enum(['GET', 'POST']).optional(),
        headers: fields.optional(),
        query: z.string().optional(),
        form: z.string().optional(),
        json: z.unknown().optional(),
        text: z.string().optional(),
        expect: z.array(z.record(z.string(), z.unknown())).max(50),
      }),
    )
    .max(50)
    .default([]),
});

export const providerFile = z.strictObject({
  $schema: z.string().max(500).optional(),
  title: text(200).optional(),
  about: text(2_000).optional().describe('Where this was learnt, and when.'),
  settings: z.array(declared).max(20).default([]).describe('Names of what differs between accounts.'),
  secrets: z.array(declared).max(10).default([]).describe('Names of secrets, whose values are never in the file.'),
  fields: z
    .array(z.string().regex(FIELD_NAME_FORM, 'expected a name such as templateId'))
    .max(10)
    .default([])
    .describe('Names of fields that messages and accounts may have, for {field.NAME}.'),
  parts: z
    .enum(['whole', 'each'])
    .default('whole')
    .describe('`whole`: the provider splits long texts. `each`: every part is a request of its own.'),
  receipts: z.enum(['callback', 'none']).default('callback'),
  limits: z
    .strictObject({
      textMax: z.int().min(1).max(40_000).optional().describe('Characters of the longest text.'),
      ratePerSecond: z.number().positive().max(10_000).optional().describe('Requests in a second, of each process.'),
      window: z.int().min(1).max(1_000).default(10).describe('Requests without an answer, of each process.'),
      timeoutMs: z.int().min(100).max(60_000).default(15_000).describe('Milliseconds to wait for an answer.'),
    })
    .prefault({}),
  repeat: z
    .strictObject({ field: text(100) })
    .optional()
    .describe('The field with {attemptId} by which the provider takes a request once, however often it comes.'),
  request: messageRequest,
  answer: z.array(rule).min(1).max(50).describe('Rules of which the first that fits counts.'),
  callbacks: z
    .array(z.discriminatedUnion('is', [receiptCallback, incomingCallback]))
    .max(10)
    .default([]),
  poll: poll.optional(),
  probe: sideRequest.optional().describe('A request that changes nothing, for columba check.'),
  examples: examples.optional(),
});
export type ProviderFile = z.output<typeof providerFile>;
export type Callback = ProviderFile['callbacks'][number];
export type MessageRequest = ProviderFile['request'];

export const FILE_BYTES_MAX = 64 * 1024;

/** A mistake in a file, with its place. */
export interface Mistake {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Of a value that may have several forms, the mistake in the form that it resembles most counts:
 * the one whose mistake is deepest.
 */
export function mistakesOf({ issues }: z.ZodError): Mistake[] {
  return issues.flatMap((issue): Mistake[] => {
    const { path, message } = issue;
    if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [{ path, message: lowered(message) }];
    const forms = issue.errors.map((inner) => mistakesOf(new z.ZodError(inner)));
    const depth = (mistakes: readonly Mistake[]) => Math.max(0, ...mistakes.map((each) => each.path.length));
    const [nearest = []] = forms.sort((a, b) => depth(b) - depth(a));
    return nearest.map((each) => ({ path: [...path, ...each.path], message: each.message }));
  });
}

const lowered = (message: string): string => message.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
