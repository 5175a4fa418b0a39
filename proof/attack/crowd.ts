import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { cpuUs } from '../../bench/proc.ts';
import { ACME } from '../../test/support/service.ts';

/**
 * Crowds against a service of its own, for people to read: `node bin/node.cjs proof/attack/crowd.ts [seconds] [connections …]`.
 * Clients retry at once, whatever they are told. Meanwhile health is asked on new connections. All of it is on loopback.
 */

interface Crowd {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** `busy` asks again and again, `silent` says nothing, `guessing` asks with user_ids that nobody has. */
  readonly kind: 'busy' | 'silent' | 'guessing';
  /** All from one address, or from as many as it takes for the bound of each. */
  readonly isSpread: boolean;
}

interface Tally {
  readonly accepted: number;
  readonly refused: number;
  readonly other: number;
  readonly closed: number;
  readonly p50: number;
  readonly p99: number;
}

const HEALTH_PORT = 18_181;
const say = (line: string) => process.stdout.write(`${line}\n`);
const PER_ADDRESS = 900;
const CONNECTING_MS_MAX = 30_000;
const PROBE_EVERY_MS = 100;
const WRITES = 10; // every tenth call saves or deletes a template
const get = (target: string) => Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`);
const POLL = get(`/api/inbox.asmx/CountUnread?user_id=${ACME}`);
const GUESS = get('/api/inbox.asmx/CountUnread?user_id=nobody');
const writing = (client: number) =>
  ['SaveMessageTemplate', 'DeleteMessageTemplate'].map((name) =>
    get(`/api/account.asmx/${name}?user_id=${ACME}&message=crowd${client % 500}`),
  ) as [Buffer, Buffer];

/** In a process of its own. */
function crowd({ port, connections, seconds, kind, isSpread }: Crowd): void {
  const times: number[] = [];
  const counts = { accepted: 0, refused: 0, other: 0, closed: 0 };
  let connected = 0;
  let isOver = false;
  let isCounting = false;

  const there = () => {
    connected += 1;
    if (connected === connections) begin();
  };
  function open(client: number): void {
    const localAddress = `127.0.0.${isSpread ? 1 + Math.floor(client / PER_ADDRESS) : 1}`;
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    const [save, remove] = writing(client);
    let calls = client;
    let sentAt = 0;
    const ask = () => {
      calls += 1;
      sentAt = performance.now();
      const write = calls % (2 * WRITES) === 0 ? save : calls % WRITES === 0 ? remove : POLL;
      socket.write(kind === 'busy' ? write : GUESS);
    };
    socket.on('connect', () => (kind === 'silent' ? there() : ask()));
    socket.once('data', there);
    socket.on('data', (chunk) => {
      const status = chunk.toString('latin1', 9, 12);
      if (isCounting && status.startsWith('2')) {
        counts.accepted += 1;
        times.push(performance.now() - sentAt);
      } else if (isCounting && status === '503') counts.refused += 1;
      else if (isCounting) counts.other += 1;
      ask();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (isOver) return;
      if (isCounting) counts.closed += 1;
      setTimeout(open, 10, client);
    });
  }

  /** When all are there, or have had time for it. */
  function begin(): void {
    clearTimeout(late);
    if (isCounting) return;
    isCounting = true;
    process.send?.('begin');
    setTimeout(end, seconds * 1_000);
  }
  function end(): void {
    isOver = true;
    const sorted = Float64Array.from(times).sort();
    const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? 0;
    process.send?.({ ...counts, p50: at(0.5), p99: at(0.99) } satisfies Tally, () => process.exit(0));
  }

  const late = setTimeout(begin, CONNECTING_MS_MAX);
  for (let client = 0; client < connections; client++) open(client);
}

interface Probed {
  asked: number;
  served: number;
  longestMs: number;
}

/** One call on a new connection. */
function probe(port: number, request: Buffer, probed: Probed): void {
  const startedAt = performance.now();
  probed.asked += 1;
  const socket: Socket = connect({ port, host: '127.0.0.1' });
  const end = () => {
    probed.longestMs = Math.max(probed.longestMs, performance.now() - startedAt);
    socket.destroy();
  };
  socket.on('error', () => {});
  socket.once('connect', () => socket.write(request));
  socket.once('data', (chunk) => {
    if (chunk.toString('latin1', 9, 12) === '200') probed.served += 1;
    end();
  });
  socket.setTimeout(20_000, end);
}

async function start() {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const flags = ['--port', '0', '--health-port', String(HEALTH_PORT)];
  const child = spawn(process.execPath, [main, 'serve', '--demo', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    });
  });
  return { port, child };
}

async function run(settings: Omit<Crowd, 'port'>): Promise<void> {
  const { port, child } = await start();
  const ended = once(child, 'exit'); // then its health port is free
  const file = fileURLToPath(import.meta.url);
  const clients = fork(file, [JSON.stringify({ ...settings, port } satisfies Crowd)]);
  const none = () => ({ asked: 0, served: 0, longestMs: 0 });
  const [own, health, call] = [none(), none(), none()];
  let timer: NodeJS.Timeout | undefined;
  const pids = [child.pid as number];
  let cpuBefore = 0;
  const tally = await new Promise<Tally>((resolve) => {
    clients.on('message', (message: 'begin' | Tally) => {
      if (message !== 'begin') return resolve(message);
      cpuBefore = cpuUs(pids);
      timer = setInterval(() => {
        probe(HEALTH_PORT, get('/health/ready'), own);
        probe(port, get('/health/ready'), health);
        probe(port, POLL, call);
      }, PROBE_EVERY_MS);
    });
  });
  clearInterval(timer);
  const cpuSeconds = (cpuUs(pids) - cpuBefore) / 1e6;
  await new Promise((resolve) => setTimeout(resolve, 500));
  child.kill('SIGTERM');
  await ended;
  const { kind, connections, seconds, isSpread } = settings;
  const shown = ({ asked, served, longestMs }: Probed) => `${served}/${asked}, ${longestMs.toFixed(0)} ms`;
  say(
    [
      `${connections} ${kind}${isSpread ? '' : ', one address'}`.padEnd(26),
      (tally.accepted / seconds).toFixed(0).padStart(8),
      (tally.accepted / cpuSeconds).toFixed(0).padStart(9),
      (tally.refused / seconds).toFixed(0).padStart(8),
      (tally.closed / seconds).toFixed(0).padStart(8),
      `${tally.p50.toFixed(0)}/${tally.p99.toFixed(0)}`.padStart(12),
      ...[own, health, call].map((probed) => shown(probed).padStart(20)),
    ].join(' '),
  );
}

const [given = '5', ...numbers] = process.argv.slice(2);
if (given.startsWith('{')) crowd(JSON.parse(given));
else {
  const seconds = Number(given);
  const busy = numbers.length > 0 ? numbers.map(Number) : [400, 2_500, 6_000];
  say(
    ['crowd'.padEnd(26), '   2xx/s 2xx/CPU s    503/s closed/s', 'p50/p99 ms'.padStart(12)]
      .concat(['health, own port', 'health', 'call, new connection'].map((name) => name.padStart(20)))
      .join(' '),
  );
  for (const connections of busy) await run({ connections, seconds, kind: 'busy', isSpread: true });
  if (numbers.length === 0) {
    await run({ connections: 400, seconds, kind: 'busy', isSpread: false });
    await run({ connections: 11_000, seconds, kind: 'silent', isSpread: true });
    await run({ connections: 1_000, seconds, kind: 'guessing', isSpread: false });
  }
}
