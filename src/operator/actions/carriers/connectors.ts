import { z } from 'zod';
import {
  type ConnectorKind,
  checkConfig,
  currentKind,
  defaultSubmissionsMax,
  kindField,
  kindNames,
  kinds,
  shownConfig,
  withStoredSecrets,
} from '../../../carriers/kinds.ts';
import { connectorLoads, NO_LOAD } from '../../../domain/queue/counts.ts';
import { type ConnectorRecord, createConnectors } from '../../../domain/sending/connectors.ts';
import { type Action, action, type TriedConnector } from '../../action.ts';
import { formerName, instant, integer } from '../../schemas.ts';

/** Connectors: the ways to carriers. Their secrets are stored and never shown. */

const name = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'expected lower-case letters, digits and hyphens');
const params = z.strictObject({ name });

const connector = z.strictObject({
  name: z.string(),
  kind: z.string(),
  isDefault: z.boolean().describe('Whether this connector carries the messages of accounts that name no connector.'),
  origin: z.enum(['api', 'file', 'builtin']).describe('Where the connector is configured.'),
  state: z.enum(['working', 'paused', 'down']),
  downSince: instant.nullable(),
  downReason: z.string().nullable(),
  avoidedUntil: instant.nullable().describe('Until then outbound routes pass over it, because it refused most.'),
  avoidedReason: z.string().nullable(),
  submissionsMax: z.int().describe('Messages that each process submits at the same time.'),
  ratePerSecond: z.int().nullable().describe('Parts per second, of all processes together; null for no limit.'),
  accepted: z.int().describe('Parts that the carrier has accepted.'),
  temporary: z.int().describe('Temporary refusals.'),
  permanent: z.int().describe('Permanent refusals.'),
  unknownOutcome: z.int().describe('Submissions with an unknown outcome: no answer came.'),
  unsure: formerName(z.int(), 'unknownOutcome'),
  lastAcceptedAt: instant.nullable(),
  lastError: z.string().nullable().describe('Reason of the last refusal.'),
  lastErrorAt: instant.nullable(),
  unreadAnswer: z.string().nullable().describe('The beginning of the last answer or callback that no rule reads.'),
  unreadAnswerAt: instant.nullable(),
  config: z.record(z.string(), z.unknown()).describe('The configuration without its secrets.'),
});

const shown = (record: ConnectorRecord): z.output<typeof connector> => ({
  name: record.name,
  kind: currentKind(record.kind),
  isDefault: record.isDefault,
  origin: record.origin,
  state: record.pausedAt !== null ? 'paused' : record.downSince !== null ? 'down' : 'working',
  downSince: record.downSince,
  downReason: record.downReason,
  avoidedUntil: record.avoidedUntil,
  avoidedReason: record.avoidedReason,
  submissionsMax: record.submissionsMax,
  ratePerSecond: record.ratePerSecond,
  ...record.counts,
  unsure: record.counts.unknownOutcome,
  lastAcceptedAt: record.lastAcceptedAt,
  lastError: record.lastError,
  lastErrorAt: record.lastErrorAt,
  unreadAnswer: record.unreadAnswer,
  unreadAnswerAt: record.unreadAnswerAt,
  config: shownConfig(record.kind, record.config),
});

const CONNECTOR = {
  name: 'loopback',
  kind: 'loopback',
  isDefault: true,
  origin: 'builtin',
  state: 'working',
  downSince: null,
  downReason: null,
  avoidedUntil: null,
  avoidedReason: null,
  submissionsMax: 1000,
  ratePerSecond: null,
  accepted: 40,
  temporary: 1,
  permanent: 0,
  unknownOutcome: 0,
  unsure: 0,
  lastAcceptedAt: '2026-11-15T12:00:00.000Z',
  lastError: 'throttled',
  lastErrorAt: '2026-11-15T11:59:00.000Z',
  unreadAnswer: null,
  unreadAnswerAt: null,
  config: { receiptAfterMs: 1000 },
};

