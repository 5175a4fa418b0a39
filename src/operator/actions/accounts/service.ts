import { z } from 'zod';
import { counted, grouped } from '../../../base/counted.ts';
import { auditEntries } from '../../../domain/accounts/audit.ts';
import { readStatus } from '../../../domain/messages/counts.ts';
import { readSendingCounts, sendingFaults } from '../../../domain/queue/counts.ts';
import { countUnrouted } from '../../../domain/receiving/unrouted.ts';
import { type Action, action, listAction } from '../../action.ts';
import { since, until } from '../../filters.ts';
import { formerName, id, instant, username } from '../../schemas.ts';

/** About the service as a whole: its audit, its state, its description. */

const part = z.string().min(1).max(200);

export const auditList = listAction({
  name: 'audit list',
  scope: 'audit',
  path: '/audit',
  summary: 'List changes by operators and deletions by clients, newest first.',
  description:
    'An entry says who did what to which object, when and from where. It never contains a secret or the text of a message. A search for an actor or an action reads at most 20,000 entries per page, so a page may have few items although there is a next page.',
  formerFields: { account: 'username', from: 'since', to: 'until' },
  query: z.strictObject({
    username: username.optional().describe('Only changes of this account.'),
    actor: part.optional().describe('Part of the name of the actor.'),
    action: part.optional().describe('Part of the name of the action, such as `delete`.'),
    since,
    until,
  }),
  item: z.strictObject({
    id,
    at: instant,
    actorKind: z
      .string()
      .describe(
        '`command`; `operator` or `account` for a token; `console operator` or `console account`; `contract`; `message` for a STOP or START that arrived through a connector.',
      ),
    actorName: z
      .string()
      .describe(
        'The name of the token, of the user who ran the command, of the account that called, or of the connector.',
      ),
    tokenId: id.nullable(),
    address: z.string().nullable().describe('The network address; null for a command.'),
    action: z.string(),
    username: z.string().nullable().describe('The account that was changed, if there was one.'),
    account: formerName(z.string().nullable(), 'username'),
    target: z.string().describe('The object of the action.'),
    fields: z.array(z.string()).describe('Names of the fields that were given.'),
    changes: z
      .array(z.strictObject({ field: z.string(), from: z.string().nullable(), to: z.string().nullable() }))
      .describe(
        'Settings and amounts that were altered, with their values before and after. Names, numbers, texts and secrets are left out.',
      ),
  }),
  position: z.tuple([instant, id]),
  example: {
    query: { username: 'acme' },
    output: {
      items: [
        {
          id: '1152921504606846976',
          at: '2026-11-15T12:00:00.000Z',
          actorKind: 'operator',
          actorName: 'provisioning',
          tokenId: '2305843009213693951',
          address: '192.0.2.7',
          action: 'account change',
          username: 'acme',
          account: 'acme',
          target: 'acme',
          fields: ['quietHours'],
          changes: [{ field: 'quietHours', from: null, to: '22:00-06:00' }],
        },
      ],
      next: null,
    },
  },
  command: { columns: ['at', 'actorKind', 'actorName', 'address', 'action', 'target', 'fields'] },
  run: async ({ database }, { query, page: { after, limit } }) => {
    const { username: account = null, actor = null, action: done = null, since: from = null, until: to = null } = query;
    const { entries, next } = await auditEntries(database, { account, actor, action: done, from, to }, limit, after);
    return {
      items: entries.map(({ fields, changes = [], ...entry }) => ({
        ...entry,
        username: entry.account,
        fields: [...fields],
        changes: changes.map((each) => ({ ...each })),
      })),
      next: next && ([...next] as [number, bigint]),
    };
  },
});

const statusOutput = z.strictObject({
  version: z.string(),
  at: instant,
  database: z.strictObject({
    engine: z.enum(['sqlite', 'postgres']),
    bytes: z.int(),
    schemaVersion: z.int(),
  }),
  accounts: z.int(),
  backup: z
    .strictObject({
      target: z.string().nullable().describe('Where it is kept, in words.'),
      lagSeconds: z
        .number()
        .nullable()
        .describe('Seconds of commits that are missing in it; null before the first snapshot.'),
      snapshotAt: instant.nullable().describe('When the last snapshot began.'),
      verifiedAt: instant.nullable().describe('When it was last restored into a temporary file and found whole.'),
      fault: z.string().nullable().describe('What is wrong with it, in words.'),
    })
    .nullable()
    .describe('The continuous backup of SQLite; null without one.'),
  sending: z.strictObject({
    due: z.int().describe('Messages that are due and not claimed; at most 100000 are counted.'),
    submitting: z.int().describe('Messages that are submitted and wait for the answer of the carrier.'),
    unknownOutcome: z.int().describe('Messages with an unknown outcome: nobody knows whether the carrier has them.'),
    undecided: formerName(z.int(), 'unknownOutcome'),
    waiting: z.int().describe('Messages whose time has come and that are not submitted, also those to be tried again.'),
    oldestDueSeconds: z.int().describe('How long ago the oldest of them was due for the first time.'),
    unrouted: z.int().describe('Received messages that no route gives to an account.'),
    connectors: z.array(
      z.strictObject({
        name: z.string(),
        state: z.enum(['working', 'paused', 'down']),
        waiting: z.int().describe('Messages that wait for this connector, also for another attempt.'),
        lastMinute: z.int().describe('Parts submitted in the last minute; at most 1000 are counted.'),
        receiptLagMs: z.int().nullable().describe('The median time from a submission to its last receipt.'),
        lastError: z.string().nullable().describe('Reason of the last refusal.'),
      }),
    ),
    unconnected: z
      .array(
        z.strictObject({
          connector: z
            .string()
            .nullable()
            .describe('The missing connector that accounts name; null if there is no default connector.'),
          waiting: z.int().describe('Messages that are due.'),
        }),
      )
      .describe('Messages that have no connector.'),
    faults: z.array(z.string()).describe('What is wrong with sending, in words.'),
  }),
});

