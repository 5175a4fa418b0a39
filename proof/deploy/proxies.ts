import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';
import { columba, freshDatabase, type Server, serving } from '../../test/support/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { until } from '../../test/support/program.ts';
import { read } from './formats.ts';

/** The proxies of examples/deploy, run as they are but for ports and paths, with Columba behind them. */

export const CLIENT = '127.0.0.2';
export const STRANGER = '127.0.0.3';
export const folder = mkdtempSync(join(tmpdir(), 'columba-proxies-'));

const running = new Set<ChildProcess>();
const relays = new Set<ReturnType<typeof createServer>>();
/** By SIGTERM: after SIGKILL the workers of nginx would go on. */
const stopAll = () => {
  for (const child of running) child.kill('SIGTERM');
};
process.once('exit', stopAll);
after(async () => {
  const ended = [...running].map((child) => once(child, 'close'));
  stopAll();
  for (const relay of relays) relay.close();
  await Promise.all(ended);
  rmSync(folder, { recursive: true, force: true });
});

/** RSA, as old programs want it; certificate and key in one file for HAProxy, and each in its own for the others. */
export function makeCertificate(openssl: string): Record<'certificate' | 'key' | 'both', string> {
  const [certificate, key, both] = ['pem', 'key', 'both.pem'].map((end) => join(folder, `sms.example.${end}`)) as [
    string,
    string,
    string,
  ];
  const names = ['-subj', '/CN=sms.example', '-addext', 'subjectAltName=DNS:sms.example'];
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names];
  execFileSync(openssl, [...options, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
  writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'), { mode: 0o600 });
  return { certificate, key, both };
}

/** A file of examples/deploy with each text replaced; one that is not in it any more is a mistake of the test. */
export function exampleWith(file: string, replacements: Readonly<Record<string, string>>): string {
  let text = read(`examples/deploy/${file}`);
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

export interface Behind extends Server {
  /** Where the proxy sends its calls to: from there they go on to Columba. */
  readonly port: string;
  /** The web listener. */
  readonly webPort: string;
  readonly database: string;
  /** Connections of the proxy that were not for its health checks. */
  connections(): number;
  /** The addresses of clients in the log, of calls of an operation. */
  clientsOf(operation: string): string[];
}

/** Columba with the sample's data, and before it a relay that counts the connections of the proxy. */
export async function startBehind(env: Readonly<Record<string, string>>): Promise<Behind> {
  const database = freshDatabase();
  const sample = new URL('../../examples/sample.json', import.meta.url).pathname;
  const { code, stderr } = await columba(['import', sample, '--database', database]);
  if (code !== 0) throw new Error(stderr);
  const webPort = String(await freePort());
  const server = await serving(['--database', database, '--web-port', webPort], { env });
  let count = 0;
  const relay = createServer((socket) => {
    const onward = connect(Number(new URL(server.address).port), '127.0.0.1');
    socket.once('data', (head: Buffer) => {
      if (!head.toString('latin1').includes(' /health/')) count += 1;
    });
    pipeBoth(socket, onward);
  });
  const port = String(await freePort());
  await new Promise<void>((resolve) => relay.listen(Number(port), '127.0.0.1', resolve));
  relays.add(relay);
  running.add(server.child);
  return {
    ...server,
    port,
    webPort,
    database,
    connections: () => count,
    clientsOf: (operation) =>
      server.output.stderr
        .split('\n')
        .filter((line) => line.includes(`"operation":"${operation}"`))
        .map((line) => JSON.parse(line).client),
  };
}

function pipeBoth(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
}

export interface Running {
  readonly output: { text: string };
}

/** The proxy, when it takes connections on a port. */
export async function startProxy(command: string, args: readonly string[], port: string): Promise<Running> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output.text += piece;
    });
  }
  await until(`${command} takes connections`, () => {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${output.text}`);
    return canConnect(port);
  });
  return { output };
}

const canConnect = (port: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether the connection was that of a call before. */
  readonly reused: boolean;
  readonly protocol: string | null;
}

export interface ClientOptions {
  readonly port: string;
  readonly ca: string;
  /** From which address it calls. */
  readonly from?: string;
  /** The only version that it speaks; any where it is absent. */
  readonly tls?: SecureVersion;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Client {
  send(call: Call): Promise<Answer>;
  close(): void;
}

const tlsOptions = ({ ca, from = CLIENT, tls }: ClientOptions) => ({
  ca: readFileSync(ca),
  localAddress: from,
  servername: 'sms.example',
  host: '127.0.0.1',
  ...(tls && { minVersion: tls, maxVersion: tls, ciphers: 'DEFAULT@SECLEVEL=0' }),
});

/** A client with one connection, which it keeps. It sends a body only when the server says that it may. */
export function createClient(options: ClientOptions): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...tlsOptions(options) });
  return {
    send: ({ method = 'GET', path, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const all = { host: 'sms.example', ...headers, ...(body !== undefined && { expect: '100-continue' }) };
        const outgoing = request({ agent, port: options.port, method, path, headers: all }, (incoming) => {
          const chunks: Buffer[] = [];
          const protocol = (incoming.socket as TLSSocket).getProtocol();
          incoming.on('data', (chunk) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () =>
            resolve({
              status: incoming.statusCode as number,
              headers: incoming.headers,
              protocol,
              text: Buffer.concat(chunks).toString('utf8'),
              reused: outgoing.reusedSocket,
            }),
          );
        });
        outgoing.on('error', reject);
        outgoing.setTimeout(60_000, () => outgoing.destroy(new Error('no answer for a minute')));
        if (body === undefined) outgoing.end();
        else outgoing.once('continue', () => outgoing.end(body)).flushHeaders();
      }),
    close: () => agent.destroy(),
  };
}

/** What comes back for bytes, as far as the end that is waited for: a proxy may keep the connection open. */
export function exchangeTls(
  options: ClientOptions,
  bytes: string,
  end: string | RegExp,
  seen: (text: string) => void = () => {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connectTls({ ...tlsOptions(options), port: Number(options.port) }, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      seen(text);
      if (typeof end === 'string' ? text.includes(end) : end.test(text)) socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
  });
}