const listed = connector.extend({
  waiting: z
    .int()
    .describe(
      'Messages whose time has come and that wait for this connector, also for another attempt; at most 100000 are counted.',
    ),
  oldestDueAt: instant.nullable().describe('When the oldest of them was due for the first time.'),
  recent: z
    .strictObject({
      since: instant,
      accepted: z.int(),
      permanent: z.int().describe('Parts that the carrier will never take.'),
    })
    .describe('What the carrier answered in this hour and the one before.'),
  lastMinute: z.int().describe('Parts submitted in the last minute; at most 1000 are counted.'),
  receiptLagMs: z
    .int()
    .nullable()
    .describe('The median time from a submission to its last receipt, of up to 1000 that are older than a minute.'),
});
const LISTED = {
  ...CONNECTOR,
  waiting: 0,
  oldestDueAt: null,
  recent: { since: '2026-11-15T11:00:00.000Z', accepted: 40, permanent: 0 },
  lastMinute: 12,
  receiptLagMs: 1200,
};

export const connectorList = action({
  name: 'connector list',
  scope: 'gateway',
  method: 'GET',
  path: '/connectors',
  summary: 'List the connectors with their state and their counts.',
  output: z.strictObject({ items: z.array(listed) }),
  example: { output: { items: [LISTED] } },
  command: {
    say: ({ items }) =>
      items
        .map(({ name: own, kind, state, isDefault, accepted, downReason, avoidedReason: avoided }) =>
          [own, kind, state, ...(isDefault ? ['default'] : []), `accepted ${accepted}`, downReason ?? avoided ?? '']
            .join('  ')
            .trimEnd(),
        )
        .join('\n') || 'There is no connector yet. The service creates a loopback at its first start.',
  },
  run: async ({ database, now }) => {
    const records = await createConnectors(database, now).list();
    const { byName } = await connectorLoads(database, records, now());
    return { items: records.map((record) => ({ ...shown(record), ...(byName.get(record.name) ?? NO_LOAD) })) };
  },
});

export const connectorShow = action({
  name: 'connector show',
  scope: 'gateway',
  method: 'GET',
  path: '/connectors/{name}',
  countedFields: [
    'state',
    'downSince',
    'downReason',
    'avoidedUntil',
    'avoidedReason',
    'accepted',
    'temporary',
    'permanent',
    'unknownOutcome',
    'unsure',
    'lastAcceptedAt',
    'lastError',
    'lastErrorAt',
    'unreadAnswer',
    'unreadAnswerAt',
  ],
  summary: 'Show a connector, without its secrets.',
  params,
  output: connector,
  problems: ['not-found'],
  example: { params: { name: 'loopback' }, output: CONNECTOR },
  run: async ({ database, now }, { params: { name: own } }) => shown(await createConnectors(database, now).show(own)),
});

