import type { Database } from '../../store/database.ts';
import { createMigrationClients, SILENT_DAYS } from './clients.ts';
import { DAY_MS } from './counts.ts';
import { createMigrationProgress, type MovingAccount } from './progress.ts';
import { type MigrationReport, migrationReport, RULES } from './report.ts';
import { STAGES, type Stage } from './stages.ts';
import { VERDICT_DEFAULTS } from './verdict.ts';

/** Which step of the checklist is due, for each account and for all. See docs/MIGRATION.md. */
export const STEPS = {
  record: 'Stage 1: record a normal week',
  import: 'Stage 2: copy the accounts',
  check: 'Stage 2: compare the contents of both sides',
  compare: 'Stage 3: let Columba be compared with the old server',
  verdict: 'Stage 3: wait until the verdict is safe',
  lead: 'Stage 4: let Columba answer',
  alone: 'Stage 5: move carriers and schedule, and leave the old server',
  receipts: 'Stage 5: wait for the last receipts',
  finish: 'Stage 5: point the clients at Columba itself',
} as const;
export type StepName = keyof typeof STEPS;
const ORDER = Object.keys(STEPS) as StepName[];

export interface DueStep {
  readonly step: StepName;
  readonly title: string;
  /** Whether nothing blocks the step, so that its commands may be run now. */
  readonly isReady: boolean;
  readonly blocks: readonly string[];
  readonly commands: readonly string[];
}
export interface AccountPlan extends DueStep, MovingAccount {}
export interface MigrationPlan extends DueStep {
  readonly at: number;
  readonly accountsInStage: Readonly<Record<Stage, number>>;
  readonly clients: Awaited<ReturnType<ReturnType<typeof createMigrationClients>['summary']>>;
  readonly accounts: readonly AccountPlan[];
  /** Whether there are further accounts, which were not looked at. */
  readonly hasMore: boolean;
}

/** The days in each stage that the checklist asks for. */
const RECORD_DAYS = 7;
const COMPARE_DAYS = 7;
const LEAD_DAYS = 14;
const RECEIPT_DAYS = 3;
/** Writes that wait longer than this are stuck; newer ones are on their way. */
const STUCK_MS = 60_000;
/** The plan of a thousand accounts takes about a second. */
const ACCOUNTS_MAX = 1_000;

interface Known {
  readonly report: MigrationReport;
  readonly old: string;
  readonly now: number;
}

export async function migrationPlan(database: Database, now: () => number): Promise<MigrationPlan> {
  const known = await knownOf(database, now);
  const moving = await createMigrationProgress(database, now).list('', ACCOUNTS_MAX + 1);
  const accounts = moving.slice(0, ACCOUNTS_MAX).map((account) => accountPlan(account, known));
  const clients = await createMigrationClients(database, now).summary();
  const accountsInStage = Object.fromEntries(
    STAGES.map((stage) => [stage, accounts.filter((each) => each.stage === stage).length]),
  ) as Record<Stage, number>;
  const due = wholeStep({ accounts, clients, known });
  return { ...due, at: now(), accountsInStage, clients, accounts, hasMore: moving.length > ACCOUNTS_MAX };
}

/** The plans of accounts, by username. */
export async function accountPlans(database: Database, now: () => number, after: string, limit: number) {
  const known = await knownOf(database, now);
  return (await createMigrationProgress(database, now).list(after, limit)).map((each) => accountPlan(each, known));
}

/** Returns null for an account that was neither copied nor has a stage. */
export async function planOfAccount(database: Database, now: () => number, name: string): Promise<AccountPlan | null> {
  const account = await createMigrationProgress(database, now).of(name);
  return account && accountPlan(account, await knownOf(database, now));
}

async function knownOf(database: Database, now: () => number): Promise<Known> {
  const report = await migrationReport(database, now, VERDICT_DEFAULTS);
  const old = (await createMigrationProgress(database, now).oldServer()) ?? 'https://old.example';
  return { report, old, now: now() };
}

