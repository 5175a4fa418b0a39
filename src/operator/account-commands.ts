import { parseArgs } from 'node:util';
import { formatDate } from '../contract/dates.ts';
import { type Accounts, isRegion } from '../domain/accounts.ts';
import { hashPassword } from '../domain/secrets.ts';
import { readSomeNetworks } from '../networks.ts';
import { Problem } from '../problem.ts';

/** `columba account …`: the first steps of an operator. Each writes to `print`, a line at a time. */
type Command = (accounts: Accounts, args: string[], print: (line: string) => void, now: () => number) => Promise<void>;

export const accountUsage = [
  'account add USERNAME [--company TEXT] [--email TEXT] [--mobile NUMBER] [--contact-name TEXT] [--contact-surname TEXT]',
  '                     [--region ZA] [--credits N] [--priority 0..3] [--tag N] [--password-stdin]',
  'account list',
  'account show USERNAME',
  'account disable USERNAME',
  'account enable USERNAME',
  'account allow USERNAME NETWORKS   (10.0.0.0/8,192.0.2.7 or any)',
  'account rotate-user-id USERNAME [--revoke-old]',
  'account revoke-user-id USERNAME HASH-PREFIX',
];

export async function accountCommand(...[accounts, args, print, now]: Parameters<Command>): Promise<void> {
  const name = args[0] ?? '';
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new Problem('bad-argument', `Usage:\n${accountUsage.map((line) => `  ${line}`).join('\n')}`);
  await command(accounts, args.slice(1), print, now);
}

const commands: Record<string, Command> = {
  async add(accounts, args, print, now) {
    const { values, positionals } = parse(args, ADD_OPTIONS, 1);
    const password = values['password-stdin'] ? await readLine() : null;
    const { userId } = await accounts.add({
      username: positionals[0] as string,
      passwordHash: password === null ? null : await hashPassword(password),
      contactName: textOf(values['contact-name']),
      contactSurname: textOf(values['contact-surname']),
      company: textOf(values.company),
      email: textOf(values.email),
      tel: null,
      fax: null,
      mobile: textOf(values.mobile),
      address: null,
      region: regionOf(textOf(values.region)),
      credits: BigInt(numberOf('--credits', values.credits, 0, Number.MAX_SAFE_INTEGER)),
      usedCredits: 0n,
      priority: numberOf('--priority', values.priority, 0, 3),
      tag: numberOf('--tag', values.tag, -(2 ** 31), 2 ** 31 - 1),
      createdAt: now(),
      lastLoginAt: null,
      disabledAt: null,
      allowedNetworks: null,
    });
    print(`Added ${positionals[0]}. Its user_id, which is shown only now:`);
    print(userId);
  },

  async list(accounts, args, print) {
    parse(args, {}, 0);
    for await (const { username, company, credits, disabledAt } of accounts.list()) {
      print(
        [username, company ?? '', `${credits} credits`, disabledAt === null ? '' : 'disabled'].join('\t').trimEnd(),
      );
    }
  },

  async show(accounts, args, print) {
    const { account, credentials } = await accounts.show(username(args));
    const { passwordHash, ...shown } = account;
    for (const [name, value] of Object.entries({ ...shown, password: passwordHash && 'set' })) {
      if (value !== null) print(`${name}: ${/At$/.test(name) ? formatDate(value as number) : value}`);
    }
    for (const { hash, createdAt, revokedAt } of credentials) {
      const state = revokedAt === null ? 'valid' : `revoked ${formatDate(revokedAt)}`;
      print(`user_id with hash ${hash.slice(0, 12)}…: made ${formatDate(createdAt)}, ${state}`);
    }
  },

  async disable(accounts, args, print) {
    await accounts.setEnabled(username(args), false);
    print(`Disabled ${args[0]}: its calls are denied until it is enabled again.`);
  },

  async enable(accounts, args, print) {
    await accounts.setEnabled(username(args), true);
    print(`Enabled ${args[0]}.`);
  },

  async allow(accounts, args, print) {
    const [name = '', list = ''] = parse(args, {}, 2).positionals;
    const networks = list === 'any' ? [] : networksOf(list);
    await accounts.allow(name, networks);
    print(`${name} may be used from ${networks.length === 0 ? 'everywhere' : networks.join(', ')}.`);
  },

  async 'rotate-user-id'(accounts, args, print) {
    const { values, positionals } = parse(args, { 'revoke-old': { type: 'boolean' } }, 1);
    const name = positionals[0] as string;
    const { userId, revoked } = await accounts.rotateUserId(name, values['revoke-old'] === true);
    print(`A new user_id for ${name}, which is shown only now:`);
    print(userId);
    print(
      values['revoke-old']
        ? `Revoked: ${revoked}.`
        : `The old ones still work; revoke them with: columba account revoke-user-id ${name} HASH-PREFIX`,
    );
  },

  async 'revoke-user-id'(accounts, args, print) {
    const { positionals } = parse(args, {}, 2);
    await accounts.revokeUserId(positionals[0] as string, positionals[1] as string);
    print('Revoked.');
  },
};

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

const ADD_OPTIONS: Options = {
  ...Object.fromEntries(
    ['company', 'email', 'mobile', 'contact-name', 'contact-surname', 'region', 'credits', 'priority', 'tag'].map(
      (name) => [name, { type: 'string' as const }],
    ),
  ),
  'password-stdin': { type: 'boolean' },
};

function parse(args: string[], options: Options, count: number) {
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true });
    if (parsed.positionals.length === count && !parsed.positionals.includes('')) return parsed;
  } catch (thrown) {
    throw new Problem('bad-argument', (thrown as Error).message);
  }
  throw new Problem('bad-argument', `Usage:\n${accountUsage.map((line) => `  ${line}`).join('\n')}`);
}

const username = (args: string[]): string => parse(args, {}, 1).positionals[0] as string;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function networksOf(list: string): string[] {
  try {
    return readSomeNetworks(list);
  } catch (thrown) {
    throw new Problem('bad-argument', `NETWORKS: ${(thrown as Error).message}, or any`);
  }
}

function regionOf(value: string | null): string | null {
  if (value !== null && !isRegion(value))
    throw new Problem('bad-argument', '--region: expected a country code such as ZA');
  return value;
}

function numberOf(flag: string, value: unknown, least: number, most: number): number {
  if (value === undefined) return 0;
  const number = Number(value);
  if (typeof value !== 'string' || !/^-?\d+$/.test(value) || number < least || number > most) {
    throw new Problem('bad-argument', `${flag}: expected a whole number from ${least} to ${most}`);
  }
  return number;
}

async function readLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  const line = text.split(/\r?\n/, 1)[0] ?? '';
  if (line === '') throw new Problem('bad-argument', '--password-stdin: there was nothing on standard input');
  return line;
}
