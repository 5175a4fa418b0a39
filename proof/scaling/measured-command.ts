import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** The command with its time and its memory, and files that are larger than it may have. */
export interface Measured {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
  /** The most memory that was resident; null where the system does not tell. */
  readonly peakMb: number | null;
}

const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));

export async function measured(args: readonly string[], heapMb: number): Promise<Measured> {
  const { PATH = '', HOME = '' } = process.env;
  // V8 makes the space for new objects smaller with the heap, and is then three times as slow: it stays as it is.
  const NODE_OPTIONS = `--max-old-space-size=${heapMb} --max-semi-space-size=16`;
  const env = { PATH, HOME, TMPDIR: tmpdir(), NODE_OPTIONS };
  const startedAt = performance.now();
  const child = spawn(COLUMBA, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  let peakMb: number | null = null;
  const timer = setInterval(() => {
    peakMb = residentPeakMb(child.pid) ?? peakMb;
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(timer);
  process.off('exit', kill);
  return { code, ...output, seconds: (performance.now() - startedAt) / 1_000, peakMb };
}

function residentPeakMb(pid: number | undefined): number | null {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1_024);
  } catch {
    return null;
  }
}

/** What a file holds, without reading it at once. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

export interface Size {
  readonly accounts: number;
  readonly messages: number;
  /** Of each text, but for scheduled ones: counting the parts of a long text would take longer than everything else. */
  readonly characters: number;
}

/** NDJSON as an export writes it, one account a line; half of the messages are sent ones, one of a hundred is scheduled. */
export async function writeAccounts(path: string, { accounts, messages, characters }: Size): Promise<void> {
  const file = createWriteStream(path);
  const perAccount = Math.ceil(messages / accounts);
  for (let number = 0; number < accounts; number++) {
    const count = Math.min(perAccount, messages - number * perAccount);
    if (!file.write(`${JSON.stringify(accountOf(number, count, characters))}\n`)) await once(file, 'drain');
  }
  await once(file.end(), 'close');
}

const WORDS = 'Your order is on its way. Thank you, and see you at 10:45. ';
const FOREIGN_WORDS = 'Ihre Bestellung ist unterwegs — gracias, 謝謝, спасибо 😀 ';
const dateOf = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString().replace('.000Z', 'Z');

type Kind = 'received' | 'sent' | 'scheduled';
const kindOf = (id: number): Kind => (id % 100 === 99 ? 'scheduled' : id % 2 === 0 ? 'received' : 'sent');

function accountOf(number: number, count: number, characters: number) {
  const name = `account-${String(number).padStart(6, '0')}`;
  const words = number % 10 === 0 ? FOREIGN_WORDS : WORDS;
  const filler = words.repeat(Math.ceil(characters / words.length));
  const ids = Array.from({ length: count }, (_, id) => id);
  const each = <T>(kind: Kind, make: (id: string, text: string, at: string) => T): T[] =>
    ids
      .filter((id) => kindOf(id) === kind)
      .map((id) =>
        make(String(id), `${id} ${filler}`.slice(0, kind === 'scheduled' ? 60 : characters).toWellFormed(), dateOf(id)),
      );
  return {
    userIDHashes: [{ sha256: createHash('sha256').update(name).digest('hex'), created: dateOf(0) }],
    username: name,
    credits: '100',
    usedCredits: '0',
    transmissionPriority: 0,
    tag: 0,
    datetimeCreated: dateOf(0),
    groups: [{ id: 1, name: 'Customers' }],
    contacts: [{ id: '1', mobile: '+27825550201', groupid: '1' }],
    templates: [`template of ${name}`],
    blacklist: [],
    inbox: each('received', (id, message, timestamp) => ({
      id,
      sender: '+27825550201',
      message,
      short_code: '31000',
      timestamp,
      read: Number(id) % 2 === 0,
    })),
    sent: each('sent', (id, message, at) => ({
      id,
      user_message_id: `reference ${id}`,
      recipient: '+27825550202',
      message,
      delivery_status: 'DELIVERED',
      timestamp_sent: at,
      timestamp_updated: at,
      marked: false,
    })),
    scheduled: each('scheduled', (id, message, at) => ({
      id,
      recipient: '+27825550203',
      message,
      timestamp_scheduled: at,
      timestamp_created: at,
    })),
  };
}
