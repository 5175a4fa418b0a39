import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { contract } from '../../../src/asmx/contract/contract.ts';
import { wsdl } from '../../../src/asmx/pages/wsdl.ts';
import { ACCOUNTS, accountOf, MESSAGES, messageOf } from '../../data.ts';

export const APACHE = '/usr/sbin/apache2';
const MODULES = '/usr/lib/apache2/modules';
/** The name has PHP's version in it. Undefined where it is not installed. */
export const phpModule = () => globSync(`${MODULES}/libphp*.so`)[0];

/** server.php behind Apache. What the two read and write is in the folder, with errors.log. */
export function startPhp(folder: string, port: number): ChildProcess {
  copyFileSync(fileURLToPath(new URL('server.php', import.meta.url)), join(folder, 'server.php'));
  for (const group of ['account', 'inbox'] as const) {
    const text = wsdl(group, contract[group], 'http://sms.example/api')(`http://127.0.0.1:${port}/api/${group}.asmx`);
    writeFileSync(join(folder, `${group}.wsdl`), text);
  }
  writeDatabase(join(folder, 'bench.db'));
  writeFileSync(join(folder, 'apache.conf'), settings(folder, port));
  if (asRoot) execFileSync('chown', ['-R', 'www-data:www-data', folder]);
  // Detached, in a process group of its own: Apache ends its whole group when it ends.
  const args = ['-f', join(folder, 'apache.conf'), '-DFOREGROUND'];
  return spawn(APACHE, args, { stdio: 'ignore', detached: true });
}

/** Then Apache answers as this user, whom Debian has in its base system. */
const asRoot = process.getuid?.() === 0;

/** More than there are connections, and all from the start: none begins or ends while there is something to measure. */
const PROCESSES = 40;

const settings = (folder: string, port: number): string => `
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
DocumentRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/apache.pid
ErrorLog ${folder}/errors.log
LogLevel error
LoadModule mpm_prefork_module ${MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module ${MODULES}/mod_authz_core.so
LoadModule alias_module ${MODULES}/mod_alias.so
LoadModule php_module ${phpModule()}
${asRoot ? 'User www-data\nGroup www-data' : ''}
StartServers ${PROCESSES}
MaxSpareServers ${PROCESSES}
MaxRequestWorkers ${PROCESSES}
MaxConnectionsPerChild 0
KeepAlive On
KeepAliveTimeout 60
MaxKeepAliveRequests 0
AliasMatch "^/api/(account|inbox)\\.asmx$" "${folder}/server.php"
<Location "/api">
  SetHandler application/x-httpd-php
</Location>
`;

const ACCOUNT = {
  datetimeCreated: 'text',
  datetimeLastLoggedIn: 'text',
  userID: 'text unique',
  username: 'text',
  password: "text default ''",
  contactName: 'text',
  contactSurname: 'text',
  company: 'text',
  email: 'text',
  tel: 'text',
  fax: 'text',
  mobile: 'text',
  address: 'text',
  credits: 'integer',
  usedCredits: 'integer',
  transmissionPriority: 'integer',
  tag: 'integer',
};
const columns = Object.entries(ACCOUNT).map(([name, type]) => `${name} ${type}`);

/** Dates are text, as they are answered. The trigger counts, so that nothing is counted in a call. */
const SCHEMA = `
  pragma journal_mode = wal;
  create table account (id integer primary key, unread integer, ${columns});
  create table message (account integer, id integer, sender text, message text, short_code text, timestamp text,
    read integer, primary key (account, id)) without rowid;
  create index unread on message (account, timestamp, id) where read = 0;
  create trigger mark after update of read on message when old.read = 0 begin
    update account set unread = unread - 1 where id = new.account;
  end;
`;

function writeDatabase(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  const into = (table: string, names: readonly string[]) =>
    database.prepare(`insert into ${table} (${names}) values (${names.map((name) => `:${name}`)})`);
  const { userID: _, ...profile } = accountOf(0);
  const addAccount = into('account', ['id', 'unread', 'userID', ...Object.keys(profile)]);
  const addMessage = into('message', ['account', 'id', 'sender', 'message', 'short_code', 'timestamp', 'read']);
  database.exec('begin');
  for (let account = 0; account < ACCOUNTS; account++) {
    addAccount.run({ ...accountOf(account), id: account, unread: MESSAGES });
    for (let number = 0; number < MESSAGES; number++) {
      const message = messageOf(account, number);
      const timestamp = message.timestamp.replace('.000Z', 'Z');
      addMessage.run({ ...message, account, timestamp, read: 0 });
    }
  }
  database.exec('commit');
  database.close();
}
