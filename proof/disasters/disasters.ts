import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../test/support/random.ts';
import type { Disk } from './disks.ts';
import { createMachine, type Machine } from './machine.ts';

/**
 * Disasters under load: a service that sends messages is killed at any moment, its disk is gone, and
 * it continues from its backup. What clients were told and what the carrier got is compared with it.
 */
export interface Result {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly submitted: number;
  readonly lost: number;
  /** Restarts after a clean stop, and those after which the backup continued its chain. */
  readonly restarts: number;
  readonly continued: number;
  /** Seconds from the oldest write that is missing to the kill, of every round. */
  readonly secondsMissing: readonly number[];
  /** Seconds from the kill to the first answer, of every round. */
  readonly secondsAway: readonly number[];
  readonly faults: readonly string[];
}

interface Write {
  readonly token: string;
  readonly account: string;
  readonly sentAt: number;
  readonly answeredAt: number;
}

const CLIENTS = 4;
const LOAD_MS = 2_500;
/** Of the rounds begin with a stop and a start, some with several. */
const RESTARTED = 0.4;
const WRITES_MIN = 10;

/** A carrier that notes every submission, and leaves some without an answer. */
async function startCarrier(random: Random) {
  const submissions = new Map<string, number>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const { text } = JSON.parse(body).data as { text: string };
      submissions.set(text, (submissions.get(text) ?? 0) + 1);
      if (random.chance(0.05)) request.socket.destroy();
      else setTimeout(() => response.end('{}'), random.below(60));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { submissions, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

/** Commits have one order: nothing is missing that was answered before something was sent that is there. */
function isBeginning(writes: readonly Write[], stored: ReadonlySet<string>): boolean {
  const [there = [], missing = []] = [true, false].map((is) => writes.filter(({ token }) => stored.has(token) === is));
  const newest = Math.max(0, ...there.map(({ sentAt }) => sentAt));
  return missing.every(({ answeredAt }) => answeredAt >= newest);
}

/** Writes until the service is gone. The ids that were given are added to `ids`. */
function startLoad(machine: Machine, { next, ids, faults }: Shared) {
  const writes: Write[] = [];
  let isGoing = true;
  async function send(number: number): Promise<string> {
    const text = `#${String(number).padStart(7, '0')}#`;
    const reply = await fetch(machine.api(number), {
      method: 'POST',
      headers: { Authorization: `Bearer ${machine.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ recipients: ['+27825550201'], text }),
    });
    const answer = (await reply.json()) as { accepted?: { id: string }[] };
    const given = answer.accepted?.[0]?.id;
    if (reply.status !== 202 || !given) throw new Error(`the API answered ${reply.status} ${JSON.stringify(answer)}`);
    const id = `${given} of ${machine.userId(number)}`;
    if (ids.has(id)) faults.push(`the id ${id} was given twice`);
    ids.add(id);
    return text;
  }
  async function block(number: number): Promise<string> {
    const mobile = `+2782${String(number).padStart(7, '0')}`;
    const query = new URLSearchParams({ user_id: machine.userId(number), mobile, sample_message: '' });
    const reply = await fetch(`${machine.contract}/BlackListNumber?${query}`);
    const answer = await reply.text();
    if (reply.status !== 200) throw new Error(`the contract answered ${reply.status} ${answer}`);
    return mobile;
  }
  async function client(write: (number: number) => Promise<string>): Promise<void> {
    while (isGoing) {
      const sentAt = Date.now();
      try {
        const number = next();
        const token = await write(number);
        writes.push({ token, account: machine.userId(number), sentAt, answeredAt: Date.now() });
      } catch (thrown) {
        if (isGoing && !(thrown instanceof TypeError)) faults.push((thrown as Error).message); // TypeError: no answer
        return;
      }
      await sleep(10);
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index % 4 === 3 ? block : send));
  const over = Promise.all(clients);
  return {
    writes,
    /** Resolves after some writes, however busy the machine is, or when no client is left. */
    async isUnderWay(): Promise<void> {
      let isOver = false;
      void over.then(() => {
        isOver = true;
      });
      while (writes.length < WRITES_MIN && !isOver) await sleep(20);
    },
    async end(): Promise<void> {
      isGoing = false;
      await over;
    },
  };
}
interface Shared {
  readonly next: () => number;
  readonly ids: Set<string>;
  readonly faults: string[];
}

export interface Campaign {
  readonly folder: string;
  readonly disk: Disk;
  readonly env?: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly random: Random;
  readonly told?: (line: string) => void;
}

export async function runDisasters({
  folder,
  disk,
  env = {},
  rounds,
  random,
  told = () => {},
}: Campaign): Promise<Result> {
  const carrier = await startCarrier(random);
  const machine = await createMachine(folder, carrier.url, disk, env);
  const faults: string[] = [];
  const [secondsMissing, secondsAway]: [number[], number[]] = [[], []];
  let [count, acknowledged, lost, restarts, continued] = [0, 0, 0, 0, 0];
  const shared = { next: () => ++count, ids: new Set<string>(), faults };
  let kept: Write[] = [];
  try {
    await machine.start();
    await firstSnapshot(machine, shared);
    for (let round = 1; round <= rounds && faults.length === 0; round++) {
      const before: Write[] = [];
      while (random.chance(RESTARTED)) {
        const load = startLoad(machine, shared);
        await load.isUnderWay();
        await load.end();
        before.push(...load.writes);
        restarts += 1;
        if (await machine.restart()) continued += 1;
      }
      const load = startLoad(machine, shared);
      await load.isUnderWay();
      await machine.backUp();
      await sleep(random.below(LOAD_MS));
      const ending = load.end();
      const killedAt = await machine.lose();
      await ending;
      await machine.restore();
      const stored = await machine.stored();
      await machine.start();
      secondsAway.push((Date.now() - killedAt) / 1_000);
      const expected = [...kept, ...before, ...load.writes.filter(({ answeredAt }) => answeredAt <= killedAt)];
      acknowledged += before.length + load.writes.length;
      const missing = expected.filter(({ token }) => !stored.has(token));
      kept = expected.filter(({ token }) => stored.has(token));
      lost += missing.length;
      const oldest = Math.min(killedAt, ...missing.map(({ answeredAt }) => answeredAt));
      secondsMissing.push((killedAt - oldest) / 1_000);
      for (const own of Map.groupBy(expected, ({ account }) => (disk.isSpread ? account : '')).values()) {
        if (!isBeginning(own, stored)) faults.push(`round ${round}: an older write is missing than one that is there`);
      }
      for (const [token, times] of carrier.submissions) {
        if (times > 1) faults.push(`round ${round}: ${token} was submitted ${times} times`);
      }
      told(
        `round ${round}: ${load.writes.length} writes, ${missing.length} missing, ${secondsMissing.at(-1)} s; back after ${secondsAway.at(-1)} s`,
      );
    }
    await machine.checkLedger();
  } finally {
    await machine.end();
    carrier.close();
  }
  const submitted = carrier.submissions.size;
  const counts = { acknowledged, submitted, lost, restarts, continued };
  return { rounds: secondsAway.length, ...counts, secondsMissing, secondsAway, faults };
}

/** Waits until a write can be restored, as an operator does before relying on a backup. */
async function firstSnapshot(machine: Machine, shared: Shared): Promise<void> {
  const load = startLoad(machine, shared);
  await sleep(3_000);
  await load.end();
}