/** The result first: what is wrong, or that nothing is. */
function statusLines({ version, database, accounts, backup, sending }: z.output<typeof statusOutput>): string[] {
  const { connectors, faults } = sending;
  const wrong = [...faults, ...(backup?.fault ? [`The backup: ${backup.fault}`] : [])];
  const oldest = sending.waiting > 0 ? `, the oldest for ${counted(sending.oldestDueSeconds, 'second')}` : '';
  return [
    ...(wrong.length > 0 ? wrong : ['Nothing is wrong.']),
    `Columba ${version} on ${database.engine}: ${counted(accounts, 'account')}, ${(database.bytes / 1e6).toFixed(1)} MB`,
    `Waiting to be sent: ${counted(sending.waiting, 'message')}${oldest}`,
    `At carriers without an answer yet: ${grouped(sending.submitting)}; with an unknown outcome: ${grouped(sending.unknownOutcome)}`,
    `Received without a route: ${counted(sending.unrouted, 'message')}`,
    backup === null ? 'Backup: off' : `Backup: ${backup.target ?? 'on'}, ${lagOf(backup.lagSeconds)}`,
    ...connectors.map(
      ({ name, state, waiting, lastMinute }) =>
        `Connector ${name}: ${state}, ${grouped(waiting)} waiting, ${counted(lastMinute, 'part')} in the last minute`,
    ),
  ];
}

const lagOf = (seconds: number | null): string =>
  seconds === null ? 'without a snapshot yet' : `${seconds.toFixed(1)} s behind`;

export const status = action({
  name: 'status',
  scope: 'metrics',
  method: 'GET',
  path: '/status',
  summary: 'Show the state of the service.',
  output: statusOutput,
  example: {
    output: {
      version: '0.2.0',
      at: '2026-11-15T12:00:00.000Z',
      database: { engine: 'sqlite', bytes: 409600, schemaVersion: 7 },
      accounts: 2,
      backup: null,
      sending: {
        due: 0,
        submitting: 0,
        unknownOutcome: 0,
        undecided: 0,
        waiting: 0,
        oldestDueSeconds: 0,
        unrouted: 0,
        connectors: [
          { name: 'loopback', state: 'working', waiting: 0, lastMinute: 12, receiptLagMs: 1200, lastError: null },
        ],
        unconnected: [],
        faults: [],
      },
    },
  },
  command: { say: (state) => statusLines(state).join('\n') },
  run: async ({ database, now, version, engine, backup: readBackup }) => {
    const { bytes, schemaVersion, accounts } = await readStatus(database);
    const read = await readSendingCounts(database, now, countUnrouted);
    const { due, submitting, unknownOutcome, waiting: all, oldestDueMs, unrouted } = read;
    const connectors = read.connectors.map(
      ({ name, pausedAt, downSince, waiting, lastMinute, receiptLagMs, lastError }) => ({
        name,
        state: pausedAt !== null ? ('paused' as const) : downSince !== null ? ('down' as const) : ('working' as const),
        waiting,
        lastMinute,
        receiptLagMs,
        lastError,
      }),
    );
    const oldestDueSeconds = Math.round(oldestDueMs / 1_000);
    const faults = sendingFaults(read);
    const unconnected = [...read.unconnected];
    const known = { due, submitting, unknownOutcome, undecided: unknownOutcome };
    const counts = { ...known, waiting: all, oldestDueSeconds, unrouted };
    const sending = { ...counts, connectors, unconnected, faults };
    const { lagMs, ...state } = readBackup() ?? { lagMs: null };
    const backup = 'target' in state ? { ...state, lagSeconds: lagMs === null ? null : lagMs / 1_000 } : null;
    return { version, at: now(), database: { engine, bytes, schemaVersion }, accounts, backup, sending };
  },
});

export const openapi = action({
  name: 'openapi',
  scope: null,
  method: 'GET',
  path: '/openapi.json',
  summary: 'Show this API as an OpenAPI 3.1 document.',
  output: z.record(z.string(), z.unknown()),
  example: { output: { openapi: '3.1.0' } },
  command: { needsNoDatabase: true, say: (document) => JSON.stringify(document, null, 2) },
  run: async (services) => services.openapi(),
});

export const serviceActions: readonly Action[] = [auditList, status, openapi];
