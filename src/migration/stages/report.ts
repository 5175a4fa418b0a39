import { createHash } from 'node:crypto';
import { contract } from '../../asmx/contract/contract.ts';
import { counted } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import type { Database } from '../../store/database.ts';
import { type Acceptance, createMigrationCounts, DAY_MS } from './counts.ts';
import { createMigrationStages, type Stage } from './stages.ts';
import { type OperationCounts, type Verdict, type VerdictSettings, verdictOf } from './verdict.ts';

/** The report of a migration: as data, and as a page that can be printed. */
export interface MigrationReport extends Verdict {
  readonly at: number;
  readonly days: number;
  readonly callsMin: number;
  readonly defaultStage: Stage;
  readonly waitingWrites: { readonly total: number; readonly oldestAt: number | null };
  readonly acceptances: readonly Acceptance[];
}

/** Every operation of the contract, with its group. */
export const OPERATIONS: readonly string[] = Object.entries(contract).flatMap(([group, operations]) =>
  Object.keys(operations).map((operation) => `${group}.${operation}`),
);

export async function migrationReport(
  database: Database,
  now: () => number,
  settings: VerdictSettings,
): Promise<MigrationReport> {
  const migrationCounts = createMigrationCounts(database, now);
  const { counts, examples } = await migrationCounts.since(settings.days);
  const acceptances = await migrationCounts.acceptances();
  const since = now() - settings.days * DAY_MS;
  const check = await migrationCounts.check();
  const unknown = await migrationCounts.unknown();
  const input = { counts, examples, unknown, acceptances, check, operations: OPERATIONS, since };
  const { stage: defaultStage } = await createMigrationStages(database, now).defaultStage();
  return {
    ...verdictOf(input, settings),
    at: now(),
    days: settings.days,
    callsMin: settings.callsMin,
    defaultStage,
    waitingWrites: await migrationCounts.waitingWrites(),
    acceptances,
  };
}

export const RULES: Readonly<Record<Verdict['rules'][number]['name'], string>> = {
  calls: 'Enough calls of every operation and protocol in use',
  unseen: 'Operations that nobody called are accepted',
  unknown: 'Operations that only the old server has are accepted',
  different: 'No different answer',
  failed: 'No error of Columba',
  lag: 'Few answers that were equal only after a sync',
  dropped: 'No call left out',
  check: 'The contents of both sides are equal',
  latency: 'Columba is as fast as the old server',
};

export const instantOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
const shownMs = (ms: number | null): string => (ms === null ? '–' : ms.toFixed(ms < 10 ? 1 : 0));

/**
 * The main part of the report, for the console and for a file. `decision` is for people who decide;
 * in print, the details begin on the next page.
 */
export const reportMain = (report: MigrationReport, decision: Html = html``): Html => html`<h1>Migration report</h1>
<p class="lead"><strong>${report.isSafe ? 'Safe' : 'Not safe yet'}</strong> by the last ${counted(report.days, 'day')}, at ${instantOf(report.at)}.
Default stage: ${report.defaultStage}. Writes that wait for one of the servers: ${report.waitingWrites.total}.</p>
${decision}
<h2 class="details">Rules</h2>
<table><thead><tr><th scope="col">Rule</th><th scope="col">Met</th><th scope="col">Found</th></tr></thead><tbody>${report.rules.map(
  ({ name, isMet, detail }) =>
    html`<tr><th scope="row">${RULES[name]}</th><td>${isMet ? 'yes' : 'no'}</td><td>${detail}</td></tr>`,
)}</tbody></table>
<h2>Operations</h2>
${report.operations.length === 0 ? html`<p>Nothing was seen yet.</p>` : operationTable(report.operations)}
<h2>Operations that Columba lacks</h2>
${
  report.unknown.length === 0
    ? html`<p>No client called one.</p>`
    : html`<ul>${report.unknown.map(
        ({ operation, calls, isAccepted }) =>
          html`<li><code>${operation}</code>: ${counted(calls, 'call')}, ${isAccepted ? 'accepted' : 'not accepted'}</li>`,
      )}</ul>`
}
<h2>Differences</h2>
${
  report.examples.length === 0
    ? html`<p>None.</p>`
    : html`<ul>${report.examples.map(
        (each) =>
          html`<li><code>${each.operation}</code> ${each.protocol}, ${instantOf(each.at)}: ${each.example}</li>`,
      )}</ul>`
}
<h2>Known differences</h2>
<p>What was not compared. Texts and numbers in examples are pseudonyms.</p>
${report.knownDifferences.length === 0 ? html`<p>None was needed.</p>` : knownDifferenceTable(report)}`;

const HEADS = [
  'Operation',
  'Protocol',
  'Calls',
  'Equal',
  'Lag',
  'Order',
  'By design',
  'Different',
  'Failed',
  'Skipped',
  'Led',
  'Dropped',
  'Old p95 ms',
  'Our p95 ms',
];

const operationTable = (operations: readonly OperationCounts[]): Html =>
  html`<table><thead><tr>${HEADS.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${operations.map(
    (each) =>
      html`<tr><th scope="row"><code>${each.operation}</code></th><td>${each.protocol}</td>${[
        each.calls,
        each.equal,
        each.lag,
        each.order,
        each.byDesign,
        each.different,
        each.failed,
        each.skipped,
        each.led,
        each.dropped,
      ].map((total) => html`<td>${total.toLocaleString('en')}</td>`)}<td>${shownMs(each.oldP95Ms)}</td><td>${shownMs(
        each.ourP95Ms,
      )}</td></tr>`,
  )}</tbody></table>`;

const knownDifferenceTable = ({ knownDifferences }: MigrationReport): Html =>
  html`<table><thead><tr><th scope="col">Known difference</th><th scope="col">Times</th><th scope="col">Example</th></tr></thead><tbody>${knownDifferences.map(
    ({ name, total, example }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${total.toLocaleString('en')}</td><td>${example ?? ''}</td></tr>`,
  )}</tbody></table>`;

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;margin:1rem auto;max-width:70rem;padding:0 1rem;color:#111;background:#fff}
table{border-collapse:collapse;width:100%;font-size:.85rem}th,td{border:1px solid #bbb;padding:.2rem .4rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
.whole{white-space:nowrap}thead{display:table-header-group}tr{break-inside:avoid}@media print{body{max-width:none;margin:0;font-size:9pt}h1,h2{margin:.4em 0}.details{break-before:page}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** A self-contained document, which may load nothing. */
export const reportDocument = (report: MigrationReport, decision?: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<title>Migration report</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
${reportMain(report, decision)}
</main>
</body>
</html>
`.html;
