import { z } from 'zod';
import { notFound } from '../../base/problem.ts';
import { type Action, action, listAction, pageOf } from '../../operator/action.ts';
import { instant, line, queryFlag, queryInteger, username } from '../../operator/schemas.ts';
import { createMigrationBypass } from '../stages/bypass.ts';
import { createMigrationCounts } from '../stages/counts.ts';
import { migrationReport, OPERATIONS } from '../stages/report.ts';
import { createMigrationStages, STAGES } from '../stages/stages.ts';
import { VERDICT_DEFAULTS } from '../stages/verdict.ts';

/** Moving from an old server: stages, the report, and what a person accepts. */

const stage = z.enum(STAGES);
const stageOutput = z.strictObject({ username: z.string(), stage, changedAt: instant });
const EXAMPLE = { username: 'acme', stage: 'compare', changedAt: '2026-11-15T12:00:00.000Z' };

export const migrateStages = listAction({
  name: 'migrate stages',
  scope: 'accounts',
  path: '/migration/stages',
  summary: 'List the accounts that have a stage of their own, by username.',
  description: 'All others have the default stage, which the report shows.',
  item: stageOutput,
  position: z.string(),
  example: { output: { items: [EXAMPLE], next: null } },
  run: async ({ database, now }, { page: { after, limit } }) => {
    const rows = await createMigrationStages(database, now).list(after ?? '', limit + 1);
    return pageOf(
      rows,
      limit,
      (row) => ({ ...row }),
      (row) => row.username,
    );
  },
});

const force = z
  .boolean()
  .default(false)
  .describe(
    'Allows the way back from alone, although the old server lacks what Columba received and sent since, and the way to alone from another stage than lead.',
  );
const dryRun = z.strictObject({ dry_run: queryFlag.describe('Checks only, and sets nothing.') });
const changed = z.strictObject({
  username: z.string().nullable().describe('Null for the default stage.'),
  before: stage,
  stage,
});

export const migrateStage = action({
  name: 'migrate stage',
  scope: 'accounts',
  method: 'PUT',
  path: '/migration/stages/{username}',
  summary: 'Set the stage of an account. Every proxy follows within a second.',
  description:
    'record: the old server answers. compare: it answers, and Columba is compared with it. lead: Columba answers, and ' +
    'the old server gets the writes too. alone: only Columba is asked; there is no way back from it without loss.',
  params: z.strictObject({ username }),
  query: dryRun,
  body: z.strictObject({ stage: stage.describe('The new stage.'), force }),
  output: changed,
  problems: ['not-found', 'conflict'],
  readsOnly: ({ query }) => query.dry_run,
  example: {
    params: { username: 'acme' },
    body: { stage: 'compare' },
    output: { username: 'acme', before: 'record', stage: 'compare' },
  },
  target: ({ params, body }) => `${params.username}/${body.stage}`,
  command: {
    arguments: ['stage'],
    say: ({ username: name, before, stage: now }, { query }) =>
      `${query.dry_run ? 'A dry run: ' : ''}${name}: ${before} → ${now}`,
  },
  run: async ({ database, now }, { params, query, body }, actor) => {
    const domain = createMigrationStages(database, now);
    const before = query.dry_run
      ? await domain.tryStage(params.username, body.stage, body.force)
      : await domain.set(params.username, body.stage, body.force, actor.name);
    return { username: params.username, before, stage: body.stage };
  },
});

/** The most accounts with a stage of their own that a change of the default lists. */
const KEPT_SHOWN_MAX = 20;
const kept = z.strictObject({
  accounts: z.array(z.strictObject({ username: z.string(), stage })),
  more: z.boolean().describe('Whether there are further accounts.'),
});