const step = (name: StepName, blocks: readonly string[], commands: readonly string[]): DueStep => ({
  step: name,
  title: STEPS[name],
  isReady: blocks.length === 0,
  blocks,
  commands,
});

/** The step for the whole migration: the earliest step that is due for some account. */
function wholeStep({
  accounts,
  clients,
  known,
}: { accounts: readonly AccountPlan[]; known: Known } & Pick<MigrationPlan, 'clients'>): DueStep {
  const { old, now } = known;
  if (clients.firstAt === null && accounts.length === 0) {
    return step(
      'record',
      ['No proxy has seen a call.'],
      [
        `columba migrate probe ${old} --out dialect.json`,
        `columba migrate proxy --old ${old} --stage record --port 8090`,
      ],
    );
  }
  const days = clients.firstAt === null ? RECORD_DAYS : Math.floor((now - clients.firstAt) / DAY_MS);
  if (days < RECORD_DAYS && accounts.every(({ copiedAt }) => copiedAt === null)) {
    return step('record', [`Clients were seen for ${days} of ${RECORD_DAYS} days.`], ['columba migrate clients']);
  }
  const first = ORDER.find((name) => accounts.some((each) => each.step === name)) ?? 'import';
  const unknown = clients.unknownUserIds;
  // In later stages, a client with a wrong user_id must not hide the step that is due.
  if (accounts.length === 0 || (unknown > 0 && accounts.every(({ stage }) => stage === 'record'))) {
    const why =
      unknown === 1
        ? 'A user_id of a client has no account in Columba.'
        : `${unknown} user_ids of clients have no account in Columba.`;
    return step('import', unknown > 0 ? [why] : ['No account is copied yet.'], importing(known));
  }
  const due = accounts.filter((each) => each.step === first);
  const blocked = due.filter(({ isReady }) => !isReady);
  const blocks = [...new Set(blocked.flatMap((each) => each.blocks))];
  const who = due.length === accounts.length ? 'all accounts' : namesOf(due);
  return {
    ...step(first, blocked.length === due.length ? blocks.slice(0, BLOCKS_MAX) : [], commandsFor(first, due, known)),
    title: `${STEPS[first]} (${who})`,
  };
}

const BLOCKS_MAX = 20;
const NAMES_MAX = 5;
const namesOf = (accounts: readonly AccountPlan[]): string => {
  const names = accounts.slice(0, NAMES_MAX).map(({ username }) => username);
  return accounts.length > NAMES_MAX ? `${names.join(', ')} and ${accounts.length - NAMES_MAX} more` : names.join(', ');
};

/** If all accounts have the default stage, one command moves them. */
function commandsFor(name: StepName, due: readonly AccountPlan[], known: Known): readonly string[] {
  if (name === 'compare' && due.every(({ isDefault }) => isDefault)) return ['columba migrate default-stage compare'];
  return (due.find(({ isReady }) => isReady) ?? due[0])?.commands ?? importing(known);
}

const importing = ({ old }: Known): string[] => [
  `columba migrate import --old ${old} --users users.txt --dry-run`,
  `columba migrate import --old ${old} --users users.txt --links links.txt`,
];

function accountPlan(account: MovingAccount, known: Known): AccountPlan {
  return { ...account, ...dueStep(account, known) };
}

function dueStep(account: MovingAccount, known: Known): DueStep {
  if (account.stage === 'record') return stepInRecord(account, known);
  if (account.stage === 'compare') return stepInCompare(account, known);
  return account.stage === 'lead' ? stepInLead(account, known) : stepAlone(account, known);
}

const checking = ({ old }: Known): string => `columba migrate check --old ${old} --users users.txt`;

