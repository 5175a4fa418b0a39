import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ACME, GLOBEX } from '../support/service.ts';

/**
 * Memory of a service of its own under many connections, for people to read: `node bin/node.cjs test/attack/memory.ts`.
 * What is printed is the resident memory of its process, with garbage that was not collected yet.
 */

const PER_ADDRESS = 900;
const TEMPLATES = 1_000;
const say = (line: string) => process.stdout.write(`${line}\n`);

async function start() {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', '--demo', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<number>((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    });
  });
  const status = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024;
  return { port, child, status };
}

/** So many connections, which are silent or ask for what `request` says and read nothing. */
async function measure(what: string, count: number, request?: (client: number) => string): Promise<void> {
  const { port, child, status } = await start();
  if (request) await fill(port);
  await wait(1_000);
  const before = status('VmRSS');
  const sockets: Socket[] = [];
  for (let client = 0; client < count; client++) {
    const localAddress = `127.0.0.${1 + Math.floor(client / PER_ADDRESS)}`;
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
