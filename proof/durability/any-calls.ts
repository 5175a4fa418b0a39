import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { type Arguments, type Phrased, PROTOCOLS, type Protocol, requestOf } from '../../test/support/protocols.ts';
import type { Random } from '../../test/support/random.ts';
import { changes } from '../../test/support/serving.ts';

/** Any call with arguments that mostly name something, and often the same ones, so that answers can be given again. */
export interface AnyCall {
  /** Which of the processes is asked. */
  readonly process: number;
  /** From which address. */
  readonly client: string;
  readonly protocol: Protocol;
  readonly group: string;
  readonly operation: string;
  /** The user_id by its name: the same may be another one in another installation. */
  readonly who: string;
  readonly args: Arguments;
  readonly spelling: number;
}

export const CLIENTS = ['192.0.2.1', '198.51.100.7'];

const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations).map(([operation, { parameters }]) => ({ group, operation, parameters })),
);
const READS = OPERATIONS.filter(({ operation }) => !changes(operation));
const WRITES = OPERATIONS.filter(({ operation }) => changes(operation));
// Those that leave nothing to do for the others.
const RARE = /^DeleteAll/;

const NUMBERS = ['+27825550201', '082 555 0202', '+27825550203', '+27825550204', '+27825550666', 'nobody', ''];
const TEXTS = ['Your order is ready for collection.', 'Multi-line\ntemplate 😀', 'new & <newer>', '字'.repeat(40), ''];
const IDS = [
  '1001',
  '1002',
  '1003',
  '1004',
  '1005',
  '9007199254740993',
  '2001',
  '2002',
  '3001',
  '3002',
  '77',
  'none',
  '',
];
const CONTACTS = ['101', '102', '103', '104', '105', '106', '77'];
const MOMENTS = [
  '2026-10-01T00:00:00Z',
  '2026-10-02',
  '2026-10-03T11:00:00',
  '2030-01-01T00:00:00Z',
  '08:00:00',
  'soon',
];

const VALUES: Readonly<Record<string, (random: Random) => Arguments[string]>> = {
  groupid: (random) => random.pick([1, 1, 2, 3, 9]),
  group_id: (random) => random.pick(['1', '2', '3', '9', 'x']),
  contact_id: (random) => (random.chance(0.05) ? [] : random.some(CONTACTS).slice(0, 2)),
  id: (random) => random.pick(['2001', '2002', '2003', '2004', '103', '106', '77', '']),
  mobile: (random) => random.pick(NUMBERS),
  message: (random) => random.pick(TEXTS),
  sample_message: (random) => random.pick([null, 'STOP']),
  message_id: (random) => (random.chance(0.05) ? null : random.pick(IDS)),
  from: (random) => random.pick(MOMENTS),
  to: (random) => random.pick(MOMENTS),
  // To the ends of a page and of what is kept, and beyond both.
  max: (random) => random.pick([0, 1, 2, 3, 10, 10, 10, 300, 500, 501, 10_000, -1]),
  max_count: (random) => random.pick([0, 1, 2, 3, 10, 10, 10, 300, 500, 501, 10_000, -1]),
};

const READING = 0.88;

export function anyCall(random: Random, who: readonly string[]): AnyCall {
  let { group, operation, parameters } = random.pick(random.chance(READING) ? READS : WRITES);
  if (RARE.test(operation) && random.chance(0.7)) ({ group, operation, parameters } = random.pick(READS));
  const names = Object.keys(parameters).filter((name) => name !== 'user_id');
  return {
    group,
    operation,
    protocol: random.pick(PROTOCOLS),
    who: random.pick(who),
    ...anyWay(random),
    args: Object.fromEntries(names.map((name) => [name, VALUES[name]?.(random) ?? null])),
    spelling: random.below(2 * SPELLINGS.length),
  };
}

/** The process that is asked, and from where. */
export const anyWay = (random: Random) => ({
  process: random.chance(0.15) ? 1 : 0,
  client: CLIENTS[random.chance(0.2) ? 1 : 0] as string,
});

/** How clients write the same; past the end of the list, as everybody does. */
const SPELLINGS: readonly ((phrased: Phrased) => Phrased)[] = [
  (phrased) => ({ ...phrased, path: phrased.path.replace('/api/', '/API/') }),
  (phrased) => ({ ...phrased, query: `${phrased.query}&x=` }),
  (phrased) => ({ ...phrased, bytes: `${phrased.bytes}\n` }),
  (phrased) => ({ ...phrased, headers: { ...phrased.headers, 'accept-language': 'en' } }),
  ({ headers: { soapaction, ...headers }, ...phrased }) => ({ ...phrased, headers }),
  (phrased) => withType(phrased, (type) => type.replace('; charset=utf-8', '')),
  (phrased) => withType(phrased, (type) => `${type};charset=iso-8859-1`),
];

function withType(phrased: Phrased, change: (type: string) => string): Phrased {
  const type = phrased.headers['content-type'];
  return typeof type === 'string'
    ? { ...phrased, headers: { ...phrased.headers, 'content-type': change(type) } }
    : phrased;
}

export function phrase({ protocol, group, operation, args, spelling }: AnyCall, userId: string): Phrased {
  const phrased = requestOf(protocol, group, operation, { user_id: userId, ...args });
  return SPELLINGS[spelling]?.(phrased) ?? phrased;
}
