import assert from 'node:assert/strict';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { ODD_DIALECT } from '../../test/support/odd-dialect.ts';
import type { OldAccount, OldData } from '../../test/support/old-server/accounts.ts';
import { sampleData, USER_IDS } from '../../test/support/old-server/sample.ts';
import { type ClientNotes, clientOf, type Load, type Phase, randomOf, startLoad, startToolkitLoad } from './clients.ts';
import { createInstallation, type Installation } from './installation.ts';
import { type Arrivals, asTheModelSays, createCuts } from './model.ts';
import { TOOLKITS } from './toolkits.ts';

/**
 * Goes through all stages under load, and kills every process on the way. At the end: nothing is
 * lost, nothing is sent twice, and the old server has no change that nobody asked for.
 */
export interface DrillOptions {
  /** How long each stage is under load. */
  readonly stageMs: number;
  readonly seed: number;
  /**
   * PHP's SoapClient, zeep and npm's soap are clients too, where they are installed. The proxy is
   * killed in every stage.
   */
  readonly isLong?: boolean;
  readonly tell?: (line: string) => void;
}

const USERS = USER_IDS.slice(0, 2);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export interface DrillResult {
  readonly kills: number;
  readonly cuts: number;
  readonly calls: number;
  readonly arrivals: number;
  readonly acknowledged: number;
}

/** How many of the calls that copy are cut. */
const CUT_SHARE = 0.15;

export async function runDrill(
  database: string,
  { stageMs, seed, isLong = false, tell = () => {} }: DrillOptions,
): Promise<DrillResult> {
  const data = sampleData(Date.now(), { messages: 30 });
  const site = await createInstallation(database, data, USERS, ODD_DIALECT);
  const arrivals = startArrivals(data, seed);
  const cuts = createCuts(seed, CUT_SHARE);
  const phase: Phase = { reachesColumba: false };
  const loads: Load[] = [];
  const kits: Load[] = [];
  const stopClients = () => Promise.all([...loads, ...kits].map((load) => load.stop()));
  try {
    cuts.apply(site.old);
    await site.startColumba();
    await site.startProxy('record');
    const at = { url: site.url, dialect: ODD_DIALECT, phase };
    loads.push(...USERS.map((userId, index) => startLoad(at, userId, 2, seed + index)));
    if (isLong) kits.push(...startKits(site.url, loads, seed, tell));
    await goThroughStages(site, { stageMs, isLong, tell, loads, cuts, phase });
    arrivals.stop();
    await stopClients();
    cuts.isOn = false;
    tell('everything settles, and is as the model says');
    const notes = loads.map((load) => load.notes);
    await settled(site);
    await asTheModelSays(site, data, notes, arrivals);
    await everyMessageIsSeen(site, loads, data);
    await settled(site);
    await asTheModelSays(site, data, notes, arrivals);
    await nothingIsLost(site, loads, data);
    tell('the schedule is taken over; the command is killed on the way');
    await scheduleIsTakenOver(site, data);
    nothingWasDoneUnasked(loads, data);
    tell('alone: the old server is gone');
    await aloneAnswers(site);
    const sum = (of: (each: ClientNotes) => number) => notes.reduce((total, each) => total + of(each), 0);
    return {
      kills: site.kills + 1, // the command that takes the schedule over
      cuts: cuts.count,
      calls: sum(({ calls }) => calls),
      arrivals: [...arrivals.ids.values()].flat().length,
      acknowledged: sum(({ acknowledged }) => acknowledged.size),
    };
  } finally {
    arrivals.stop();
    await stopClients();
    await site.stop();
  }
}

interface Course extends Required<Pick<DrillOptions, 'stageMs' | 'isLong' | 'tell'>> {
  readonly loads: readonly Load[];
  readonly cuts: ReturnType<typeof createCuts>;
  readonly phase: Phase;
}

