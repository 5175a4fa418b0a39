import { counted } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import type { Acceptance } from './counts.ts';
import type { AccountPlan, MigrationPlan } from './plan.ts';
import { instantOf, type MigrationReport, RULES } from './report.ts';
import { STAGES } from './stages.ts';

/** The first page of the report, for people who decide: where each account is, and what blocks. */

/** As many as fit on a page. The list of accounts has all of them. */
const ACCOUNTS_SHOWN_MAX = 25;
const BLOCKS_SHOWN_MAX = 4;
const CHANGES_SHOWN_MAX = 10;
const ACCEPTED_SHOWN_MAX = 40;

const WAYS_BACK: Readonly<Record<(typeof STAGES)[number], string>> = {
  record: 'the old server answers, and nothing depends on Columba',
  compare: 'the old server answers, and Columba is compared with it; the way back loses nothing',
  lead: 'Columba answers, and the old server gets every write; the way back loses nothing',
  alone: 'only Columba is asked; there is no way back without loss',
};

const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
const more = (all: number, shown: number): Html =>
  all > shown ? html`<p>And ${plural(all - shown, 'account')} more: columba migrate accounts lists all.</p>` : html``;

export const decisionPart = (plan: MigrationPlan, report: MigrationReport): Html => html`<h2>What is next</h2>
<p><strong>${plan.title}</strong>: ${plan.isReady ? 'ready' : 'not yet'}.</p>
${plan.blocks.length === 0 ? '' : html`<ul>${plan.blocks.map((block) => html`<li>${block}</li>`)}</ul>`}
<h2>Accounts</h2>
<ul>${STAGES.map((stage) => html`<li><strong>${plan.accountsInStage[stage]}</strong> in ${stage}: ${WAYS_BACK[stage]}</li>`)}</ul>
${plan.accounts.length === 0 ? html`<p>No account was copied yet.</p>` : accountTable(plan.accounts.slice(0, ACCOUNTS_SHOWN_MAX))}
${more(plan.accounts.length, ACCOUNTS_SHOWN_MAX)}
<h2>Clients</h2>
<p>${plural(plan.clients.clients, 'client')} seen, ${plan.clients.silent.toLocaleString('en')} of them not for 7 days. User_ids without an account in Columba: ${plan.clients.unknownUserIds.toLocaleString('en')}.</p>
<h2>Accepted by a person</h2>
${accepted(report)}
<h2>Who set which stage</h2>
${changes(plan.accounts)}`;

/** The same for a terminal, with rules and differences, in lines of at most 160 characters. */
export function decisionLines(plan: MigrationPlan, report: MigrationReport): string[] {
  const { clients, accounts } = plan;
  const inStages = STAGES.map((stage) => `${plan.accountsInStage[stage]} in ${stage}`).join(', ');
  return [
    `Migration report, ${instantOf(report.at)}. ${report.isSafe ? 'Safe' : 'Not safe yet'}, by the last ${counted(report.days, 'day')}.`,
    '',
    `What is next: ${plan.title}: ${plan.isReady ? 'ready' : 'not yet'}`,
    ...plan.blocks.map((block) => `  ${block}`),
    '',
    `Accounts: ${inStages}. Default stage: ${report.defaultStage}.`,
    ...accounts.slice(0, ACCOUNTS_SHOWN_MAX).flatMap(accountLines),
    ...(accounts.length > ACCOUNTS_SHOWN_MAX
      ? [`  And ${plural(accounts.length - ACCOUNTS_SHOWN_MAX, 'account')} more: columba migrate accounts lists all.`]
      : []),
    `Clients: ${clients.clients} seen, ${clients.silent} of them not for 7 days. User_ids without an account in Columba: ${clients.unknownUserIds}.`,
    `Writes that wait for one of the servers: ${report.waitingWrites.total}.`,
    '',
    'Rules:',
    ...report.rules.map(({ name, isMet, detail }) => `  ${isMet ? 'yes' : 'NO '}  ${RULES[name]}: ${detail}`),
    '',
    `Differences and failures: ${report.examples.length === 0 ? 'none.' : 'the newest of each operation.'}`,
    ...report.examples.map((each) => `  ${each.name}: ${each.operation} ${each.protocol}: ${each.example}`),
    '',
    `Accepted by a person: ${report.acceptances.length === 0 ? 'nothing.' : 'operations that were not compared, or that Columba lacks.'}`,
    ...[...Map.groupBy(report.acceptances, whoAccepted)].map(
      ([who, rows]) => `  ${who}: ${rows.map(({ operation }) => operation).join(', ')}`,
    ),
    '',
    'Who set which stage:',
    ...changesOf(accounts).map(changeLine).map(indented),
    ...(changesOf(accounts).length === 0 ? ['  Nobody yet.'] : []),
  ].map(bounded);
}