/** Quotes a name for a shell. */
const quoted = (name: string): string => (/^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`);

function stepInRecord({ username, copiedAt }: MovingAccount, known: Known): DueStep {
  if (copiedAt === null) return step('import', ['The account is not copied completely.'], importing(known));
  const check = known.report.rules.find(({ name }) => name === 'check');
  if (!check?.isMet) return step('check', [`The last check: ${check?.detail ?? 'never run'}.`], [checking(known)]);
  return step('compare', [], [`columba migrate stage ${quoted(username)} compare`]);
}

function stepInCompare({ username, days, copiedAt }: MovingAccount, known: Known): DueStep {
  const { rules } = known.report;
  const blocks = [
    ...(copiedAt === null ? ['The account is not copied completely.'] : []),
    ...(days.compare < COMPARE_DAYS ? [`In this stage for ${shownDays(days.compare)} of ${COMPARE_DAYS} days.`] : []),
    ...rules.filter(({ isMet }) => !isMet).map(({ name, detail }) => `Not met: ${RULES[name]} (${shortened(detail)}).`),
  ];
  if (blocks.length > 0) return step('verdict', blocks, [checking(known), 'columba migrate verdict']);
  const { old } = known;
  return step(
    'lead',
    [],
    [
      `columba migrate import --old ${old} --users users.txt && ${checking(known)}`,
      `columba migrate stage ${quoted(username)} lead`,
    ],
  );
}

function stepInLead({ username, days, waiting, held }: MovingAccount, { old, now, report }: Known): DueStep {
  const failed = report.rules.find(({ name }) => name === 'failed');
  const isStuck = waiting.oldestAt !== null && now - waiting.oldestAt > STUCK_MS;
  const blocks = [
    ...(days.lead < LEAD_DAYS ? [`In this stage for ${shownDays(days.lead)} of ${LEAD_DAYS} days.`] : []),
    ...(isStuck ? [`${waiting.total} writes wait for one of the servers.`] : []),
    ...(failed && !failed.isMet ? [`Not met: ${RULES.failed} (${failed.detail}).`] : []),
  ];
  const takeOver = `columba migrate schedule take-over --old ${old} --users users.txt`;
  const takingOver = held > 0 ? [`${takeOver} --dry-run`, takeOver] : [];
  return step('alone', blocks, [
    'columba backup FILE',
    ...takingOver,
    `columba migrate stage ${quoted(username)} alone`,
  ]);
}

function stepAlone({ days, since, held }: MovingAccount, { old }: Known): DueStep {
  const left = held > 0 ? [`${held} scheduled messages are held: nobody sends them.`] : [];
  if (days.alone < RECEIPT_DAYS) {
    const from = new Date((since ?? 0) - DAY_MS).toISOString().slice(0, 10);
    return step(
      'receipts',
      [`Alone for ${shownDays(days.alone)} of ${RECEIPT_DAYS} days.`, ...left],
      [`columba migrate import --old ${old} --users users.txt --since ${from}`],
    );
  }
  return step('finish', left, [`columba migrate clients`]);
}

const shownDays = (days: number): string => String(Math.floor(days));
const DETAIL_LENGTH_MAX = 160;
const shortened = (text: string): string =>
  text.length > DETAIL_LENGTH_MAX ? `${text.slice(0, DETAIL_LENGTH_MAX)} …` : text;

/** Notes about clients, whose owners may know more. */
export function notesOf({
  clients: { silent, unknownUserIds },
  hasMore,
}: Pick<MigrationPlan, 'clients' | 'hasMore'>): string[] {
  const who = silent === 1 ? 'A client was' : `${silent} clients were`;
  const unknown = unknownUserIds === 1 ? 'A user_id has' : `${unknownUserIds} user_ids have`;
  return [
    ...(silent === 0
      ? []
      : [`${who} not seen for ${SILENT_DAYS} days: columba migrate clients --silent ${SILENT_DAYS}`]),
    ...(unknownUserIds === 0
      ? []
      : [
          `${unknown} no account in Columba. Copy it, or erase clients of unknown user_ids: columba migrate forget-clients --unknown`,
        ]),
    ...(hasMore ? ['Only the first accounts were looked at.'] : []),
  ];
}
