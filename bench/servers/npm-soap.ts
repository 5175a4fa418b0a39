import { createServer } from 'node:http';
import { listen } from 'soap';
import { contract } from '../../src/contract/contract.ts';
import { wsdl } from '../../src/wire/wsdl.ts';
import { ACCOUNTS, accountOf, MESSAGES, messageOf, userIdOf } from '../data.ts';

/** The four operations on npm soap, from our own WSDL, with the data in memory and nothing kept on disk. */
const accounts = new Map(
  Array.from({ length: ACCOUNTS }, (_, account) => {
    const messages = Array.from({ length: MESSAGES }, (_, message) => messageOf(account, message));
    return [
      userIdOf(account),
      { profile: accountOf(account), messages, byId: new Map(messages.map((each) => [each.id, each])) },
    ];
  }),
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
  serve('account', {
    Profile: (call) => ({ ProfileResult: { ...find(call).profile, userID: call.user_id, password: '' } }),
  });
  serve('inbox', {
    Unread: (call) => {
      const unread = find(call).messages.filter(({ read }) => !read);
      return {
        UnreadResult: {
          ReceivedMessage: unread.slice(0, Number(call.max_count)).map(({ read: _, ...message }) => message),
        },
      };
    },
    CountUnread: (call) => ({ CountUnreadResult: find(call).messages.filter(({ read }) => !read).length }),
    MarkMessageAsRead: (call) => {
      const message = find(call).byId.get(call.message_id ?? '');
      if (message) message.read = true;
      return { MarkMessageAsReadResult: message !== undefined };
    },
  });
  process.stdout.write(`${number}\n`);
});