const LINE_LENGTH_MAX = 160;
const bounded = (line: string): string =>
  line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX - 2)} …` : line;
const indented = (line: string): string => `  ${line}`;

const accountLines = ({ username, stage, since, days, title, isReady, blocks }: AccountPlan): string[] => [
  `  ${username}: ${stage}${since === null ? '' : ` since ${instantOf(since).slice(0, 10)}`}; days: ${shownDays(days)}`,
  `    next: ${title}: ${isReady ? 'ready' : 'not yet'}${blocks.length === 0 ? '' : `. ${shortened(blocks)}`}`,
];

function accountTable(accounts: readonly AccountPlan[]): Html {
  const heads = ['Account', 'Stage', 'Since', 'Days in each stage', 'Next', 'What blocks'];
  return html`<table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${accounts.map(
    ({ username, stage, since, days, title, isReady, blocks }) =>
      html`<tr><th scope="row">${username}</th><td class="whole">${stage}</td><td class="whole">${since === null ? '–' : instantOf(since).slice(0, 10)}</td><td>${shownDays(days)}</td><td>${title}${isReady ? html` <strong>(ready)</strong>` : ''}</td><td>${shortened(blocks)}</td></tr>`,
  )}</tbody></table>`;
}

const shownDays = (days: AccountPlan['days']): string =>
  STAGES.filter((stage) => days[stage] >= 1)
    .map((stage) => `${stage} ${Math.floor(days[stage])}`)
    .join(', ') || 'less than one';

const shortened = (blocks: readonly string[]): string => {
  if (blocks.length === 0) return 'nothing';
  const shown = blocks.slice(0, BLOCKS_SHOWN_MAX).map((block) => block.replace(/ \(.*\)\.$/s, '.'));
  return [...shown, ...(blocks.length > shown.length ? [`And ${blocks.length - shown.length} more.`] : [])].join(' ');
};

/** Acceptances with the same person, day and reason share a line. */
export const whoAccepted = ({ by, at, reason }: Acceptance): string =>
  `${by}, ${instantOf(at).slice(0, 10)}${reason === '' ? ', without a reason' : `, because: ${reason}`}`;

function accepted({ acceptances }: MigrationReport): Html {
  if (acceptances.length === 0) return html`<p>Nothing.</p>`;
  const shown = acceptances.slice(0, ACCEPTED_SHOWN_MAX);
  const groups = [...Map.groupBy(shown, whoAccepted)];
  return html`<p>Operations that were not compared, or that Columba lacks:</p><ul>${groups.map(
    ([who, rows]) =>
      html`<li>${who}: ${rows.map(({ operation }, index) => html`${index === 0 ? '' : ', '}<code>${operation}</code>`)}</li>`,
  )}</ul>${acceptances.length > shown.length ? html`<p>And ${acceptances.length - shown.length} more.</p>` : ''}`;
}

function changes(accounts: readonly AccountPlan[]): Html {
  const lines = changesOf(accounts).map(changeLine);
  return lines.length === 0 ? html`<p>Nobody yet.</p>` : html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** The changes of stages, newest first. */
const changesOf = (accounts: readonly AccountPlan[]) =>
  accounts
    .flatMap(({ username, changes: own }) => own.map((each) => ({ ...each, username })))
    .filter(({ at }) => at > 0)
    .sort((one, other) => other.at - one.at)
    .slice(0, CHANGES_SHOWN_MAX);

const changeLine = ({ username, stage, at, by }: ReturnType<typeof changesOf>[number]): string =>
  `${instantOf(at)}: ${username} to ${stage}${by === '' ? '' : ` by ${by}`}`;
