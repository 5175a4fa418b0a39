import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type OldAccount, type OldData, writeTo } from './accounts.ts';
import { type Answer, readFrom } from './answers.ts';
import type { Ways } from './ways.ts';
import { decodeRequest, encodeAnswer, encodeFault, type Form } from './wire.ts';
import { wsdl } from './wsdl.ts';

/**
 * An old server in memory. It logs every change, so that a test can prove that nothing was marked
 * or deleted that no client asked for.
 */
export interface OldServerProcess {
  readonly url: string;
  readonly data: OldData;
  ways: Ways;
  /** Answers 503 to the next calls. */
  busyFor: number;
  /** Cuts the connection of the next calls, after the work is done. */
  cutsFor: number;
  slowMs: number;
  /** How often each operation was called. */
  readonly calls: Map<string, number>;
  /** Called before the work of each call. Returns 'cut' to cut its connection after the work. */
  onCall: (operation: string, args: Readonly<Record<string, string | string[]>>) => unknown;
  /** Sends the text of an answer, after its head. */
  send: (operation: string, text: string, response: ServerResponse) => unknown;
  /** Called after each change. */
  onWrite: () => void;
  close(): Promise<void>;
}

const WRITES = /^(Remove|Move|Delete|Save|BlackList|MarkMessage)/;

export async function startOldServer(data: OldData, ways: Ways, port = 0): Promise<OldServerProcess> {
  const server = createServer((request, response) => {
    handle(old, request, response).catch((error) => {
      response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const old: OldServerProcess = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    data,
    ways,
    busyFor: 0,
    cutsFor: 0,
    slowMs: 0,
    calls: new Map(),
    onCall: () => {},
    send: (_, text, response) => response.end(text),
    onWrite: () => {},
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return old;
}

async function handle(old: OldServerProcess, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  if (old.slowMs > 0) await new Promise((resolve) => setTimeout(resolve, old.slowMs));
  const url = new URL(request.url ?? '/', old.url);
  const [, group = '', operation = ''] = /^\/api\/(\w+)\.asmx(?:\/(\w+))?$/.exec(url.pathname) ?? [];
  if (request.method === 'GET' && /^wsdl$/i.test(url.search.slice(1))) {
    response.writeHead(200, { 'Content-Type': 'text/xml; charset=utf-8' });
    response.end(wsdl(group, old.ways, `http://${request.headers.host}`));
    return;
  }
  if (old.busyFor > 0) {
    old.busyFor -= 1;
    response.writeHead(503, { 'Retry-After': '1', 'Content-Type': 'text/html' });
    response.end('<html>busy</html>');
    return;
  }
  const decoded = decodeRequest(request, url, operation, body);
  if (!decoded || group === '' || !old.ways.protocols.includes(decoded.form)) {
    response.writeHead(404, { 'Content-Type': 'text/html' });
    response.end('<html>not found</html>');
    return;
  }
  const { form, args } = decoded;
  const name = `${group}.${decoded.operation}`;
  old.calls.set(name, (old.calls.get(name) ?? 0) + 1);
  const isCut = old.onCall(name, args) === 'cut';
  const account = old.data.accounts.find(({ userId }) => userId === args.user_id);
  const isThere = !old.ways.notThere?.includes(name);
  const { status, contentType, text } =
    account && isThere
      ? encodeAnswer(form, name, perform(old, account, name, args), old.ways)
      : encodeFault(form, isThere ? 'Unknown user_id.' : `Method ${decoded.operation} not found.`);
  if (isCut || old.cutsFor > 0) {
    if (!isCut) old.cutsFor -= 1;
    request.socket.destroy();
    return;
  }
  response.writeHead(status, { 'Content-Type': contentType, 'Cache-Control': 'private, max-age=0' });
  await old.send(name, text, response);
}

function perform(
  old: OldServerProcess,
  account: OldAccount,
  name: string,
  args: Record<string, string | string[]>,
): Answer {
  const { data, ways } = old;
  const log = (by: 'client' | 'reading', target: string) => {
    data.writes.push({ at: Date.now(), by, operation: name, username: account.username, target });
  };
  const operation = name.slice(name.indexOf('.') + 1);
  if (WRITES.test(operation)) {
    const isDone = writeTo(account, name, args);
    if (isDone)
      log('client', String(args.message_id ?? args.id ?? args.contact_id ?? args.message ?? args.mobile ?? 'all'));
    old.onWrite();
    return { kind: 'scalar', type: 'boolean', text: String(isDone) };
  }
  const answer = readFrom(account, name, args, ways);
  if (ways.readingMarks.includes(name) && answer.kind === 'list') {
    for (const { id } of answer.rows) {
      const found = account.inbox.find((message) => String(message.id) === id && !message.read);
      if (!found) continue;
      found.read = true;
      log('reading', String(id));
    }
    old.onWrite();
  }
  return answer;
}

export type { Form };
