import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { listen } from 'soap';
import { AccountDetail, contract } from '../../src/asmx/contract/contract.ts';
import { wsdl } from '../../src/asmx/pages/wsdl.ts';
import { ACCOUNTS, accountOf, MESSAGES, messageOf, userIdOf } from '../data.ts';

/**
 * The four operations on npm soap, from our own WSDL, with the data in memory. What is the same in
 * every account is there once. The text differs, and is made when it is asked for. A million texts
 * would take a gigabyte; making twenty takes 2 µs. Nothing is counted or searched in a call.
 *
 * A mark is on disk before it is answered, as with Columba. The way is the cheapest: one more row
 * in a table of marks. `server FOLDER`: there.
 */
const disk = new DatabaseSync(join(process.argv[2] as string, 'marks.db'));
disk.exec('pragma journal_mode = wal; pragma synchronous = full');
disk.exec('create table mark (account integer, message integer, primary key (account, message)) without rowid');
const keepMark = disk.prepare('insert or ignore into mark (account, message) values (?, ?)');

const shared = Array.from({ length: MESSAGES }, (_, number) => {
  const { id, sender, short_code, message, timestamp } = messageOf(0, number);
  const [before = '', after = ''] = message.split(' account 0:');
  const start = `${before} account `;
  return { id, sender, short_code, timestamp: timestamp.replace('.000Z', 'Z'), start, end: `:${after}` };
});
const numbers = new Map(shared.map(({ id }, number) => [id, number]));

/** In the order of the contract. */
const profileOf = (account: number) => {
  const values: Record<string, unknown> = { ...accountOf(account), password: '' };
  return Object.fromEntries(Object.keys(AccountDetail.fields).map((name) => [name, values[name]]));
};
const accounts = new Map(
  Array.from({ length: ACCOUNTS }, (_, account) => [
    userIdOf(account),
    {
      account,
      profile: profileOf(account),
      read: new Uint8Array(MESSAGES),
      unread: MESSAGES,
      firstUnread: 0, // nothing unread before it: nothing is ever marked as unread
    },
  ]),
);

type Call = { user_id: string; max_count?: number; message_id?: string };
const find = ({ user_id }: Call) => {
  const account = accounts.get(user_id);
  if (!account) throw new Error('denied');
  return account;
};
const port = (operations: Record<string, (call: Call) => unknown>, group: string) => ({
  [group]: { [`${group}Soap`]: operations, [`${group}Soap12`]: operations },
});

const server = createServer((_request, response) => response.writeHead(404).end());
server.listen(0, '127.0.0.1', () => {
  const { port: number } = server.address() as { port: number };
  const serve = (group: 'account' | 'inbox', operations: Record<string, (call: Call) => unknown>) => {
    const text = wsdl(group, contract[group], 'http://sms.example/api')(`http://127.0.0.1:${number}/api/${group}.asmx`);
    listen(server, { path: `/api/${group}.asmx`, services: port(operations, group) as never, xml: text });
  };
  serve('account', { Profile: (call) => ({ ProfileResult: find(call).profile }) });
  serve('inbox', {
    Unread: (call) => {
      const { account, read, unread, firstUnread } = find(call);
      const count = Math.min(Number(call.max_count), unread);
      const ReceivedMessage: object[] = [];
      for (let at = firstUnread; ReceivedMessage.length < count; at++) {
        if (read[at]) continue;
        const { id, sender, start, end, short_code, timestamp } = shared[at] as (typeof shared)[number];
        ReceivedMessage.push({ id, sender, message: start + account + end, short_code, timestamp });
      }
      return { UnreadResult: { ReceivedMessage } };
    },
    CountUnread: (call) => ({ CountUnreadResult: find(call).unread }),
    MarkMessageAsRead: (call) => {
      const account = find(call);
      const at = numbers.get(call.message_id ?? '');
      if (at === undefined) return { MarkMessageAsReadResult: false };
      keepMark.run(account.account, at);
      if (!account.read[at]) account.unread -= 1;
      account.read[at] = 1;
      while (account.read[account.firstUnread]) account.firstUnread += 1;
      return { MarkMessageAsReadResult: true };
    },
  });
  process.stdout.write(`${number}\n`);
});
