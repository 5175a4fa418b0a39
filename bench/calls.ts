import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ACCOUNTS, MESSAGES, messageIdOf, userIdOf, writeData } from './data.ts';
import { drive } from './load.ts';
import { type Figures, rounds, table } from './rounds.ts';

/**
 * CPU per call of four operations: Columba over SOAP 1.1 and GET, npm soap, and the floor, a bare node:http server that
 * answers as many bytes. One process each, 32 keep-alive connections, durability on.
 */
const CONNECTIONS = 32;
const REQUESTS = Number(process.env.REQUESTS ?? 4_000);
const NAMESPACE = 'http://sms.example/api';
const here = fileURLToPath(new URL('.', import.meta.url));

interface Operation {
  readonly name: string;
  readonly group: string;
  readonly args: (number: number) => Record<string, string>;
}
const user = (number: number) => ({ user_id: userIdOf((number * 7919) % ACCOUNTS) });
const OPERATIONS: readonly Operation[] = [
  { name: 'Profile', group: 'account', args: user },
  { name: 'Unread', group: 'inbox', args: (number) => ({ ...user(number), max_count: '20' }) },
  { name: 'CountUnread', group: 'inbox', args: user },
  {
    name: 'MarkMessageAsRead',
    group: 'inbox',
    args: (number) => ({ ...user(number), message_id: String(messageIdOf((number * 104_729) % MESSAGES)) }),
  },
];

const bytes = (head: string, body: string) =>
  Buffer.from(`${head}\r\nHost: 127.0.0.1\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);

function soapRequest({ name, group, args }: Operation, path = `/api/${group}.asmx`) {
  return (number: number): Buffer => {
    const parameters = Object.entries(args(number)).map(([key, value]) => `<${key}>${value}</${key}>`);
    const body = `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><${name} xmlns="${NAMESPACE}">${parameters.join('')}</${name}></soap:Body></soap:Envelope>`;
    return bytes(
      `POST ${path} HTTP/1.1\r\nContent-Type: text/xml; charset=utf-8\r\nSOAPAction: "${NAMESPACE}/${name}"`,
      body,
    );
  };
}
const getRequest =
  ({ name, group, args }: Operation) =>
  (number: number): Buffer =>
    Buffer.from(
      `GET /api/${group}.asmx/${name}?${new URLSearchParams(args(number))} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    );

async function start(command: string, args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (line) => resolve(Number(line))));
  return { child, port };
}

async function startColumba(folder: string): Promise<{ child: ChildProcess; port: number }> {
  const database = `sqlite:${join(folder, 'bench.db')}`;
  await writeData(join(folder, 'data.ndjson'));
  execFileSync(join(here, '../columba'), ['import', join(folder, 'data.ndjson'), '--database', database]);
  const port = await freePort();
  const args = ['serve', '--database', database, '--port', String(port), '--log-level', 'warn'];
  const child = spawn(join(here, '../columba'), args, { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; ; tries++) {
    const up = await fetch(`http://127.0.0.1:${port}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (up) return { child, port };
    if (tries === 100) throw new Error('Columba did not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const folder = mkdtempSync(join(tmpdir(), 'columba-bench-'));
const node = (script: string) =>
  start(process.execPath, ['--disable-warning=ExperimentalWarning', join(here, 'servers', script)]);
const columba = await startColumba(folder);
const floor = await node('floor.ts');
const npmSoap = await node('npm-soap.ts');
const servers = [columba, floor, npmSoap];
process.stderr.write(`${ACCOUNTS} accounts with ${MESSAGES} messages each, ${REQUESTS} requests a round\n`);

try {
  /** How many bytes Columba answers, for the floor to answer as many. */
  const sizes = new Map<string, number>();
  for (const operation of OPERATIONS) {
    const url = `http://127.0.0.1:${columba.port}/api/${operation.group}.asmx`;
    const [, body = ''] = soapRequest(operation)(0).toString().split('\r\n\r\n');
    const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/xml' }, body });
    sizes.set(operation.name, (await reply.arrayBuffer()).byteLength);
  }
  const measure =
    (
      { child, port }: { child: ChildProcess; port: number },
      phrase: (operation: Operation) => (number: number) => Buffer,
    ) =>
    async (): Promise<Figures> => {
      const figures: Record<string, number> = {};
      for (const operation of OPERATIONS) {
        const load = { port, pid: child.pid as number, connections: CONNECTIONS, requests: REQUESTS };
        figures[operation.name] = await drive({ ...load, request: phrase(operation) });
      }
      return figures;
    };
  const results = await rounds({
    'floor: node:http, fixed bytes': measure(floor, (operation) =>
      soapRequest(operation, `/${sizes.get(operation.name)}`),
    ),
    'Columba, SOAP 1.1': measure(columba, (operation) => soapRequest(operation)),
    'Columba, HTTP GET': measure(columba, getRequest),
    'npm soap, SOAP 1.1': measure(npmSoap, (operation) => soapRequest(operation)),
  });
  process.stdout.write(table(results, 'floor: node:http, fixed bytes'));
} finally {
  for (const { child } of servers) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
