import { createRandom, type Random } from '../../test/support/random.ts';
import { createActs, decide, eraseNumber } from './acts.ts';
import { textOf } from './carrier.ts';
import { bodyOf, type Client, HOUR, numberOf, verdict } from './client.ts';
import type { PlanEntry } from './plan.ts';
import { dearestPrice } from './routes.ts';
import type { Setting, SimulatedAccount } from './setup.ts';
import type { World } from './world.ts';

/** The programs and people that use a simulated world. Each act draws from a sequence of its own. */
export type Clients = ReturnType<typeof createClients>;
export function createClients(world: World, setting: Setting) {
  const { scheduler, recorder, seed, outside } = world;
  const { record } = recorder;
  let underWay = 0;
  let messages = 0;
  const client: Client = {
    world,
    setting,
    known: [],
    recent: [],
    wait: (ms) => new Promise((resolve) => scheduler.after(outside, ms, resolve)),
    api: (method, path, body, idempotencyKey) =>
      world.ask((node) =>
        node.api(method, path, {
          token: setting.token,
          ...(body !== undefined && { body }),
          ...(idempotencyKey !== undefined && { idempotencyKey }),
        }),
      ),
    look: (text, ...values) =>
      world
        .observer()
        .prepare(text)
        .get(...values),
  };
  const acts = createActs(client);

  async function perform(random: Random, id: number): Promise<void> {
    if (random.chance(0.5)) {
      messages += 1;
      await send(client, random, id);
    } else await acts(random, id);
  }

  function begin(work: Promise<void>): void {
    underWay += 1;
    work
      .catch((thrown) => record({ kind: 'internal-error', text: `a client: ${(thrown as Error).stack}` }))
      .finally(() => {
        underWay -= 1;
      });
  }

  return {
    act: ({ id }: PlanEntry): void => begin(perform(createRandom(`act ${id}`, seed), id)),
    /** After everything was mended: what is sent leaves within some minutes. Says when to look. */
    lastSend(): { readonly lookAfterMs: number; readonly look: () => void } {
      void sendLast(client);
      const hasLeft = () => recorder.events.some((event) => event.kind === 'submitted' && event.token === LAST_TOKEN);
      return {
        lookAfterMs: LEAVES_WITHIN_MS,
        look: () => {
          const fault = hasLeft() ? null : 'it has not left within ten minutes';
          record({ kind: 'read', what: 'a message that was sent after everything was mended', fault });
        },
      };
    },
    /** Some of what is open is decided, and a person is erased to whom something was sent. */
    lastOrders(): void {
      const random = createRandom('last orders', seed);
      const orders = [() => decide(client, random), () => decide(client, random), () => eraseLast(client, random)];
      for (const order of orders) begin(order());
    },
    /** The operator puts right what the backup has not: everything is open. */
    afterRestore: (): void => begin(openAll(client)),
    messages: () => messages,
    isQuiet: () => underWay === 0,
  };
}

const LAST_TOKEN = '999999';
const LEAVES_WITHIN_MS = 10 * 60_000;

async function openAll({ world, setting, api, wait }: Client): Promise<void> {
  const open = async (what: 'account' | 'connector', name: string, verb: string) => {
    world.recorder.record({ kind: 'opening', what, name });
    while (verdict(await api('POST', `/${what}s/${name}/${verb}`)) !== 'done') await wait(20_000);
  };
  for (const { username } of setting.accounts) await open('account', username, 'enable');
  for (const name of setting.connectors) await open('connector', name, 'resume');
}

/** Nobody writes to or from the number afterwards. */
async function eraseLast(client: Client, random: Random): Promise<void> {
  const rows = client.world.observer().prepare('select distinct recipient from sent order by recipient').all();
  if (rows.length > 0) await eraseNumber(client, String(random.pick(rows).recipient));
}

/** To a number that nobody else uses. */
async function sendLast({ world, setting, api }: Client): Promise<void> {
  const { record } = world.recorder;
  const [{ username }] = setting.accounts as [SimulatedAccount];
  const number = '+27825559999';
  record({ kind: 'send-asked', token: LAST_TOKEN, account: username, number, parts: 1 });
  const answer = await api('POST', `/accounts/${username}/messages`, {
    recipients: [number],
    text: textOf(LAST_TOKEN, 1),
  });
  const [accepted] = (bodyOf(answer).accepted ?? []) as { id: string }[];
  if (accepted) record({ kind: 'accepted', token: LAST_TOKEN, id: accepted.id });
}

