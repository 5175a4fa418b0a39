import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import {
  AccountDetail,
  Contact,
  contract,
  DeliveryStatus,
  Group,
  ReceivedMessage,
} from '../src/asmx/contract/contract.ts';
import { describeBoolean, describeParameter, describeResult, fieldsOf } from '../src/asmx/contract/descriptions.ts';
import { refusedArguments } from '../src/asmx/contract/errors.ts';
import type { Fields, Operation, ParameterType, RecordType, ResultType } from '../src/asmx/contract/types.ts';
import { SOAP11, SOAP12 } from '../src/asmx/protocols/soap-version.ts';
import { rootName } from '../src/asmx/results/result-writer.ts';
import { providerFile } from '../src/carriers/http/form.ts';
import type { Setting } from '../src/config/setting.ts';
import { flagOf, settings } from '../src/config/settings.ts';
import { table, withPart } from './markdown.ts';
import { commands, metrics, routes } from './operator-reference.ts';

/**
 * Writes what the documents say about the contract, the settings, the routes, the commands and the
 * metrics, from the tables themselves.
 */

const RECORDS: readonly RecordType[] = [AccountDetail, Contact, Group, ReceivedMessage, DeliveryStatus];
const GROUPS: [string, Readonly<Record<string, Operation>>][] = Object.entries(contract);

/** The text of CONTRACT.md. */
export function apiReference(): string {
  return `${[
    '# The contract',
    'Made from `src/asmx/contract/contract.ts` by `npm run docs`. Do not edit it by hand.',
    [
      'Names are case-sensitive; only those of parameters in GET and POST are not. `{base_url}` is where your Columba answers,',
      'such as `http://127.0.0.1:8080`. `{namespace}` is the setting `COLUMBA_NAMESPACE`. What the operations mean in every corner is in',
      '[COMPATIBILITY.md](COMPATIBILITY.md). The WSDL of a group is at `{base_url}/api/<group>.asmx?wsdl`, and a page with',
      'samples of every operation at `{base_url}/api/<group>.asmx`.',
    ].join('\n'),
    '## Contents',
    ...GROUPS.map(([name, group]) => contents(name, group)),
    '[Records](#records) · [DataSets](#datasets)',
    '## The four forms',
    FORMS,
    ...GROUPS.flatMap(([name, group]) => [
      `## ${name}`,
      `At \`{base_url}/api/${name}.asmx\`.`,
      ...Object.entries(group).flatMap(([operation, row]) => operationParts(name, operation, row)),
    ]),
    '## Records',
    'A field that has no value is left out. Which ones that can be is said of each.',
    ...RECORDS.flatMap(({ name, fields }) => [`### ${name}`, fieldTable('field', fields)]),
    '## DataSets',
    [
      'A DataSet is an XML Schema followed by the rows as a diffgram. It is named `NewDataSet` and has one table, `Table`.',
      'A column without value is left out of its row.',
    ].join('\n'),
    ...dataSets(),
  ].join('\n\n')}\n`;
}

const FORMS = table(
  ['form', 'request', 'answer'],
  [
    [
      'SOAP 1.1',
      `POST, \`Content-Type: ${SOAP11.contentType}\`; the Body holds one element, the operation, with one child a parameter`,
      `\`${SOAP11.contentType}\`; the Body holds \`<Operation>Response\` with \`<Operation>Result\``,
    ],
    ['SOAP 1.2', `the same with \`Content-Type: ${SOAP12.contentType}\``, `the same with \`${SOAP12.contentType}\``],
    ['HTTP GET', 'parameters in the query string', '`text/xml; charset=utf-8`; the bare result under its root element'],
    ['HTTP POST', 'parameters in the body, `Content-Type: application/x-www-form-urlencoded`', 'as with GET'],
  ],
);

function contents(name: string, group: Readonly<Record<string, Operation>>): string {
  const links = Object.keys(group).map((operation) => `[${operation}](#${anchor(name, operation)})`);
  return `[${name}](#${name}): ${links.join(', ')}`;
}

const titleOf = (group: string, operation: string): string => `${group}: ${operation}`;
/** As Markdown readers make it of a heading. */
const anchor = (group: string, operation: string): string =>
  titleOf(group, operation)
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

