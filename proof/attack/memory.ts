import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ACME, GLOBEX } from '../../test/support/service.ts';
import { SECRET } from './web-routes.ts';

/**
 * Memory of a service of its own under many connections, for people to read: `node bin/node.cjs proof/attack/memory.ts`.
 * What is printed is the resident memory of its process, with garbage that was not collected yet.
 */

const PER_ADDRESS = 900;
const TEMPLATES = 1_000;
const BODY_BYTES = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), 'columba-memory-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const connectors = join(folder, 'connectors.json');
const config = { url: 'http://127.0.0.1:1/', secret: SECRET, allowPrivate: true };
writeFileSync(connectors, JSON.stringify({ connectors: [{ name: 'hook', kind: 'callback', config }] }), {
  mode: 0o600,
});
const say = (line: string) => process.stdout.write(`${line}\n`);

async function start() {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', '--demo', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, COLUMBA_WEB_PORT: '0', COLUMBA_CONNECTORS: connectors },
  });
  const [port, webPort] = await new Promise<[number, number]>((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /Pages +http:\/\/127\.0\.0\.1:(\d+)[\s\S]*API +http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve([Number(found[1]), Number(found[2])]);
    });
  });
  const status = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024;
  return { port, webPort, child, status };
}

/** So many connections, which are silent or ask for what `request` says and read nothing. */
async function measure(what: string, count: number, request?: (client: number) => string): Promise<void> {
  const { port, child, status } = await start();
  if (request) await fill(port);
  await hold({ what, count, port, perAddress: PER_ADDRESS, child, status }, request);
}

/** The same at the second listener, all from one address. */
async function measureWeb(what: string, count: number, request: () => string | Buffer): Promise<void> {
  const { webPort: port, child, status } = await start();
  await hold({ what, count, port, perAddress: count, child, status }, request);
}

interface Crowd {
  readonly what: string;
  readonly count: number;
  readonly port: number;
  readonly perAddress: number;
  readonly child: ChildProcess;
  readonly status: (name: string) => number;
}

async function hold(
  { what, count, port, perAddress, child, status }: Crowd,
  request?: (client: number) => string | Buffer,
): Promise<void> {
  await wait(1_000);
  const before = status('VmRSS');
  const sockets: Socket[] = [];
  for (let client = 0; client < count; client++) {
    const localAddress = `127.0.0.${1 + Math.floor(client / perAddress)}`;
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket.pause());
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    if (request) socket.write(request(client));
  }
  await wait(5_000);
  const shown = [before, status('VmRSS'), status('VmHWM')].map((mib) => mib.toFixed(0).padStart(8));
  say(`${what.padEnd(34)}${shown.join('')}`);
  for (const socket of sockets) socket.destroy();
  await wait(1_000); // until the service knows that they are gone
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
}

/** Lists of 10 MB. */
async function fill(port: number): Promise<void> {
  for (const user_id of [ACME, GLOBEX]) {
    for (let index = 0; index < TEMPLATES; index++) {
      const body = new URLSearchParams({ user_id, message: `${index} `.padEnd(2_000, '&') });
      await fetch(`http://127.0.0.1:${port}/api/account.asmx/SaveMessageTemplate`, { method: 'POST', body });
    }
  }
}

const deaf = (fields: string) => (client: number) =>
  `GET /api/account.asmx/FetchSavedMessages?user_id=${client % 2 ? ACME : GLOBEX} HTTP/1.1\r\nHost: h\r\n${fields}\r\n`;

say(`${'MiB of resident memory'.padEnd(34)}  before    with    most`);
await measure('1,000 silent', 1_000);
await measure('10,000 silent', 10_000);
await measure('900 deaf readers of two accounts', 900, deaf(''));
await measure('the same, compressed', 900, deaf('Accept-Encoding: gzip\r\n'));

/** All of a body but its last byte. */
const unfinished = (start: string, fields: readonly string[]) => () =>
  Buffer.concat([
    Buffer.from(`${[start, 'Host: 127.0.0.1', ...fields, `Content-Length: ${BODY_BYTES}`].join('\r\n')}\r\n\r\n`),
    Buffer.alloc(BODY_BYTES - 1, 'a'),
  ]);
const signature = [
  'webhook-id: msg_1',
  `webhook-timestamp: ${Math.floor(Date.now() / 1_000)}`,
  `webhook-signature: v1,${Buffer.alloc(32).toString('base64')}`,
];
const form = ['Content-Type: application/x-www-form-urlencoded', 'Sec-Fetch-Site: same-origin'];
const callback = unfinished('POST /carriers/hook/ HTTP/1.1', signature);
await measureWeb('1,500 unfinished callbacks', 1_500, callback);
await measureWeb('1,500 unfinished sign-ins', 1_500, unfinished('POST /console/sign-in HTTP/1.1', form));