/** Sends one message, and repeats the request where it has a key and the answer was lost. */
async function send(client: Client, random: Random, id: number): Promise<void> {
  const { world, setting, known, api, wait } = client;
  const { record } = world.recorder;
  const restores = world.restores();
  const token = String(id).padStart(6, '0');
  const account = random.pick(setting.accounts);
  const isLong = random.chance(0.25);
  const parts = isLong ? 2 : 1;
  const number = numberOf(random);
  const at = world.scheduler.now();
  const sendAt = random.chance(0.4) ? at + random.pick([-HOUR, 300, 4_000, 90_000, 3 * HOUR]) : null;
  const notAfter = random.chance(0.25) ? Math.max(at, sendAt ?? 0) + random.pick([2_000, 60_000, HOUR]) : null;
  record({ kind: 'send-asked', token, account: account.username, number, parts, sendAt, notAfter });
  client.recent.push({ account, number });
  const body = {
    recipients: [number],
    text: textOf(token, isLong ? 25 : 1),
    ...(sendAt !== null && { sendAt: new Date(sendAt).toISOString() }),
    ...(notAfter !== null && { notAfter: new Date(notAfter).toISOString() }),
  };
  const key = random.chance(0.5) ? `key-${token}` : undefined;
  const free = () =>
    BigInt(String(client.look('select credits from account where username = ?', account.username)?.credits));
  for (let tries = 0; tries < (key === undefined ? 1 : 4); tries++) {
    const before = free();
    const answer = await api('POST', `/accounts/${account.username}/messages`, body, key);
    const judged = verdict(answer);
    const isRepeated = tries > 0 && answer.kind === 'done' && answer.value.status === 409;
    if (judged === 'refused' && isRepeated) return; // its first try may go on
    if (judged === 'refused') {
      const fault = faultOfRefusal(
        JSON.stringify(bodyOf(answer)),
        before === free() && before >= BigInt(parts * dearestPrice(setting, account.username, number)),
      );
      if (fault !== null) record({ kind: 'read', what: `the refusal of ${token}`, fault });
      return record({ kind: 'refused', token });
    }
    if (judged === 'done') {
      const [accepted] = (bodyOf(answer).accepted ?? []) as { id: string; heldBy?: string }[];
      if (!accepted) return record({ kind: 'refused', token });
      record({ kind: 'accepted', token, id: accepted.id, ...(accepted.heldBy !== undefined && { isHeld: true }) });
      known.push({ token, account, id: accepted.id });
      if (key !== undefined && random.chance(0.3))
        await sendAgain(client, random, { account, body, key, id: accepted.id });
      if (random.chance(0.4)) await readBack(client, account, token, accepted.id);
      return;
    }
    await wait(random.between(500, 200_000));
    if (restores !== world.restores()) return; // the key may be forgotten, and it would be sent twice
  }
}

/** A client that forgot the answer repeats its request: the answer names the same message. */
async function sendAgain(
  { world, api, wait }: Client,
  random: Random,
  { account, body, key, id }: { account: SimulatedAccount; body: unknown; key: string; id: string },
): Promise<void> {
  const restores = world.restores();
  await wait(random.pick([10, 2_000, 90_000, HOUR]));
  if (restores !== world.restores()) return;
  const answer = await api('POST', `/accounts/${account.username}/messages`, body, key);
  if (verdict(answer) !== 'done') return;
  const [again] = (bodyOf(answer).accepted ?? []) as { id: string }[];
  const fault = again?.id === id ? null : `it names the message ${again?.id} and not ${id}`;
  if (fault !== null) world.recorder.record({ kind: 'read', what: `a repeated request with the key ${key}`, fault });
}

/** A client that lacks credits is told so before the ledger notices, and no other client is. */
function faultOfRefusal(answer: string, hadEnough: boolean): string | null {
  if (/would be below 0/.test(answer)) return 'the ledger had to refuse it';
  return hadEnough && /credits/.test(answer) ? 'it was refused for credits, and enough were free' : null;
}

/** By the contract and on any node: the list of sent or of scheduled messages has it. */
async function readBack(client: Client, account: SimulatedAccount, token: string, id: string): Promise<void> {
  const { world } = client;
  const isThere = () =>
    client.look(
      `select 1 as there from account join sent on sent.account_id = account.account_id where username = ? and message_id = ?
       union all select 1 from account join scheduled on scheduled.account_id = account.account_id where username = ? and message_id = ?`,
      ...[account.username, BigInt(id), account.username, BigInt(id)],
    ) !== undefined;
  const list = async (group: string, operation: string) =>
    world.ask((node) => node.call(group, operation, { user_id: account.userId, max: '1000' }));
  const wasThere = isThere();
  const scheduled = await list('compose', 'FetchScheduledDS');
  const sent = await list('sent', 'FetchSentDS');
  if (scheduled.kind === 'lost' || sent.kind === 'lost' || !wasThere || !isThere()) return;
  if (scheduled.value.status !== 200 || sent.value.status !== 200) return;
  const isListed = [scheduled, sent].some(({ value }) => value.text.includes(`#${token}#`));
  const what = `the lists of ${account.username}`;
  world.recorder.record({ kind: 'read', what, fault: isListed ? null : `${token} was accepted and is not in them` });
}