export const migrateDefaultStage = action({
  name: 'migrate default-stage',
  scope: 'accounts',
  method: 'PUT',
  path: '/migration/default-stage',
  summary: 'Set the stage of all accounts that have none of their own.',
  query: dryRun,
  body: z.strictObject({ stage: stage.describe('The new stage.'), force }),
  output: changed.extend({ kept: kept.describe('Accounts that keep a stage of their own.') }),
  problems: ['conflict'],
  readsOnly: ({ query }) => query.dry_run,
  example: {
    body: { stage: 'record' },
    output: {
      username: null,
      before: 'record',
      stage: 'record',
      kept: { accounts: [{ username: 'acme', stage: 'lead' }], more: false },
    },
  },
  target: ({ body }) => body.stage,
  command: {
    arguments: ['stage'],
    say: ({ before, stage: now, kept: { accounts, more } }, { query }) =>
      [
        `${query.dry_run ? 'A dry run: ' : ''}default: ${before} → ${now}`,
        ...accounts.map((each) => `${each.username} keeps its own stage, ${each.stage}.`),
        ...(more ? ['Further accounts keep a stage of their own: columba migrate stages lists all.'] : []),
      ].join('\n'),
  },
  run: async ({ database, now }, { query, body }, actor) => {
    const domain = createMigrationStages(database, now);
    const before = query.dry_run
      ? await domain.tryDefault(body.stage, body.force)
      : await domain.setDefault(body.stage, body.force, actor.name);
    const own = await domain.list('', KEPT_SHOWN_MAX + 1);
    const accounts = own.slice(0, KEPT_SHOWN_MAX).map((each) => ({ username: each.username, stage: each.stage }));
    return { username: null, before, stage: body.stage, kept: { accounts, more: own.length > KEPT_SHOWN_MAX } };
  },
});

export const migrateBypassed = action({
  name: 'migrate bypassed',
  scope: 'accounts',
  method: 'POST',
  path: '/migration/bypassed',
  summary: 'Say that clients called the old server without the proxy for a while.',
  description:
    'Run it before the address points at the proxy again. Each account is then copied whole, with its contacts, groups, ' +
    'templates and marks, before Columba answers it; until then the old server does. ' +
    'It also ends the pass-through of a proxy that was killed and did not come back, so no proxy may be passing calls on.',
  output: z.strictObject({ at: instant }),
  example: { output: { at: '2026-11-15T12:00:00.000Z' } },
  target: () => 'all accounts',
  command: { say: () => 'Each account is copied whole before Columba answers it again.' },
  run: async ({ database, now }) => {
    await createMigrationBypass(database, now).noteAll();
    return { at: now() };
  },
});

const count = z.int().min(0);
const ms = z.number().nullable();
const operationCounts = z.strictObject({
  operation: z.string(),
  protocol: z.string(),
  calls: count.describe('All calls that were compared or tried.'),
  recorded: count,
  equal: count,
  lag: count.describe('Equal after a sync.'),
  order: count.describe('Equal but for the order of rows, which neither server promises.'),
  byDesign: count.describe('Declared differences.'),
  different: count,
  failed: count.describe('Columba did not answer, or answered with an internal error.'),
  skipped: count.describe(
    'Writes that the old server refused, so that they were not applied to Columba, and reads that it could not answer.',
  ),
  led: count.describe('Answered by Columba.'),
  dropped: count.describe('Not compared, because the queue was full.'),
  oldP95Ms: ms,
  ourP95Ms: ms,
});
const acceptance = z.strictObject({
  operation: z.string(),
  by: z.string(),
  at: instant,
  reason: z.string().describe('Empty where none was given.'),
});
const reportOutput = z.strictObject({
  isSafe: z.boolean().describe('Whether every rule is met.'),
  at: instant,
  days: z.int(),
  callsMin: z.int(),
  defaultStage: stage,
  waitingWrites: z.strictObject({ total: count, oldestAt: instant.nullable() }),
  oldP95Ms: ms,
  ourP95Ms: ms,
  rules: z.array(z.strictObject({ name: z.string(), isMet: z.boolean(), detail: z.string() })),
  operations: z.array(operationCounts),
  knownDifferences: z.array(z.strictObject({ name: z.string(), total: count, example: z.string().nullable() })),
  examples: z
    .array(
      z.strictObject({
        operation: z.string(),
        protocol: z.string(),
        name: z.string(),
        example: z.string(),
        at: instant,
      }),
    )
    .describe('Differences and failures. Texts and numbers are pseudonyms.'),
  neverSeen: z.array(z.string()).describe('Operations that no client called and nobody accepted.'),
  unknown: z
    .array(z.strictObject({ operation: z.string(), calls: count, isAccepted: z.boolean() }))
    .describe('Operations that the old server answered and Columba lacks.'),
  acceptances: z.array(acceptance),
});