function operationParts(group: string, name: string, operation: Operation): string[] {
  const { parameters, result, summary } = operation;
  const wrong = refusedArguments(group, name, operation);
  const address = `{base_url}/api/${group}.asmx`;
  const pairs = Object.entries(parameters).flatMap(([parameter, type]) =>
    type.kind === 'list' ? [`${parameter}=…`, `${parameter}=…`] : [`${parameter}=…`],
  );
  return [
    `### ${titleOf(group, name)}`,
    summary,
    table(
      ['parameter', 'type', 'meaning'],
      Object.entries(parameters).map(([parameter, type]) => [
        parameter,
        typeText(type),
        describeParameter(parameter).description,
      ]),
    ),
    `Result: ${typeText(result)}. ${resultText(group, name, operation)} Root in GET and POST: \`${rootName(result)}\`.`,
    ...(wrong.length > 0 ? [`Refused as \`bad-argument\`: ${wrong.join(' ')}`] : []),
    table(
      ['form', 'address'],
      [
        ['SOAP 1.1', `\`POST ${address}\` with \`SOAPAction: "{namespace}/${name}"\``],
        ['SOAP 1.2', `\`POST ${address}\``],
        ['HTTP GET', `\`GET ${address}/${name}?${pairs.join('&')}\``],
        ['HTTP POST', `\`POST ${address}/${name}\` with \`${pairs.join('&')}\``],
      ],
    ),
  ];
}

function resultText(group: string, name: string, operation: Operation): string {
  const boolean = describeBoolean(group, name);
  return boolean ? `\`true\`: ${boolean.true} \`false\`: ${boolean.false}` : describeResult(operation);
}

/** Operations with the same columns are told together. */
function dataSets(): string[] {
  const byColumns = new Map<Fields, string[]>();
  for (const [name, { result }] of GROUPS.flatMap(([, group]) => Object.entries(group))) {
    if (result.kind !== 'dataSet') continue;
    byColumns.set(result.columns, [...(byColumns.get(result.columns) ?? []), name]);
  }
  return [...byColumns].flatMap(([columns, names]) => [`### ${names.join(', ')}`, fieldTable('column', columns)]);
}

function typeText(type: ParameterType | ResultType): string {
  if (type.kind === 'list') return `list of ${type.item.name}`;
  return type.kind === 'dataSet' ? 'DataSet' : type.name;
}

function fieldTable(what: string, fields: Fields): string {
  return table(
    [what, 'type', 'meaning'],
    fieldsOf(fields).map(({ name, type, description, mayBeAbsent }) => [
      ...[name, type.name, `${description}${mayBeAbsent ? ' May be absent.' : ''}`],
    ]),
  );
}

/** The table of the settings. */
function settingsTable(): string {
  const rows = Object.entries<Setting<unknown>>(settings).map(([name, { variable, fallback, meaning, hasFlag }]) => [
    `\`${variable}\``,
    hasFlag === false ? '' : `\`--${flagOf(name)}\``,
    fallback && `\`${fallback}\``,
    meaning,
  ]);
  return table(['variable', 'flag of serve', 'default', 'meaning'], rows);
}

/** The parts of documents that are made from the program: document, name, and what they say now. */
export const parts = async (): Promise<[file: URL, what: string, part: string][]> => [
  [new URL('SETTINGS.md', import.meta.url), 'settings', settingsTable()],
  [new URL('OPERATOR-API.md', import.meta.url), 'routes', routes()],
  [new URL('COMMANDS.md', import.meta.url), 'commands', commands()],
  [new URL('MONITORING.md', import.meta.url), 'metrics', await metrics()],
];

export const CONTRACT = new URL('CONTRACT.md', import.meta.url);
export const PROVIDER_SCHEMA = new URL('provider.schema.json', import.meta.url);

/** The JSON Schema of provider files, for editors. */
export const providerSchema = (): string =>
  `${JSON.stringify({ title: 'A provider file of Columba', ...z.toJSONSchema(providerFile, { io: 'input' }) })}\n`;

if (import.meta.main) {
  writeFileSync(CONTRACT, apiReference());
  for (const [file, what, part] of await parts()) {
    writeFileSync(file, withPart(readFileSync(file, 'utf8'), what, part));
  }
  writeFileSync(PROVIDER_SCHEMA, providerSchema());
}
