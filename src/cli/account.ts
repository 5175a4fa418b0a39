import { Command } from 'commander';
import type { Account, Accounts } from '../domain/accounts.ts';
import { readSomeNetworks } from '../networks.ts';
import { Problem } from '../problem.ts';
import { harmless } from './output.ts';

/** `columba account …`: the first steps of an operator. Each writes to `print`, a line at a time. */
export interface AccountSurroundings {
  /** Opens the database for a while; makes it only where the command begins something. */
  readonly withAccounts: (
    command: Command,
    options: { readonly creates: boolean },
    work: (accounts: Accounts, logKey: string) => Promise<void>,
  ) => Promise<void>;
  readonly print: (line: string) => void;
  readonly now: () => number;
}

type Options = Readonly<Record<string, string | boolean | undefined>>;
type Work = (accounts: Accounts, names: readonly string[], options: Options, logKey: string) => Promise<void>;

export function accountCommand({ withAccounts, print, now }: AccountSurroundings): Command {
  const group = new Command('account').description('make, show and change accounts');
  /** Declares a subcommand; the work gets its arguments and options. */
  const add = (usage: string, description: string, work: Work, creates = false) =>
    group
      .command(usage)
      .description(description)
      .action((...given) => {
        const command = given.at(-1) as Command;
        return withAccounts(command, { creates }, (accounts, logKey) =>
          work(accounts, command.args, command.opts(), logKey),
        );
      });

  const adding: Work = async (accounts, [username = ''], options) => {
    const { userId } = await accounts.add(await newAccount(username, options, now()));
    print(`Added ${username}. Its user_id, which is shown only now:`);
    print(userId);
  };
  add('add <USERNAME>', 'make an account, and print its user_id', adding, true)
    .option('--company <TEXT>', 'name of the company')
    .option('--email <TEXT>', 'e-mail address')
    .option('--mobile <NUMBER>', 'phone number')
    .option('--contact-name <TEXT>', 'first name of the person to talk to')
    .option('--contact-surname <TEXT>', 'surname of the person to talk to')
    .option('--region <CODE>', 'country of its local phone numbers, such as ZA')
    .option('--credits <N>', 'credits to begin with')
    .option('--priority <N>', '0 to 3, higher goes first')
    .option('--tag <N>', "a number for the operator's own use")
    .option('--password-stdin', 'read a password from the first line of standard input');

  add('list', 'username, company, credits and state of each', async (accounts) => {
    for await (const { username, company, credits, disabledAt } of accounts.list()) {
      const columns = [username, company ?? '', `${credits} credits`, disabledAt === null ? '' : 'disabled'];
      print(columns.map(harmless).join('\t').trimEnd());
    }
  });
  add('show <USERNAME>', 'one account, and the hashes of its user_ids', (accounts, [username = '']) =>
    show(accounts, username, print),
  );
  add('find', 'the account behind a name in the log', (accounts, _names, { logName }, logKey) =>
    find(accounts, String(logName), logKey, print),
  ).requiredOption('--log-name <NAME>', 'the field "account" of a log line; needs COLUMBA_LOG_KEY');
  add('disable <USERNAME>', 'deny its calls from now on', async (accounts, [username = '']) => {
    await accounts.setEnabled(username, false);
    print(`Disabled ${username}: its calls are denied until it is enabled again.`);
  });
  add('enable <USERNAME>', 'answer its calls again', async (accounts, [username = '']) => {
    await accounts.setEnabled(username, true);
    print(`Enabled ${username}.`);
  });
  add('allow <USERNAME> <NETWORKS>', 'restrict it to networks', async (accounts, [username = '', list = '']) => {
    const networks = list === 'any' ? [] : networksOf(list);
    await accounts.allow(username, networks);
    print(`${username} may be used from ${networks.length === 0 ? 'everywhere' : networks.join(', ')}.`);
  }).addHelpText('after', '\nNETWORKS: such as 10.0.0.0/8,192.0.2.7; any for everywhere.');
  add('rotate-user-id <USERNAME>', 'make a further user_id', async (accounts, [username = ''], { revokeOld }) => {
    const { userId, revoked } = await accounts.rotateUserId(username, revokeOld === true);
    print(`A new user_id for ${username}, which is shown only now:`);
    print(userId);
    print(
      revokeOld
        ? `Revoked: ${revoked}.`
        : `The old ones still work; revoke them with: columba account revoke-user-id ${username} HASH-PREFIX`,
    );
  }).option('--revoke-old', 'revoke all others at once');
  add(
    'revoke-user-id <USERNAME> <HASH-PREFIX>',
    'revoke a user_id, named by 8 or more characters of its hash',
    async (accounts, [username = '', prefix = '']) => {
      await accounts.revokeUserId(username, prefix);
      print('Revoked.');
    },
  );
  return group;
}

async function newAccount(username: string, options: Options, createdAt: number): Promise<Account> {
  const { hashPassword } = await import('../domain/credentials.ts');
  const region = await regionOf(textOf(options.region));
  const numbers = {
    credits: BigInt(numberOf('--credits', options.credits, 0, Number.MAX_SAFE_INTEGER)),
    priority: numberOf('--priority', options.priority, 0, 3),
    tag: numberOf('--tag', options.tag, -(2 ** 31), 2 ** 31 - 1),
  };
  const password = options.passwordStdin ? await readLine() : null;
  return {
    username,
    passwordHash: password === null ? null : await hashPassword(password),
    contactName: textOf(options.contactName),
    contactSurname: textOf(options.contactSurname),
    company: textOf(options.company),
    email: textOf(options.email),
    tel: null,
    fax: null,
    mobile: textOf(options.mobile),
    address: null,
    region,
    usedCredits: 0n,
    ...numbers,
    createdAt,
    lastLoginAt: null,
    disabledAt: null,
    allowedNetworks: null,
  };
}

async function show(accounts: Accounts, username: string, print: (line: string) => void): Promise<void> {
  const { formatDate } = await import('../contract/dates.ts');
  const { account, credentials } = await accounts.show(username);
  const { passwordHash, ...shown } = account;
  for (const [name, value] of Object.entries({ ...shown, password: passwordHash && 'set' })) {
    if (value !== null) print(`${name}: ${/At$/.test(name) ? formatDate(value as number) : harmless(String(value))}`);
  }
  for (const { hash, createdAt, revokedAt } of credentials) {
    const state = revokedAt === null ? 'valid' : `revoked ${formatDate(revokedAt)}`;
    print(`user_id with hash ${hash.slice(0, 12)}…: made ${formatDate(createdAt)}, ${state}`);
  }
}

/** The name is made of the account's number and the key, so every account is tried. */
async function find(accounts: Accounts, name: string, logKey: string, print: (line: string) => void): Promise<void> {
  const { createAccountLabel } = await import('../server/telemetry/access-log.ts');
  if (logKey === '') {
    throw new Problem('bad-argument', 'COLUMBA_LOG_KEY: set the key with which the service wrote the log');
  }
  const labelOf = createAccountLabel(logKey);
  let found = 0;
  for await (const { username } of accounts.list((id) => labelOf(id) === name.toLowerCase())) {
    print(username);
    found += 1;
  }
  if (found === 0) {
    throw new Problem('bad-argument', `No account has the name ${name} in a log that was written with this key.`);
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function networksOf(list: string): string[] {
  try {
    return readSomeNetworks(list);
  } catch (thrown) {
    throw new Problem('bad-argument', `NETWORKS: ${(thrown as Error).message}, or any`);
  }
}

async function regionOf(value: string | null): Promise<string | null> {
  const { isRegion } = await import('../domain/accounts.ts');
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
