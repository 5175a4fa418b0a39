import type { ConsoleSession } from './console-session.ts';

/** The pages whose CPU is measured. */
export const PATHS = [
  '/console/inbox',
  '/console/inbox?part=rows',
  '/console/sent',
  '/console/?part=counts',
  '/console/',
  '/console/inbox?q=nothing+has+this',
  '/console/inbox?q=market+17',
  '/console/inbox?q=082+555+0201&state=unread',
  '/console/sent?q=market+17',
  '/console/sent?state=failed',
  '/console/scheduled?q=market',
  '/console/contacts?q=number201',
  '/console/conversations',
  '/console/conversations?part=rows',
  '/console/conversations?show=unread',
  '/console/conversations?show=unanswered',
  '/console/conversations?show=failed',
  '/console/conversation?with=%2B27825550201',
  '/console/search?q=nothing+has+this',
  '/console/search?q=message',
  '/console/search?q=082+555+0201',
];

export async function openPages(session: ConsoleSession, path: string, count: number): Promise<void> {
  for (let page = 0; page < count; page++) {
    const { status } = await session.ask(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  }
}
