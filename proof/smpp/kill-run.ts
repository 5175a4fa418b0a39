import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnknownOutcomePolicy } from '../../src/domain/accounts/accounts.ts';
import { columba, freshPath } from '../../test/support/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { callAt } from '../../test/support/operator-api.ts';
import { openOutside } from '../../test/support/other-process.ts';
import { crash, type Program, startProgram, until } from '../../test/support/program.ts';
import { createRandom } from '../../test/support/random.ts';
import { type Carrier, MOODS, type Mood, type Submitted, startCarrier, textOf } from './carrier.ts';
import { type Asked, judge, unstored } from './judge.ts';

/**
 * The service as a process, with one or two SMSCs, killed with SIGKILL at random moments while
 * messages go both ways. After that everything is let run, and the result is judged.
 */
export interface KillOptions {
  readonly database: string;
  readonly seed: number;
  readonly kills: number;
  /** With two, a route leads to the first one and then to the second, and the first one fails in every way. */
  readonly ways: 1 | 2;
  readonly unknownOutcomePolicy: UnknownOutcomePolicy;
  readonly progress?: (line: string) => void;
}
export interface KillResult {
  readonly faults: readonly string[];
  readonly kills: number;
  /** Messages that Columba has accepted for certain. */
  readonly messages: number;
  readonly submissions: ReadonlyMap<string, number>;
  /** Messages of which nobody knows whether a carrier has them, and about which an operator decides. */
  readonly needsDecision: number;
  readonly received: number;
}

const USERNAME = 'acme';
const CREDITS = 1_000_000;
const ANSWER_SECONDS = 2;
const BATCH = 12;
const HOUR = 3_600_000;

export async function runKills(options: KillOptions): Promise<KillResult> {
  const run = await createRun(options);
  try {
    for (let kills = 1; kills <= options.kills; kills++) {
      await run.live();
      await run.kill();
      if (kills % 5 === 0 || options.kills < 5) options.progress?.(`${kills} kills, ${run.state()}`);
    }
    await run.settle();
    return await run.judge();
  } finally {
    await run.end();
  }
}

