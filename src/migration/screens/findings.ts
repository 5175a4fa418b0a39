import { type Html, html } from '../../base/html.ts';
import { counted } from '../../console/counts.ts';
import { check, checks, hidden, listOf } from '../../console/lists.ts';
import type { PageRequest } from '../../console/page-request.ts';
import { acts, button, formPanel, num, panel, tablePanel } from '../../console/parts.ts';
import { time } from '../../console/words.ts';
import type { Output } from '../../operator/action.ts';
import type { migrateReport } from '../actions/migration.ts';

/** What a comparison of the two servers has found, and what a person has accepted. */

const texts = {
  differences: 'Differences and failures',
  differenceColumns: ['Operation', 'Protocol', 'When', 'What differs'],
  noDifferences: 'No answer differs.',
  noDifferencesHint: 'Texts and numbers would be shown as pseudonyms.',
  knownDifferences: 'What is not compared',
  knownDifferenceColumns: ['Known difference', 'Times', 'Example'],
  noKnownDifferences: 'No known difference was found.',
  noKnownDifferencesHint: 'Header fields and notations that may differ appear here, with their number.',
  unseen: 'Operations that nobody called',
  unseenLead: 'Accept those that no client of yours uses. Then the verdict does not wait for them.',
  unseenNone: 'Every operation was called or is accepted.',
  unknown: 'Operations that Columba lacks',
  unknownLead:
    'Clients call these operations, and only the old server has them. They will fail when Columba answers. Change the clients first, or accept it.',
  unknownNone: 'No client called such an operation, or all are accepted.',
  unknownCalls: (calls: number) => counted(calls, 'call'),
  accept: 'Accept the selected ones',
  acceptances: 'Accepted by a person',
  acceptanceColumns: ['Operation', 'By', 'When', 'Reason', ''],
  noReason: '–',
  noAcceptances: 'Nothing is accepted yet.',
  noAcceptancesHint: 'What is accepted appears here with who did it.',
  withdraw: 'Withdraw',
} as const;

type Report = Output<typeof migrateReport>;

const HERE = '/console/migration';

/** Everything that was found, in the order of its weight. */
export const findings = (request: PageRequest, report: Report): Html =>
  html`${differences(request, report)}${knownDifferences(report)}${unseen(report)}${unknown(report)}${acceptances(request, report)}`;

function differences({ zone }: PageRequest, { examples }: Report): Html {
  const rows = examples.map(({ operation, protocol, name, example, at }, index) => ({
    key: String(index),
    cells: [html`<code>${operation}</code>`, html`${protocol}`, time(at, zone), html`${name}: ${example}`],
  }));
  const { noDifferences: empty, noDifferencesHint: emptyHint, differences: title, differenceColumns: columns } = texts;
  return tablePanel(title, listOf({ title, columns, empty, emptyHint }, rows));
}

function knownDifferences({ knownDifferences: all }: Report): Html {
  const rows = all.map(({ name, total, example }) => ({
    key: name,
    cells: [html`<code>${name}</code>`, num(total), html`${example ?? ''}`],
  }));
  const {
    noKnownDifferences: empty,
    noKnownDifferencesHint: emptyHint,
    knownDifferences: title,
    knownDifferenceColumns: columns,
  } = texts;
  return tablePanel(title, listOf({ title, columns, empty, emptyHint }, rows));
}

const acceptForm = (title: string, lead: string, choices: readonly { operation: string; shown: Html }[]): Html =>
  formPanel({
    title,
    action: `${HERE}/accept`,
    lead,
    fields: checks(
      title,
      choices.map(({ operation, shown }) => check('operation', shown, operation)),
    ),
    submit: texts.accept,
  });

function unseen({ neverSeen }: Report): Html {
  if (neverSeen.length === 0) return panel({ title: texts.unseen, content: html`<p>${texts.unseenNone}</p>` });
  const choices = neverSeen.map((operation) => ({ operation, shown: html`<code>${operation}</code>` }));
  return acceptForm(texts.unseen, texts.unseenLead, choices);
}

function unknown({ unknown: all }: Report): Html {
  const open = all.filter(({ isAccepted }) => !isAccepted);
  if (open.length === 0) return panel({ title: texts.unknown, content: html`<p>${texts.unknownNone}</p>` });
  const choices = open.map(({ operation, calls }) => ({
    operation,
    shown: html`<code>${operation}</code> <span class="quiet">${texts.unknownCalls(calls)}</span>`,
  }));
  return acceptForm(texts.unknown, texts.unknownLead, choices);
}

function acceptances({ zone }: PageRequest, { acceptances: all }: Report): Html {
  const rows = all.map(({ operation, by, at, reason }) => ({
    key: operation,
    cells: [
      html`<code>${operation}</code>`,
      html`<bdi>${by}</bdi>`,
      time(at, zone),
      html`${reason === '' ? texts.noReason : reason}`,
      acts(
        html`<form method="post" action="${HERE}/withdraw">${hidden({ operation })}${button(texts.withdraw, { look: 's', label: `${texts.withdraw} ${operation}` })}</form>`,
      ),
    ],
  }));
  const { noAcceptances: empty, noAcceptancesHint: emptyHint, acceptances: title, acceptanceColumns: columns } = texts;
  return tablePanel(title, listOf({ title, columns, empty, emptyHint }, rows));
}
