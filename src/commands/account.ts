import { Command } from 'commander';
import { readSomeNetworks } from '../base/networks.ts';
import { Problem } from '../base/problem.ts';
import type { Action } from '../operator/action.ts';
import { userIdActions } from '../operator/actions/access/user-ids.ts';
import { accountActions } from '../operator/actions/accounts/accounts.ts';
import { type CommandDependencies, performForPeople } from './action-command.ts';
import { fieldLines, withoutFormerNames } from './action-output.ts';
import { examples } from './help-text.ts';
import { settingOption, withSession } from './session.ts';

/** `columba account …`: the commands that combine actions of accounts. */

const named = (actions: readonly Action[], name: string): Action => {
  const found = actions.find((action) => action.name === name);
  if (!found) throw new Error(`there is no action ${name}`);
  return found;
};
const show = named(accountActions, 'account show');
const change = named(accountActions, 'account change');
const listUserIds = named(userIdActions, 'user-id list');
const addUserId = named(userIdActions, 'user-id add');
const revokeUserId = named(userIdActions, 'user-id revoke');

type Json = Readonly<Record<string, unknown>>;

export function accountCommands(dependencies: CommandDependencies): Command[] {
  const { print } = dependencies;
  const done = createPerforming(dependencies);
  return [
    new Command('show')
      .description('show an account, and the hashes of its user_ids')
      .argument('<USERNAME>')
      .option('--json', 'print the answer of the API as JSON, for programs')
      .addHelpText('after', examples('columba account show acme'))
      .action(async (username: string, { json }, command: Command) => {
        const account = await done(command, show, username, {});
        if (json) return print(JSON.stringify(account, null, 2));
        const { hasPassword, ...fields } = withoutFormerNames(show, account);
        for (const line of fieldLines({ ...fields, password: hasPassword ? 'set' : null })) print(line);
        const { items } = (await done(command, listUserIds, username, { query: { limit: '500' } })) as {
          items: Json[];
        };
        for (const { hash, createdAt, revokedAt } of items) {
          const state = revokedAt === null ? 'valid' : `revoked ${revokedAt}`;
          print(`user_id with hash ${String(hash).slice(0, 12)}…: created ${createdAt}, ${state}`);
        }
      }),
    new Command('allow')
      .description('restrict an account to networks')
      .argument('<USERNAME>')
      .argument('<NETWORKS>')
      .addHelpText('after', '\nNETWORKS is a list such as 10.0.0.0/8,192.0.2.7, or any to remove the restriction.')
      .option('--json', 'print the answer of the API as JSON, for programs')
      .addHelpText('after', examples('columba account allow acme 10.0.0.0/8'))
      .action(async (username: string, list: string, { json }, command: Command) => {
        const allowedNetworks = list === 'any' ? [] : networksOf(list);
        const account = await done(command, change, username, { body: { allowedNetworks } });
        if (json) return print(JSON.stringify(account, null, 2));
        print(
          `${username} may be used from ${allowedNetworks.length === 0 ? 'everywhere' : allowedNetworks.join(', ')}.`,
        );
      }),
    new Command('rotate-user-id')
      .description('create a further user_id')
      .argument('<USERNAME>')
      .option('--revoke-old', 'revoke all other user_ids at once')
      .option('--json', 'print the answer of the API as JSON, for programs')
      .addHelpText('after', examples('columba account rotate-user-id acme'))
      .action(async (username: string, { revokeOld, json }, command: Command) => {
        const body = { revokeOthers: revokeOld === true };
        const answer = await done(command, addUserId, username, { body });
        if (json) return print(JSON.stringify(answer, null, 2));
        const { userId, revoked } = answer;
        print(`A new user_id for ${username}, which cannot be shown again:`);
        print(String(userId));
        print(
          revokeOld
            ? `Revoked: ${revoked}.`
            : `The old user_ids still work. Revoke them with: columba account revoke-user-id ${username} HASH-PREFIX`,
        );
      }),
    new Command('revoke-user-id')
      .description('revoke a user_id, named by 8 or more characters of its hash')
      .argument('<USERNAME>')
      .argument('<HASH-PREFIX>')
      .option('--json', 'print the answer of the API as JSON, for programs')
      .addHelpText('after', examples('columba account revoke-user-id acme 3f2a9c1b'))
      .action(async (username: string, hash: string, { json }, command: Command) => {
        const answer = await done(command, revokeUserId, username, { params: { hash } });
        print(json ? JSON.stringify(answer, null, 2) : 'Revoked.');
      }),
    findCommand(print),
  ];
}

/** Performs an action on one account, and resolves with its output. */
const createPerforming =
  ({ withServices, actor }: CommandDependencies) =>
  (command: Command, action: Action, username: string, given: { params?: Json; query?: Json; body?: Json }) => {
    const params = { username, ...given.params } as Record<string, string>;
    const raw = { params, query: given.query ?? {}, body: given.body, upload: new Uint8Array() };
    return new Promise<Json>((resolve, reject) => {
      withServices(command, { creates: false }, async (services) => {
        resolve((await performForPeople(services, action, raw, actor)).output as Json);
      }).catch(reject);
    });
  };

function networksOf(list: string): string[] {
  try {
    return readSomeNetworks(list);
  } catch (thrown) {
    throw new Problem('bad-argument', `NETWORKS: ${(thrown as Error).message}, or any`);
  }
}

/** The name is an HMAC of the account's number, so it has to be computed for every account. */
function findCommand(print: (line: string) => void): Command {
  return new Command('find')
    .description('find the account behind a name in the log')
    .requiredOption('--log-name <NAME>', 'the field "account" of a log line; needs COLUMBA_LOG_KEY')
    .addOption(settingOption('logKey'))
    .option('--json', 'print the result as JSON, for programs')
    .addHelpText('after', examples('columba account find --log-name 5f3a9c1b7d20'))
    .action(async ({ logName: name, json }, command: Command) => {
      await withSession(command, { creates: false }, async ({ services, config: { logKey } }) => {
        if (logKey === '') {
          throw new Problem('bad-argument', 'COLUMBA_LOG_KEY: set it to the key with which the service wrote the log');
        }
        const { createAccountLabel } = await import('../serve/telemetry/access-log.ts');
        const labelOf = createAccountLabel(logKey);
        const found: string[] = [];
        for await (const { username } of services.accounts.list((id) => labelOf(id) === name.toLowerCase())) {
          found.push(username);
        }
        if (json) print(JSON.stringify({ usernames: found }));
        else for (const username of found) print(username);
        if (found.length > 0) return;
        throw new Problem('bad-argument', `No account has the name ${name} in a log that was written with this key.`);
      });
    });
}
