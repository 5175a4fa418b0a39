import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation, ParameterType } from '../../src/asmx/contract/types.ts';
import type { Random } from '../../test/support/random.ts';
import { ACME, GLOBEX } from '../../test/support/service.ts';
import { length, NUMBERS } from './mutation.ts';

/** What calls are made of: operations, and texts for their parameters, right ones more often than not. */
export const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries(operations as Record<string, Operation>).map(([name, row]) => ({ group, name, row })),
);

/** Calls that delete everything are rare: they leave nothing for others to find. */
export function operation(random: Random): (typeof OPERATIONS)[number] {
  const first = random.pick(OPERATIONS);
  return first.name.startsWith('DeleteAll') ? random.pick(OPERATIONS) : first;
}

const IDS = ['101', '102', '103', '106', '201', '999', '1001', '1003', '1004', '1500', '2001', '2003', '2500', '3001'];
const MOBILES = ['+27825550201', '+27825550206', '0825550202', '082 555 0203', '+27825550299', '12', 'nobody', '٠٨٢'];
const DATES = [
  ...[
    '2026-10-01T00:00:00Z',
    '2026-10-03T23:59:59.9999999Z',
    '2026-10-02',
    '2026-10-02T10:45:30',
    '2026-10-02T24:00:00Z',
  ],
  ...[
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999+14:00',
    '2026-02-29T00:00:00Z',
    '2026-10-02T10:45:30+99:59',
    '2026',
  ],
  ...[
    '-0001-01-01T00:00:00Z',
    '10000-01-01T00:00:00Z',
    '10/02/2026',
    'Fri, 02 Oct 2026 10:45:30 GMT',
    '10:45',
    '25:00 PM',
  ],
  ...[
    '2 Oct 2026',
    '2026-10-02T10:45:30.',
    '2026-10-02T10:45:60Z',
    '1/1/0001 00:00:00',
    'Thu, 02 Oct 2026',
    '+2026-10-02',
  ],
];
const WORDS = [
  ...[
    'order',
    ' ',
    '  ',
    '\r',
    '\n',
    '\r\n',
    '\t',
    '\u0085',
    '\u00A0',
    '\u2028',
    '\uFEFF',
    '\uFFFD',
    '\uD7FF',
    '\uE000',
  ],
  ...[
    '😀',
    '\u{10FFFF}',
    '\u{1FFFE}',
    'é',
    '李',
    ']]>',
    '&',
    '<',
    '>',
    '"',
    "'",
    '&amp;',
    '<!--',
    '-->',
    '<?',
    '%',
    '+',
  ],
  ...[
    '%41',
    '%u0041',
    '=',
    ';',
    '#',
    '\\',
    '$&',
    '{0}',
    '__proto__',
    'constructor',
    "' or '1'='1",
    '--',
    '*',
    '\u202E',
  ],
];

/** The characters that XML cannot carry, but a form can. */
const CONTROLS = ['\0', '\x01', '\x0B', '\x1F', '\uFFFE', '\uFFFF'];

export function anyText(random: Random, withControls: boolean): string {
  const words = withControls && random.chance(0.2) ? [...WORDS, ...CONTROLS] : WORDS;
  if (random.chance(0.02)) return random.pick(words).repeat(1 + length(random));
  let text = '';
  for (let left = random.below(8); left > 0; left -= 1) text += random.pick(words);
  return text;
}

export function userId(random: Random): string {
  const chance = random.below(40);
  if (chance > 4) return ACME;
  return [GLOBEX, '', ACME.toUpperCase(), ` ${ACME}`, 'x'.repeat(129)][chance] as string;
}

/** The texts of one parameter: one, or as many as its list has. */
export function texts(random: Random, name: string, type: ParameterType, withControls: boolean): string[] {
  if (type.kind === 'scalar') return [scalarText(random, name, type.name, withControls)];
  const count = random.chance(0.02) ? 990 + random.below(30) : random.below(4);
  return Array.from({ length: count }, () => (random.chance(0.8) ? random.pick(IDS) : anyText(random, withControls)));
}

function scalarText(random: Random, name: string, type: string, withControls: boolean): string {
  if (name === 'user_id') return userId(random);
  if (random.chance(0.05)) return anyText(random, withControls);
  if (type === 'int' || type === 'long') return random.pick(random.chance(0.6) ? IDS : NUMBERS);
  if (type === 'dateTime') return random.pick(random.chance(0.5) ? DATES.slice(0, 4) : DATES);
  if (name === 'mobile') return random.pick(MOBILES);
  if (name === 'message' || name === 'sample_message') return anyText(random, withControls);
  return random.pick(random.chance(0.8) ? IDS : NUMBERS);
}