/** From record to lead, with kills and cuts, a pass-through, and a step back. */
async function goThroughStages(
  site: Installation,
  { stageMs, isLong, tell, loads, cuts, phase }: Course,
): Promise<void> {
  let syncs = 0;
  const onCuts = async (ms: number) => {
    const until = Date.now() + ms;
    cuts.isOn = true;
    while (Date.now() < until) {
      syncs += 1;
      // A sync that is cut ends there, and the next one goes on.
      await site.sync(USERS[syncs % 2] as string, syncs % 3 === 0).catch(() => {});
      await pause(20);
    }
    cuts.isOn = false;
  };
  tell('record, and import under load, with cuts');
  if (isLong) await proxyIsKilled(site, 'record');
  cuts.isOn = true;
  for (let tries = 0; tries < 3; tries++) await site.importAll();
  cuts.isOn = false;
  await copied(site);
  tell('compare: Columba is killed, and clients do not notice');
  await site.setStage('compare');
  phase.reachesColumba = true;
  await onCuts(stageMs / 2);
  await columbaIsDown(site, loads, stageMs / 2);
  tell('compare: the old server is down, and comes back; the proxy is killed');
  await oldIsDown(site, cuts);
  await onCuts(stageMs / 2);
  await proxyIsKilled(site, 'compare');
  await onCuts(stageMs / 2);
  await proxyIsKilled(site, 'compare');
  tell('lead: Columba is killed, and clients do not notice');
  await copied(site);
  await site.setStage('lead');
  await onCuts(stageMs);
  await columbaIsDown(site, loads, stageMs / 2);
  tell('lead: the old server is down, the proxy is killed');
  await oldIsDown(site, cuts);
  cuts.isOn = true;
  await proxyIsKilled(site, 'lead');
  await onCuts(stageMs / 2);
  await proxyIsKilled(site, 'lead');
  await onCuts(stageMs / 2);
  tell('lead: the proxy passes calls on, and is killed while it does');
  phase.reachesColumba = false;
  await site.togglePassThrough();
  await pause(stageMs / 2);
  await proxyIsKilled(site, 'lead');
  await site.togglePassThrough();
  await pause(stageMs / 4);
  await site.togglePassThrough();
  phase.reachesColumba = true;
  tell('both are killed; back to compare, and lead again');
  await Promise.all([site.killColumba(), site.killProxy()]);
  await site.startColumba();
  await site.startProxy('lead');
  await site.setStage('compare');
  await onCuts(stageMs / 2);
  await site.setStage('lead');
  await onCuts(stageMs / 2);
}

async function oldIsDown(site: Installation, cuts: Course['cuts']): Promise<void> {
  await site.oldDown(500);
  cuts.apply(site.old);
}

function startKits(url: string, loads: readonly Load[], seed: number, tell: (line: string) => void): Load[] {
  return TOOLKITS.flatMap(({ name, peer, start }, index) => {
    if (peer.command === null) {
      tell(`${name} is not installed`);
      return [];
    }
    const user = index % USERS.length;
    const { notes } = loads[user] as Load;
    return [startToolkitLoad(start(peer.command, url), USERS[user] as string, notes, seed * 1_000 + index)];
  });
}

async function proxyIsKilled(site: Installation, stage: string): Promise<void> {
  await site.killProxy();
  await site.startProxy(stage);
}

async function columbaIsDown(site: Installation, loads: readonly Load[], ms: number): Promise<void> {
  const before = loads.map(({ notes }) => notes.failures.length);
  await site.killColumba();
  await pause(ms);
  const since = loads.flatMap(({ notes }, index) => notes.failures.slice(before[index]));
  assert.deepEqual(since, [], 'clients noticed that Columba was down');
  await site.startColumba();
}

/**
 * Messages arrive and are marked all the time, so the counts fit only now and then. That reading
 * marks nothing is what a probe tells before.
 */
async function copied(site: Installation): Promise<void> {
  let told = '';
  for (let tries = 0; tries < 20; tries++) {
    const { accounts, stopped } = await site.importAll();
    if (stopped === null && accounts.every(({ problem }) => problem === null)) return;
    told = `${stopped} ${accounts.map(({ problem }) => problem).join()}`;
  }
  assert.fail(`the import never fits: ${told} ${JSON.stringify(await site.checkAll())}`);
}

/** Messages for both accounts, and some that the old server sends soon. */
function startArrivals(data: OldData, seed: number): Arrivals {
  const random = randomOf(seed + 77);
  const ids = new Map<string, number[]>();
  let next = 0;
  const timer = setInterval(() => {
    const account = data.accounts[next % USERS.length] as OldAccount;
    const id = 100_000 + next;
    const words = { sender: `+2783${next}`, message: `Text ${next}`, shortCode: '31222' };
    account.inbox.push({ id, ...words, at: Date.now(), read: false });
    ids.set(account.username, [...(ids.get(account.username) ?? []), id]);
    if (random() < 0.3) {
      const due = { dueAt: Date.now() + 500 + Math.floor(random() * 5_000), createdAt: Date.now() };
      account.scheduled.push({
        id: 300_000 + next,
        reference: `s${next}`,
        recipient: '+27821234567',
        message: 'Soon',
        ...due,
      });
    }
    next += 1;
  }, 200);
  return { ids, stop: () => clearInterval(timer) };
}

/** The queue of writes is empty, and both sides are equal. */
async function settled(site: Installation): Promise<void> {
  await site.delivered();
  let told = '';
  for (let tries = 0; tries < 10; tries++) {
    await copied(site);
    const checked = await site.checkAll();
    if (checked.every(({ isEqual }) => isEqual)) return;
    told = JSON.stringify(checked);
  }
  assert.fail(`both sides stay different: ${told}`);
}

