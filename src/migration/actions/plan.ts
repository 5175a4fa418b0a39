import { z } from 'zod';
import { notFound } from '../../base/problem.ts';
import { type Action, action, listAction, pageOf } from '../../operator/action.ts';
import { instant, username } from '../../operator/schemas.ts';
import {
  type AccountPlan,
  accountPlans,
  type DueStep,
  migrationPlan,
  notesOf,
  planOfAccount,
  STEPS,
  type StepName,
} from '../stages/plan.ts';
import { STAGES } from '../stages/stages.ts';

/** Which step of the checklist is due. */

const count = z.int().min(0);
const stage = z.enum(STAGES);
const stepNames = Object.keys(STEPS) as [StepName, ...StepName[]];
const due = {
  step: z.enum(stepNames),
  title: z.string(),
  isReady: z.boolean().describe('Whether nothing blocks the step.'),
  blocks: z.array(z.string()).describe('What blocks the step.'),
  commands: z.array(z.string()).describe('The commands of the step, in their order.'),
};
const ofEachStage = z.strictObject({ record: z.number(), compare: z.number(), lead: z.number(), alone: z.number() });
const accountOutput = z.strictObject({
  username: z.string(),
  stage,
  isDefault: z.boolean().describe('Whether the account has the default stage, and none of its own.'),
  since: instant.nullable(),
  days: ofEachStage.describe('Days in each stage.'),
  copiedAt: instant.nullable(),
  waitingWrites: count,
  heldMessages: count.describe('Scheduled messages that were copied and that Columba does not send yet.'),
  changes: z.array(z.strictObject({ stage, at: instant, by: z.string() })),
  ...due,
});
type AccountOutput = z.output<typeof accountOutput>;

const toOutput = ({ waiting, held, changes, days, blocks, commands, ...plan }: AccountPlan): AccountOutput => ({
  ...plan,
  days: Object.fromEntries(STAGES.map((each) => [each, Math.round(days[each] * 10) / 10])) as AccountOutput['days'],
  waitingWrites: waiting.total,
  heldMessages: held,
  changes: changes.map((each) => ({ ...each })),
  blocks: [...blocks],
  commands: [...commands],
});

const EXAMPLE = {
  username: 'acme',
  stage: 'compare',
  isDefault: true,
  since: '2026-11-08T12:00:00.000Z',
  days: { record: 7, compare: 7, lead: 0, alone: 0 },
  copiedAt: '2026-11-07T12:00:00.000Z',
  waitingWrites: 0,
  heldMessages: 3,
  changes: [{ stage: 'compare', at: '2026-11-08T12:00:00.000Z', by: 'ann' }],
  step: 'lead',
  title: STEPS.lead,
  isReady: true,
  blocks: [],
  commands: ['columba migrate stage acme lead'],
};

export const migrateAccounts = listAction({
  name: 'migrate accounts',
  scope: 'accounts',
  path: '/migration/accounts',
  summary: 'List the accounts that move, with the stage of each, the days in it, and the step that is due.',
  item: accountOutput,
  position: z.string(),
  example: { output: { items: [EXAMPLE], next: null } },
  command: {
    columns: ['username', 'stage', 'days', 'due', 'blocks'],
    row: (item) => [
      item.username,
      item.stage,
      String(Math.floor(item.days[item.stage])),
      item.isReady ? `${item.step}: ready` : item.step,
      item.blocks.join(' '),
    ],
  },
  run: async ({ database, now }, { page: { after, limit } }) =>
    pageOf(await accountPlans(database, now, after ?? '', limit + 1), limit, toOutput, (row) => row.username),
});

const nextOutput = z.strictObject({
  ...due,
  username: z.string().nullable().describe('Null: for all accounts.'),
  accounts: ofEachStage.nullable().describe('How many accounts are in each stage; null if one account was asked for.'),
  clients: z
    .strictObject({ total: count, silent: count, unknownUserIds: count })
    .nullable()
    .describe('Programs that call the old server: see migrate clients.'),
  notes: z.array(z.string()),
});

/** The commands of most steps remove what blocks the step. Those of the last stage must wait. */
const shown = ({ step, title, isReady, blocks, commands }: DueStep): string[] => [
  `${title}: ${isReady ? 'ready' : 'not yet'}`,
  ...blocks.map((block) => `  blocked: ${block}`),
  ...commands.map((command) => `  ${isReady || step !== 'alone' ? 'run' : 'then'}: ${command}`),
];

export const migrateNext = action({
  name: 'migrate next',
  scope: 'accounts',
  method: 'GET',
  path: '/migration/next',
  summary: 'Show which step of the checklist is due, what blocks it, and the commands for it.',
  description: 'For all accounts together, or for one of them. `migrate accounts` lists the step of each.',
  query: z.strictObject({ username: username.optional().describe('Only for this account.') }),
  output: nextOutput,
  problems: ['not-found'],
  example: {
    output: {
      step: 'compare',
      title: `${STEPS.compare} (all accounts)`,
      isReady: true,
      blocks: [],
      commands: ['columba migrate default-stage compare'],
      username: null,
      accounts: { record: 12, compare: 0, lead: 0, alone: 0 },
      clients: { total: 31, silent: 2, unknownUserIds: 0 },
      notes: ['2 clients were not seen for 7 days: columba migrate clients --silent 7'],
    },
  },
  command: { say: (found) => [...shown(found), ...found.notes].join('\n') },
  run: async ({ database, now }, { query }) => {
    const of = ({ step, title, isReady, blocks, commands }: DueStep) => ({
      step,
      title,
      isReady,
      blocks: [...blocks],
      commands: [...commands],
    });
    if (query.username !== undefined) {
      const plan = await planOfAccount(database, now, query.username);
      if (!plan) throw notFound(`account with the username ${query.username} that moves`);
      return { ...of(plan), username: plan.username, accounts: null, clients: null, notes: [] };
    }
    const plan = await migrationPlan(database, now);
    const { clients, silent, unknownUserIds } = plan.clients;
    return {
      ...of(plan),
      username: null,
      accounts: { ...plan.accountsInStage },
      clients: { total: clients, silent, unknownUserIds },
      notes: notesOf(plan),
    };
  },
});

export const migrationPlanActions: readonly Action[] = [migrateNext, migrateAccounts];
