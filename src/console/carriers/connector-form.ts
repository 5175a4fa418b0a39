import { type Html, html } from '../../base/html.ts';
import { badField } from '../../base/problem.ts';
import type { Item } from '../../operator/action.ts';
import type { connectorKinds } from '../../operator/actions/carriers/connector-kinds.ts';
import { area, check, field, fieldRow, hidden, select } from '../lists.ts';
import type { PageRequest } from '../page-request.ts';
import type { Connector } from './connectors.ts';

/** The fields of a connector's configuration, made from what its kind says about them. */

const texts = {
  name: 'Name',
  kind: 'Kind',
  isDefault: 'Accounts that name no connector use this one',
  rate: 'Limit, parts in a second',
  rateHint: 'Empty: no limit. All processes share it.',
  submissionsMax: 'Messages that each process submits at the same time',
  kept: 'Stored and never shown. Leave it empty to keep it; type to replace it.',
  secretNew: 'It is stored and never shown again.',
  pairsHint: 'One on each line: name, equals sign, value.',
  jsonHint: 'JSON.',
  more: 'More settings',
  errors: { pairs: 'expected a name, an equals sign and a value on each line', json: 'this is not JSON' },
} as const;

export type Kind = Item<typeof connectorKinds>;
type Field = Kind['fields'][number];
type Config = Readonly<Record<string, unknown>>;