export const connectorPut = action({
  name: 'connector put',
  scope: 'gateway',
  needs: {
    says: 'For every kind but loopback this also needs the scope messages:read, because a connector sees every message that it carries.',
    scopes: ({ body }) => (body.kind === 'loopback' ? [] : ['messages:read']),
  },
  method: 'PUT',
  path: '/connectors/{name}',
  summary: 'Add a connector, or replace its configuration.',
  description: `The kinds are ${kindNames.map((kind) => `\`${kind}\``).join(', ')}. Every process takes it over within a second. The configuration is replaced as a whole: a secret that is not given again is gone, unless \`keepSecrets\` asks for it, so a stored one never goes to another address.`,
  params,
  body: z.strictObject({
    kind: kindField.describe('The kind of connector.'),
    config: z.record(z.string(), z.unknown()).optional().describe('The configuration, with the fields of the kind.'),
    isDefault: z
      .boolean()
      .optional()
      .describe('Makes this connector the default. If it is not given, the default stays as it is.'),
    submissionsMax: integer(1, 10_000).optional().describe('Messages that each process submits at the same time.'),
    ratePerSecond: integer(1, 100_000).nullable().optional().describe('Parts per second; null for no limit.'),
    keepSecrets: z
      .boolean()
      .optional()
      .describe('Keeps the stored secrets that are not given. It is refused if the address of the carrier changes.'),
  }),
  output: connector,
  problems: ['conflict'],
  example: {
    params: { name: 'loopback' },
    body: { kind: 'loopback', config: { receiptAfterMs: 1000 }, isDefault: true },
    output: { ...CONNECTOR, origin: 'api' },
  },
  command: {
    secretsIn: {
      field: 'config',
      names: ({ kind, config }) => {
        const { secrets = [], secretsIn } = kinds[currentKind(String(kind)) as ConnectorKind] ?? {};
        const inner = secretsIn?.((config ?? {}) as Readonly<Record<string, unknown>>) ?? [];
        return inner.length > 0 ? inner : secrets;
      },
    },
    say: ({ name: own, kind }) => `The connector ${own} is of the kind ${kind}.`,
  },
  run: async ({ database, now }, { params: { name: own }, body }) => {
    const { kind, isDefault, ratePerSecond = null } = body;
    const connectors = createConnectors(database, now);
    const stored = body.keepSecrets ? (await connectors.list()).find((each) => each.name === own) : undefined;
    const config = checkConfig(kind, stored ? withStoredSecrets(kind, body.config ?? {}, stored) : (body.config ?? {}));
    const submissionsMax = body.submissionsMax ?? defaultSubmissionsMax(kind, config);
    const given = { name: own, kind, config, isDefault, submissionsMax, ratePerSecond };
    return shown(await connectors.put(given));
  },
});

export const connectorRemove = action({
  name: 'connector remove',
  scope: 'gateway',
  method: 'DELETE',
  path: '/connectors/{name}',
  summary: 'Remove a connector that no account names and that is not the default.',
  params,
  output: z.strictObject({ name: z.string() }),
  problems: ['not-found', 'conflict'],
  example: { params: { name: 'old' }, output: { name: 'old' } },
  command: { say: ({ name: own }) => `Removed the connector ${own}.` },
  run: async ({ database, now }, { params: { name: own } }) => {
    await createConnectors(database, now).remove(own);
    return { name: own };
  },
});

/** The request as it would be on the wire. */
const shownRequest = (
  { method, url, headers, body }: TriedConnector['request'],
  answer: TriedConnector['answer'],
): string =>
  [
    `${method} ${url}`,
    ...Object.entries(headers).map(([field, value]) => `${field}: ${value}`),
    ...(body === '' ? [] : ['', body]),
    ...(answer === null
      ? []
      : [
          '',
          `Result: ${answer.result}`,
          ...(answer.gatewayId === null ? [] : [`Id: ${answer.gatewayId}`]),
          ...(answer.reason === null ? [] : [`Reason: ${answer.reason}`]),
          answer.says,
        ]),
  ].join('\n');