export const migrateReport = action({
  name: 'migrate report',
  scope: 'accounts',
  method: 'GET',
  path: '/migration/report',
  summary: 'Show what was compared, and whether it is safe to leave the old server.',
  query: z.strictObject({
    days: queryInteger(1, 90).default(VERDICT_DEFAULTS.days).describe('How many of the last days count.'),
    calls: queryInteger(1, 1_000_000)
      .default(VERDICT_DEFAULTS.callsMin)
      .describe('How many calls each operation needs.'),
  }),
  output: reportOutput,
  example: {
    output: {
      isSafe: false,
      at: '2026-11-15T12:00:00.000Z',
      days: 7,
      callsMin: 100,
      defaultStage: 'record',
      waitingWrites: { total: 0, oldestAt: null },
      oldP95Ms: null,
      ourP95Ms: null,
      rules: [{ name: 'different', isMet: true, detail: '0 of 812 answers' }],
      operations: [],
      knownDifferences: [{ name: 'header-date', total: 812, example: 'date: old present, ours present, other value' }],
      examples: [],
      neverSeen: [],
      unknown: [{ operation: 'compose.SendMessage', calls: 312, isAccepted: false }],
      acceptances: [],
    },
  },
  run: async ({ database, now }, { query: { days, calls } }) => {
    const found = await migrationReport(database, now, { days, callsMin: calls });
    const { rules, operations, knownDifferences, examples, neverSeen, unknown, acceptances } = found;
    // The lists of the report are readonly, and those of an output are not.
    const lists = {
      rules: [...rules],
      operations: [...operations],
      knownDifferences: [...knownDifferences],
      examples: [...examples],
    };
    return { ...found, ...lists, neverSeen: [...neverSeen], unknown: [...unknown], acceptances: [...acceptances] };
  },
});

const operationParams = z.strictObject({
  operation: z
    .string()
    .regex(/^\w{1,64}\.\w{1,64}$/)
    .describe('The operation with its group, such as account.FetchGroups.'),
});

export const migrateAccept = action({
  name: 'migrate accept',
  scope: 'accounts',
  method: 'PUT',
  path: '/migration/acceptances/{operation}',
  summary: 'Accept that an operation was not called often enough to be compared, or that Columba lacks it.',
  params: operationParams,
  body: z.strictObject({
    reason: line(200).default('').describe('The reason, which the report shows to the people who decide.'),
  }),
  output: acceptance,
  example: {
    params: { operation: 'account.FetchGroups' },
    body: { reason: 'No program of ours has groups.' },
    output: {
      operation: 'account.FetchGroups',
      by: 'ann',
      at: '2026-11-15T12:00:00.000Z',
      reason: 'No program of ours has groups.',
    },
  },
  problems: ['not-found'],
  command: { say: ({ operation }) => `Accepted ${operation}.` },
  run: async ({ database, now }, { params: { operation }, body: { reason } }, actor) => {
    const migrationCounts = createMigrationCounts(database, now);
    const isKnown = OPERATIONS.includes(operation);
    if (!isKnown && !(await migrationCounts.unknown()).some((each) => each.operation === operation)) {
      throw notFound('such operation, neither in Columba nor in a call of a client');
    }
    await migrationCounts.accept(operation, actor.name, reason);
    return { operation, by: actor.name, at: now(), reason };
  },
});

export const migrateWithdraw = action({
  name: 'migrate withdraw',
  scope: 'accounts',
  method: 'DELETE',
  path: '/migration/acceptances/{operation}',
  summary: 'Withdraw an acceptance.',
  params: operationParams,
  output: z.strictObject({ operation: z.string() }),
  problems: ['not-found'],
  example: {
    params: { operation: 'account.FetchGroups' },
    output: { operation: 'account.FetchGroups' },
  },
  command: { say: ({ operation }) => `${operation} is not accepted any more.` },
  run: async ({ database, now }, { params: { operation } }) => {
    if (!(await createMigrationCounts(database, now).withdraw(operation))) throw notFound('such acceptance');
    return { operation };
  },
});

export const migrationActions: readonly Action[] = [
  migrateStages,
  migrateStage,
  migrateDefaultStage,
  migrateBypassed,
  migrateReport,
  migrateAccept,
  migrateWithdraw,
];