/** The name of a setting as a label: `systemId` becomes `System id`. */
const labelOf = (name: string): string => {
  const words = name.replace(/[A-Z]+/g, (letters) => ` ${letters.length > 1 ? letters : letters.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The name of a field of the configuration in the form. */
const inputOf = (name: string): string => `config.${name}`;

/** A value of the configuration as its field shows it. A secret is never shown. */
function shownValue({ name, type, isSecret }: Field, config: Config): string {
  const value = config[name];
  if (isSecret || value === undefined || value === null) return '';
  if (type === 'pairs') return pairsSaid(value as Readonly<Record<string, string>>);
  return typeof value === 'string' ? value : JSON.stringify(value, null, type === 'json' ? 1 : undefined);
}
const pairsSaid = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n');

function inputFor(request: PageRequest, own: Field, config: Config, isStored: boolean, isAgain: boolean): Html {
  const { name, type, isRequired, isSecret, says, choices } = own;
  const input = inputOf(name);
  const value = isAgain && !isSecret ? request.form.raw(input) : shownValue(own, config);
  const kept = isSecret ? (isStored && config[name] !== undefined ? texts.kept : texts.secretNew) : '';
  const hint = [says, kept, type === 'pairs' ? texts.pairsHint : type === 'json' ? texts.jsonHint : '']
    .filter(Boolean)
    .join(' ');
  if (type === 'flag') {
    const isOn = isAgain ? request.form.has(input) : (config[name] ?? own.default === 'true') === true;
    return html`<div class="field">${check(input, says, 'true', isOn)}</div>`;
  }
  if (type === 'choice') {
    const chosen = value === '' ? (own.default ?? '') : value;
    return select({
      name: input,
      label: `${labelOf(name)}: ${says}`,
      value: chosen,
      choices: choices.map((each) => [each, each]),
    });
  }
  const mustType = isRequired && !(isSecret && isStored);
  if (type === 'pairs' || type === 'json' || isLong(own))
    return area({
      name: input,
      label: labelOf(name),
      value,
      hint,
      isRequired: mustType,
      more: html` spellcheck="false" autocomplete="off"`,
    });
  return field({
    name: input,
    label: labelOf(name),
    value: value === '' && !isSecret && !isStored ? (own.default ?? '') : value,
    hint,
    type: isSecret ? 'password' : 'text',
    isRequired: mustType,
    lengthMax: 4_000,
    autocomplete: isSecret ? 'new-password' : 'off',
  });
}

/** Certificates and keys have many lines. */
const isLong = ({ name }: Field): boolean => /certificate|clientkey/i.test(name);

/** The fields of the form as the input of the action, without those that were left empty. */
function configOf({ form }: PageRequest, fields: readonly Field[]): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const { name, type, default: usual } of fields) {
    const input = inputOf(name);
    const typed = type === 'text' ? form.text(input) : form.raw(input).trim();
    if (type === 'flag') config[name] = form.has(input);
    else if (typed === '') {
      if (type === 'text' && usual === '') config[name] = '';
    } else config[name] = readValue(name, type, typed);
  }
  return config;
}

function readValue(name: string, type: Field['type'], typed: string): unknown {
  if (type === 'number') return /^-?\d{1,15}$/.test(typed) ? Number(typed) : typed;
  if (type === 'choice') return /^\d+$/.test(typed) ? Number(typed) : typed;
  if (type === 'pairs') return readPairs(name, typed);
  if (type !== 'json') return typed;
  // A provider is named, or it is the content of a file.
  if (/^[\w-]+$/.test(typed)) return typed;
  try {
    return JSON.parse(typed);
  } catch {
    throw badField(`config/${name}`, texts.errors.json);
  }
}

function readPairs(name: string, typed: string): Record<string, string> {
  const pairs = typed.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    pairs.map((line) => {
      const at = line.indexOf('=');
      if (at <= 0) throw badField(`config/${name}`, texts.errors.pairs);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** The fields that most people need come first, the others are folded. */
export function settingsFields(
  request: PageRequest,
  kind: Kind,
  connector: Connector | undefined,
  isAgain: boolean,
): Html {
  const { form } = request;
  const config = connector?.config ?? {};
  const isMain = (own: Field) =>
    own.isRequired ||
    (own.isSecret && !isLong(own)) ||
    ['port', 'tls', 'settings', 'defaultSender', 'publicUrl', 'receiptAfterMs'].includes(own.name);
  const inputs = (fields: readonly Field[]) =>
    fieldRow(fields.map((each) => inputFor(request, each, config, connector !== undefined, isAgain)));
  const others = kind.fields.filter((each) => !isMain(each));
  const rate = connector?.ratePerSecond ?? null;
  const general = fieldRow([
    field({
      name: 'ratePerSecond',
      label: texts.rate,
      value: isAgain ? form.text('ratePerSecond') : String(rate ?? ''),
      hint: texts.rateHint,
      lengthMax: 6,
    }),
    field({
      name: 'submissionsMax',
      label: texts.submissionsMax,
      value: isAgain ? form.text('submissionsMax') : String(connector?.submissionsMax ?? ''),
      lengthMax: 5,
    }),
  ]);
  const isDefault = isAgain ? form.has('isDefault') : (connector?.isDefault ?? false);
  return html`${hidden({ kind: kind.kind })}${inputs(kind.fields.filter(isMain))}${general}
${connector?.isDefault ? '' : check('isDefault', texts.isDefault, 'true', isDefault)}
${others.length === 0 ? '' : html`<details class="fold"><summary>${texts.more}</summary>${inputs(others)}</details>`}`;
}

const LABELS = {
  ratePerSecond: texts.rate,
  submissionsMax: texts.submissionsMax,
  name: texts.name,
  kind: texts.kind,
};
export const labelsOf = (fields: readonly Field[]) => ({
  ...LABELS,
  ...Object.fromEntries(fields.map(({ name }) => [`config/${name}`, name])),
});

/** The form as the input of the action that adds or changes a connector. */
export const bodyOf = (request: PageRequest, kind: Kind) => {
  const { form } = request;
  const number = (name: string) => (/^\d{1,6}$/.test(form.text(name)) ? Number(form.text(name)) : form.text(name));
  return {
    kind: kind.kind,
    config: configOf(request, kind.fields),
    ...(form.has('isDefault') ? { isDefault: true } : {}),
    ratePerSecond: form.text('ratePerSecond') === '' ? null : (number('ratePerSecond') as number),
    ...(form.text('submissionsMax') === '' ? {} : { submissionsMax: number('submissionsMax') as number }),
    keepSecrets: true,
  };
};