export const connectorTest = action({
  name: 'connector test',
  scope: 'gateway',
  method: 'GET',
  path: '/connectors/{name}/test',
  summary: 'Test a connector: connect to the carrier, and look for the usual mistakes.',
  description:
    'Nothing is submitted. It takes up to half a minute where the carrier does not answer. With `to` or `answer`, a connector of the kind `http` shows the request that it would send, with masked secrets, and what it makes of an answer; nothing is connected to then.',
  params,
  query: z.strictObject({
    to: z.string().min(1).max(20).optional().describe('The recipient of a message that is only shown.'),
    from: z.string().min(1).max(20).optional().describe('Its sender.'),
    text: z.string().min(1).max(2_000).optional().describe('Its text.'),
    answer: z.string().max(65_536).optional().describe('The body of an answer of the carrier.'),
    status: z
      .string()
      .regex(/^[1-5]\d\d$/, 'expected a status of HTTP, such as 200')
      .optional()
      .describe('The status of that answer; 200 if it is not given.'),
  }),
  output: z.strictObject({
    name: z.string(),
    works: z.boolean().describe('Whether no mistake was found.'),
    mistakes: z.array(z.string()).describe('Why it cannot be used as it is, a sentence each.'),
    notes: z.array(z.string()).describe('What is worth knowing, a sentence each.'),
    request: z
      .strictObject({
        method: z.string(),
        url: z.string(),
        headers: z.record(z.string(), z.string()),
        body: z.string(),
      })
      .nullable()
      .describe('The request of the message that was only shown.'),
    answer: z
      .strictObject({
        result: z.string(),
        gatewayId: z.string().nullable(),
        reason: z.string().nullable(),
        says: z.string().describe('What the result means, in words.'),
      })
      .nullable(),
  }),
  problems: ['not-found'],
  example: {
    params: { name: 'carrier' },
    output: {
      name: 'carrier',
      works: false,
      mistakes: [
        'The SMSC smpp.carrier.example:2775 cannot be used: nothing listens there (ECONNREFUSED). Compare host and port.',
      ],
      notes: ['Each process of the service opens 1 bind of each kind with a window of 10. Carriers limit both.'],
      request: null,
      answer: null,
    },
  },
  command: {
    files: ['answer'],
    say: ({ name: own, mistakes, notes, request, answer }) =>
      request
        ? shownRequest(request, answer)
        : [
            ...notes,
            ...mistakes,
            mistakes.length > 0 ? `The connector ${own} cannot be used as it is.` : `The connector ${own} can be used.`,
          ].join('\n'),
    refusal: ({ mistakes }) => (mistakes.length > 0 ? mistakes.join(' ') : null),
  },
  run: async ({ testConnector, tryConnector }, { params: { name: own }, query }) => {
    const { to, from = null, text = 'Hello', answer, status } = query;
    if ([to, answer, status].some((given) => given !== undefined)) {
      const replied = { status: Number(status ?? 200), body: answer ?? '' };
      const message = { recipient: to ?? '+27825550201', sender: from, text };
      const hasAnswer = answer !== undefined || status !== undefined;
      const tried = await tryConnector(own, { ...message, ...(hasAnswer && { answer: replied }) });
      return { name: own, works: true, mistakes: [], notes: [], ...tried };
    }
    const { mistakes, notes } = await testConnector(own);
    const works = mistakes.length === 0;
    return { name: own, works, mistakes: [...mistakes], notes: [...notes], request: null, answer: null };
  },
});

const pausing = (verb: 'pause' | 'resume', summary: string, description: string) =>
  action({
    name: `connector ${verb}`,
    scope: 'gateway',
    method: 'POST',
    path: `/connectors/{name}/${verb}`,
    summary,
    description,
    params,
    output: connector,
    problems: ['not-found'],
    example: { params: { name: 'loopback' }, output: { ...CONNECTOR, state: verb === 'pause' ? 'paused' : 'working' } },
    command: { say: ({ name: own, state }) => `The connector ${own} is ${state}.` },
    run: async ({ database, now }, { params: { name: own } }) =>
      shown(await createConnectors(database, now).setPaused(own, verb === 'pause')),
  });

export const connectorPause = pausing(
  'pause',
  'Pause a connector, so that its messages wait.',
  'After the answer no process takes another message for it. Messages that were already being submitted, at most `submissionsMax` in each process, are finished.',
);
export const connectorResume = pausing(
  'resume',
  'Resume a paused connector.',
  'Every process submits its messages again within a second.',
);

export const connectorActions: readonly Action[] = [
  connectorList,
  connectorShow,
  connectorPut,
  connectorRemove,
  connectorTest,
  connectorPause,
  connectorResume,
];