/** Clients poll until nothing is unread: every message has been given to one of them. */
async function everyMessageIsSeen(site: Installation, loads: readonly Load[], data: OldData): Promise<void> {
  for (const [index, userId] of USERS.entries()) {
    const { notes } = loads[index] as Load;
    const client = createOldServer({ url: site.url, dialect: ODD_DIALECT });
    const { poll } = clientOf(client, userId, notes, randomOf(5));
    for (let rounds = 0; rounds < 500 && (await poll()) > 0; rounds++);
    client.close();
    const account = data.accounts[index] as OldAccount;
    const unseen = account.inbox.filter(({ id }) => id >= 100_000 && !notes.seen.has(String(id)));
    assert.deepEqual(
      unseen.map(({ id }) => id),
      [],
      `${account.username}: arrived, and no client has seen it`,
    );
  }
}

/** What arrived is on both sides, unless a client deleted it. What was acknowledged was done. */
async function nothingIsLost(_site: Installation, loads: readonly Load[], data: OldData): Promise<void> {
  for (const [index, { notes }] of loads.entries()) {
    const account = data.accounts[index] as OldAccount;
    const present = new Set(account.inbox.map(({ id }) => String(id)));
    for (const id of notes.seen) {
      if (!present.has(id))
        assert(notes.asked.has(`inbox.DeleteMessage ${id}`), `${id} is gone, and nobody deleted it`);
    }
    for (const write of notes.acknowledged) {
      const [operation, id = ''] = write.split(' ');
      if (operation === 'inbox.DeleteMessage') assert(!present.has(id), `${id} was deleted, and is there again`);
      const found = account.inbox.find((message) => String(message.id) === id);
      if (operation === 'inbox.MarkMessageAsRead' && found) assert(found.read, `${id} was marked, and is unread again`);
    }
  }
}

async function scheduleIsTakenOver(site: Installation, data: OldData): Promise<void> {
  const before = new Map(data.accounts.slice(0, 2).map((each) => [each.username, each.scheduled.map(({ id }) => id)]));
  let deletes = 0;
  const running = site.launchMigrate('schedule', 'take-over', ...site.both);
  site.old.onCall = (operation) => {
    if (operation === 'compose.DeleteScheduledMessage' && ++deletes === 3) running.child.kill('SIGKILL');
  };
  await running.ended;
  site.old.onCall = () => {};
  const { stdout } = await site.migrate('schedule', 'take-over', ...site.both, '--json');
  const reports = JSON.parse(stdout) as { username: string; messages: { id: string; outcome: string }[] }[];
  for (const { username, messages } of reports) {
    const account = data.accounts.find((each) => each.username === username) as OldAccount;
    const delivered = data.deliveries.filter((each) => each.username === username).map(({ id }) => id);
    assert.equal(new Set(delivered).size, delivered.length, `${username}: the old server sent a message twice`);
    const here = await scheduledAt(site, username);
    for (const id of before.get(username) ?? []) {
      const isThere = account.scheduled.some((message) => message.id === id) || delivered.includes(id);
      const outcome = messages.find((message) => message.id === String(id))?.outcome;
      assert(
        isThere || here.has(id) || outcome === 'unknown-outcome',
        `${username}: the scheduled message ${id} is lost (${outcome})`,
      );
      if (delivered.includes(id)) assert(!here.has(id), `${id} was sent by the old server, and is scheduled here`);
      if (outcome === 'activated')
        assert(!delivered.includes(id), `${id} is activated, and the old server has sent it`);
    }
  }
}

/** The ids that Columba has in its schedule, active or not. */
async function scheduledAt(site: Installation, username: string): Promise<Set<number>> {
  const client = createOldServer({ url: site.url, dialect: ODD_DIALECT });
  const args = { user_id: USERS[username === 'alpha' ? 0 : 1], max: 1_000 };
  const { result } = await client.call('compose', 'FetchScheduledDS', args);
  client.close();
  assert(result.kind === 'value');
  return new Set((result.value as readonly { id: bigint }[]).map(({ id }) => Number(id)));
}

/** Every change at the old server was asked for by a client, or is the take-over. */
function nothingWasDoneUnasked(loads: readonly Load[], data: OldData): void {
  assert.deepEqual(
    data.writes.filter(({ by }) => by === 'reading'),
    [],
  );
  for (const { by, operation, username, target } of data.writes) {
    if (by !== 'client' || operation === 'compose.DeleteScheduledMessage') continue;
    const { notes } = loads[username === 'alpha' ? 0 : 1] as Load;
    assert(notes.asked.has(`${operation} ${target}`), `${operation} ${target} was done at the old server unasked`);
  }
}

async function aloneAnswers(site: Installation): Promise<void> {
  await site.setStage('alone');
  await site.old.close();
  const client = createOldServer({ url: site.url, dialect: ODD_DIALECT });
  const { result } = await client.call('inbox', 'CountRead', { user_id: USERS[0] });
  assert.equal(result.kind, 'value');
  client.close();
}