async function createRun({ database, seed, ways, unknownOutcomePolicy }: KillOptions) {
  const random = createRandom('kills', seed);
  const submitted: Submitted[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  const answerMs = ANSWER_SECONDS * 1_000;
  const carriers: Carrier[] = [];
  for (const name of ['one', 'two'].slice(0, ways)) {
    carriers.push(await startCarrier({ name, random: createRandom(`carrier ${name}`, seed), submitted, answerMs }));
  }
  const { token, file } = await install(database, carriers, unknownOutcomePolicy);
  let address = '';
  let program: Program | null = null;
  let kills = 0;
  let phones = 0;
  const requests = new Set<Promise<void>>();

  async function start(): Promise<void> {
    // Another one for each start: in a long run other programs take ports that were free once.
    const webPort = String(await freePort());
    address = `http://127.0.0.1:${webPort}`;
    const args = ['--connectors', file, '--web-port', webPort, '--dispatcher', 'on', '--unknown-outcome-minutes', '1'];
    program = await startProgram(database, 1, args);
  }

  /** The API answers, and the carriers that let Columba bind are bound. */
  async function isReady(): Promise<void> {
    const isServed = () =>
      fetch(address).then(
        () => true,
        () => false,
      );
    await until('the API answers', isServed);
    const binding = carriers.filter(({ mood }) => mood !== 'away' && mood !== 'no bind');
    await until('the carriers are bound', () => binding.every((carrier) => carrier.isBound()));
  }

  async function send(): Promise<void> {
    const batch: Asked[] = Array.from({ length: BATCH }, (_, index) => ({
      token: String(asked.length + index + 1).padStart(6, '0'),
      parts: random.chance(0.2) ? 2 : 1,
      isAccepted: null,
    }));
    asked.push(...batch);
    const body = {
      recipients: batch.map((each) => numberOf(each.token)),
      texts: batch.map((each) => textOf(each.token, each.parts === 2 ? 25 : 1)),
    };
    // A request that the kill cuts off has no answer.
    const answer = await callAt(address, 'POST', `/accounts/${USERNAME}/messages`, { token, body }).catch(() => null);
    if (!answer || answer.status >= 500) return;
    if (answer.status !== 202) faults.push(`sending was answered with ${answer.status}: ${answer.text}`);
    for (const each of batch) each.isAccepted = answer.status === 202;
  }

  const write = (): void => {
    phones++;
    random.pick(carriers).send(numberOf(String(phones)).slice(1), `phone ${String(phones).padStart(6, '0')}`);
  };

  /** With two ways, the second one is taken in the first round for certain, however few kills there are. */
  const isFirstRound = () => ways === 2 && kills === 0;
  const moodOf = (carrier: Carrier): Mood => {
    if (ways === 1) return 'any';
    if (carrier.name === 'one' && isFirstRound()) return 'away';
    return carrier.name === 'one' ? random.pick(MOODS) : random.pick(['any', 'well', 'well'] as const);
  };

  return {
    state: () => `${asked.length} messages, ${submitted.length} submissions`,

    /** Sends, writes, and lets a random time pass. */
    async live(): Promise<void> {
      for (const carrier of carriers) carrier.mood = moodOf(carrier);
      if (!program) await start();
      // A tenth of the kills come while the service starts.
      if (random.chance(0.9) || isFirstRound()) await isReady();
      for (let count = 1 + random.below(4); count > 0; count--) {
        const request = send().finally(() => requests.delete(request));
        requests.add(request);
        if (random.chance(0.5)) write();
        await sleep(random.below(150));
      }
      if (isFirstRound()) await until('the second way', () => submitted.some(({ carrier }) => carrier === 'two'));
      // Half of the kills come while submissions are under way, the others at any moment.
      if (random.chance(0.5)) {
        const before = submitted.length;
        const more = random.below(60);
        await until('submissions', () => submitted.length > before + more, random.below(5_000)).catch(() => {});
      } else await sleep(random.below(1_500));
    },

    /** What was acknowledged is looked for before the service runs again. */
    async kill(): Promise<void> {
      const killed = program;
      program = null;
      if (killed) await crash(killed);
      kills++;
      await Promise.all(requests);
      faults.push(...(await unstored(database, carriers)));
    },

    /** Carriers work again, and hours pass for messages that wait. */
    async settle(): Promise<void> {
      for (const carrier of carriers) carrier.mood = 'well';
      await start();
      const outside = await openOutside(database);
      const moving = async () => {
        const [row] = await outside.query("select count(*) as total from dispatch where state <> 'needs-decision'");
        return Number(row?.total ?? 0);
      };
      try {
        await until('all carriers are bound', () => carriers.every((carrier) => carrier.isBound()));
        for (let looks = 0; (await moving()) > 0; looks++) {
          if (looks > 150) throw new Error('messages are still moving');
          await pass(outside, 2 * HOUR);
          await sleep(1_000);
        }
        await until('all is acknowledged', () => carriers.every((carrier) => carrier.open() === 0));
        // The maintenance applies the receipts that are held, every ten seconds.
        await sleep(12_000);
      } finally {
        await outside.close();
      }
    },

    async judge(): Promise<KillResult> {
      await this.kill();
      const result = await judge({ database, asked, submitted, carriers, unknownOutcomePolicy, granted: CREDITS });
      const perCarrier = Map.groupBy(submitted, ({ carrier }) => carrier);
      return {
        ...result,
        faults: [...faults, ...result.faults],
        kills,
        messages: asked.filter(({ isAccepted }) => isAccepted).length,
        submissions: new Map([...perCarrier].map(([name, own]) => [name, own.length])),
      };
    },

    async end(): Promise<void> {
      if (program) await crash(program);
      for (const carrier of carriers) await carrier.close();
    },
  };
}

/** One number each, so that no two messages are alike. */
const numberOf = (token: string): string => `+2782${String((Number(token) * 7_919) % 10_000_000).padStart(7, '0')}`;

/** As if so much time had passed: leases end, and what waits is due. */
async function pass(outside: Awaited<ReturnType<typeof openOutside>>, ms: number): Promise<void> {
  await outside.query(`update dispatch set due_at = due_at - ${ms} where state <> 'needs-decision'`);
  await outside.query('update dispatch_account set next_due_at = 0');
}

async function install(
  database: string,
  carriers: readonly Carrier[],
  policy: UnknownOutcomePolicy,
): Promise<{ token: string; file: string }> {
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await columba([...words, '--json', '--database', database]);
    if (code !== 0) throw new Error(`columba ${words.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const file = freshPath('json');
  const connectors = carriers.map(({ name, port }, place) => ({
    name,
    kind: 'smpp',
    isDefault: place === 0,
    submissionsMax: 16, // a kill then leaves few messages that were claimed and did not leave
    config: {
      host: '127.0.0.1',
      port,
      systemId: 'esme',
      password: 'secret',
      window: 12,
      answerSeconds: ANSWER_SECONDS,
      defaultSender: '31234',
    },
  }));
  writeFileSync(file, JSON.stringify({ connectors }));
  await run('account', 'add', USERNAME, '--credits', String(CREDITS), '--unknown-outcome-policy', policy);
  await run('route', 'put', 'all', '--username', USERNAME);
  const scopes = 'messages:send,messages:read,gateway';
  const { token } = await run('token', 'add', 'run', '--scopes', scopes);
  if (carriers.length > 1) {
    // The connectors of the file are in the database once the service has started.
    const program = await startProgram(database, 1, ['--connectors', file, '--web-port', '0', '--dispatcher', 'on']);
    const body = JSON.stringify(carriers.map(({ name }) => ({ connector: name, ifRefused: ['0x0000000b'] })));
    await run('outbound-route', 'put', 'both', '--ways', body, '--on-throttle', 'next');
    await crash(program);
  }
  return { token: String(token), file };
}
