import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import type { Peer } from './peers.ts';
import { until } from './program.ts';

/** Real Kannel, with a configuration of examples/kannel in which only places, ports and passwords are filled in. */
export interface Kannel {
  readonly ports: { readonly admin: number; readonly box: number; readonly sendsms: number };
  /** Of bearerbox, while it runs. */
  pid(): number;
  start(): Promise<void>;
  /** Without warning. */
  kill(): Promise<void>;
  /** As a supervisor stops it. Resolves when bearerbox has ended. */
  terminate(): Promise<void>;
  killSmsbox(): Promise<void>;
  startSmsbox(): Promise<void>;
  admin(command: string): Promise<string>;
  close(): Promise<void>;
}

export interface KannelOptions {
  readonly way: 'box' | 'sendsms';
  readonly smscPort: number;
  readonly callbackUrl?: string;
  readonly callbackSecret?: string;
  /** The last change of the text. */
  readonly change?: (text: string) => string;
}

export const kannel = (): Peer => {
  const found = ['bearerbox', 'smsbox'].every(
    (each) => spawnSync(each, ['--version'], { stdio: 'ignore' }).status === 0,
  );
  return { name: 'kannel', command: found ? 'bearerbox' : null };
};

export const PASSWORDS = { admin: 'adminpw', status: 'statuspw', sendsms: 'sendpw' } as const;

export async function createKannel(options: KannelOptions): Promise<Kannel> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-kannel-'));
  for (const each of ['store', 'dlr', 'log']) mkdirSync(join(folder, each), { mode: 0o700 });
  const [admin = 0, box = 0, sendsms = 0] = await Promise.all([freePort(), freePort(), freePort()]);
  const path = join(folder, 'kannel.conf');
  writeFileSync(path, filledIn(folder, { admin, box, sendsms }, options));
  chmodSync(path, 0o600);
  let bearerbox: ChildProcess | null = null;
  let smsbox: ChildProcess | null = null;

  const ask = (command: string, password: string): Promise<string> =>
    fetch(`http://127.0.0.1:${admin}/${command}${command.includes('?') ? '&' : '?'}password=${password}`).then(
      (answer) => answer.text(),
      () => '',
    );
  const status = () => ask('status.txt', PASSWORDS.status);
  const self: Kannel = {
    ports: { admin, box, sendsms },
    pid: () => bearerbox?.pid ?? 0,
    async start() {
      bearerbox = spawn('bearerbox', [path], { stdio: 'ignore' });
      await until('bearerbox runs', async () => isRunning(bearerbox) && /running/.test(await status()));
      if (options.way === 'sendsms') await self.startSmsbox();
    },
    async startSmsbox() {
      // It starts itself anew under another pid, so it gets a process group.
      smsbox = spawn('smsbox', [path], { stdio: 'ignore', detached: true });
      await until('smsbox is connected', async () => /smsbox:.*on-line/.test(await status()));
    },
    async killSmsbox() {
      await ended(smsbox, true);
      smsbox = null;
      await until('bearerbox knows', async () => !/smsbox:.*on-line/.test(await status()));
    },
    async kill() {
      await ended(bearerbox, false);
      await ended(smsbox, true);
      bearerbox = null;
      smsbox = null;
    },
    async terminate() {
      const child = bearerbox;
      child?.kill('SIGTERM');
      await until('bearerbox ends', () => child?.exitCode !== null || child?.signalCode !== null);
      bearerbox = null;
    },
    admin: (command) => ask(command, PASSWORDS.admin),
    async close() {
      await self.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return self;
}

function isRunning(child: ChildProcess | null): boolean {
  assert.equal(child?.exitCode, null, 'bearerbox does not start');
  return true;
}

async function ended(child: ChildProcess | null, isGroup: boolean): Promise<void> {
  if (!child?.pid) return;
  const gone =
    child.exitCode === null && child.signalCode === null ? new Promise((done) => child.once('exit', done)) : 0;
  try {
    process.kill(isGroup ? -child.pid : child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
  await gone;
}

function filledIn(folder: string, ports: Kannel['ports'], options: KannelOptions): string {
  const text = readFileSync(new URL(`../../examples/kannel/${options.way}.conf`, import.meta.url), 'utf8')
    .replaceAll('/var/spool/kannel', folder)
    .replaceAll('/var/log/kannel', join(folder, 'log'))
    .replaceAll(' = 13000', ` = ${ports.admin}`)
    .replaceAll(' = 13001', ` = ${ports.box}`)
    .replaceAll(' = 13013', ` = ${ports.sendsms}`)
    .replace('host = smpp.carrier.example\nport = 2775', `host = 127.0.0.1\nport = ${options.smscPort}`)
    .replace('reconnect-delay = 5', 'reconnect-delay = 1')
    .replace('sms-resend-freq = 10', 'sms-resend-freq = 1')
    .replace('http-queue-delay = 5', 'http-queue-delay = 1')
    .replace('change-me-admin', PASSWORDS.admin)
    .replace('change-me-status', PASSWORDS.status)
    .replace('change-me-sendsms', PASSWORDS.sendsms)
    .replace('http://127.0.0.1:8081/carriers/kannel', options.callbackUrl ?? 'http://127.0.0.1:1')
    .replace('change-me-callback', options.callbackSecret ?? 'none');
  return options.change?.(text) ?? text;
}
