import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { addToken } from '../../src/domain/access/tokens.ts';
import { scopes } from '../../src/operator/actor.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { createRandom } from '../../test/support/random.ts';
import type { Policy } from '../checker/history.ts';
import type { SimulatedNode } from './node.ts';
import { hasRoutes, ROUTED_ACCOUNTS, routeOf } from './routes.ts';
import type { World } from './world.ts';

/** The accounts, connectors, routes and webhooks of a simulated world. */
export interface SimulatedAccount {
  readonly username: string;
  readonly policy: Policy;
  readonly credits: bigint;
  /** Where people write to it. */
  readonly number: string;
  readonly hasStopWords: boolean;
  readonly quietHours: string | null;
  readonly timeZone: string | null;
  readonly low: bigint | null;
  userId: string;
}
export interface Setting {
  readonly token: string;
  readonly accounts: readonly SimulatedAccount[];
  readonly connectors: readonly string[];
  /** Whether some messages have two ways: see routes.ts. */
  readonly isRouted: boolean;
  /** Accounts that were imported. */
  readonly imported: string[];
  readonly webhooks: readonly { readonly id: string; readonly url: string }[];
}

const account = (username: string, place: number, more: Partial<SimulatedAccount> = {}): SimulatedAccount => ({
  username,
  policy: 'never-twice',
  credits: 100_000n,
  number: `+2760000000${place}`,
  hasStopWords: false,
  quietHours: null,
  timeZone: null,
  low: null,
  userId: '',
  ...more,
});

const ACCOUNTS = (): SimulatedAccount[] => [
  account('plain', 1, { hasStopWords: true }),
  account('again', 2, { policy: 'submit-again' }),
  // The clocks of this zone change in the night of 25 October 2026.
  account('quiet', 3, { quietHours: '22:00-06:00', timeZone: 'Europe/Berlin', hasStopWords: true }),
  account('poor', 4, { credits: 12n, low: 5n }),
];

/** With all tables and nothing in them. Made once, because it takes 30 ms. */
export async function makeTemplate(folder: string): Promise<string> {
  const path = join(folder, 'template.db');
  const database = await openSqlite(path, systemClock);
  await database.close();
  return path;
}

/** Runs while nothing goes wrong. */
export async function setUp(world: World): Promise<Setting> {
  const accounts = ACCOUNTS();
  const webhooks: { id: string; url: string }[] = [];
  let token = '';
  await asked(world, async (node) => {
    const given = { name: 'simulator', account: null, scopes: [...scopes], expiresAt: null };
    token = (await addToken(node.services.database, given, world.scheduler.now())).secret;
  });
  const api = async (method: string, path: string, body: unknown) => {
    let answer: Awaited<ReturnType<SimulatedNode['api']>> | undefined;
    await asked(world, async (node) => {
      answer = await node.api(method, path, { token, body });
    });
    if (!answer || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.body as Record<string, string>;
  };
  for (const [name, isDefault, ratePerSecond] of CONNECTORS) {
    await api('PUT', `/connectors/${name}`, { kind: 'loopback', isDefault, ratePerSecond, submissionsMax: 20 });
  }
  for (const each of accounts) {
    const { username, credits, policy, quietHours, timeZone, low, hasStopWords, number } = each;
    const body = {
      username,
      credits: String(credits),
      unknownOutcomePolicy: policy,
      quietHours,
      timeZone,
      ...(low !== null && { lowCredits: String(low) }),
      ...(hasStopWords && { stopWords: ['STOP'], startWords: ['START'], stopAnswer: 'You get no more messages.' }),
    };
    each.userId = (await api('POST', '/accounts', body)).userId as string;
    const given = { account: username, act: 'opening', amount: credits };
    world.recorder.record({ kind: 'credits-asked', ...given });
    world.recorder.record({ kind: 'credits-moved', ...given });
    await api('PUT', `/routes/${username}`, { username, destination: number });
  }
  // In half of the worlds one account may send one message to a number in a day, and the others are held.
  if (createRandom('guard', world.seed).chance(0.5)) await api('PUT', '/accounts/plain/guard', { recipientDay: 1 });
  const isRouted = hasRoutes(world.seed);
  for (const username of isRouted ? ROUTED_ACCOUNTS : []) {
    await api('PUT', `/outbound-routes/two-ways-${username}`, routeOf(username));
  }
  for (const url of ['https://one.example/events', 'https://two.example/events']) {
    const events = ['message.received', 'message.status', 'message.needs_decision', 'credits.low'];
    const username = url.includes('two') ? { username: 'plain', full: true } : {};
    const { id, secret } = await api('POST', '/webhooks', { url, events, ...username });
    world.receivers.addSecret(url, secret as string);
    webhooks.push({ id: id as string, url });
  }
  return { token, accounts, connectors: CONNECTOR_NAMES, isRouted, imported: [], webhooks };
}

const CONNECTORS = [
  ['alpha', true, null],
  ['beta', false, 3],
] as const;
export const CONNECTOR_NAMES = CONNECTORS.map(([name]) => name);

async function asked(world: World, work: (node: SimulatedNode) => Promise<void>): Promise<void> {
  let isOver = false;
  let failure: unknown;
  const answer = world.ask(async (node) => {
    await work(node).catch((thrown) => {
      failure = thrown;
    });
  }, 0);
  void answer.then(() => {
    isOver = true;
  });
  await world.runUntil(world.scheduler.now() + 60_000, () => isOver);
  if (failure) throw failure;
  if (!isOver) throw new Error('the world did not begin');
}
