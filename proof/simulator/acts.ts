import type { Random } from '../../test/support/random.ts';
import { bodyOf, type Client, HOUR, numberOf, verdict } from './client.ts';
import { importAccount } from './imports.ts';
import { VERSION } from './observe.ts';
import { judgeHeld, reply, reschedule } from './people.ts';
import type { SimulatedAccount } from './setup.ts';

/** What clients and operators do besides sending. */
type Act = (client: Client, random: Random, id: number) => Promise<void>;

export function createActs(client: Client): (random: Random, id: number) => Promise<void> {
  const all = WEIGHTED.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));
  return (random, id) => random.pick(all)(client, random, id);
}

async function cancel({ world, known, api }: Client, random: Random): Promise<void> {
  if (known.length === 0) return;
  const [{ token, account, id }] = known.splice(random.below(known.length), 1) as [(typeof known)[number]];
  const { record } = world.recorder;
  record({ kind: 'cancel-asked', token });
  if (random.chance(0.4)) {
    const fields = { user_id: account.userId, message_id: id };
    const answer = await world.ask((node) => node.call('compose', 'DeleteScheduledMessage', fields));
    if (answer.kind === 'lost' || answer.value.status !== 200) return;
    return record({ kind: />true</.test(answer.value.text) ? 'cancelled' : 'cancel-refused', token });
  }
  const judged = verdict(await api('DELETE', `/accounts/${account.username}/messages/${id}`));
  if (judged === 'done') record({ kind: 'cancelled', token });
  if (judged === 'refused') record({ kind: 'cancel-refused', token });
}

async function deleteSent({ world, known }: Client, random: Random): Promise<void> {
  if (known.length === 0) return;
  const [{ token, account, id }] = known.splice(random.below(known.length), 1) as [(typeof known)[number]];
  world.recorder.record({ kind: 'delete-asked', token });
  const fields = { user_id: account.userId, message_id: id };
  const answer = await world.ask((node) => node.call('sent', 'DeleteSentMessage', fields));
  if (answer.kind === 'done' && />true</.test(answer.value.text)) world.recorder.record({ kind: 'deleted', token });
}

async function balances({ world, setting, api }: Client, random: Random): Promise<void> {
  const { username } = random.pick(setting.accounts);
  const answer = await api('GET', `/accounts/${username}/credits`);
  if (verdict(answer) !== 'done') return;
  const { free, held, used } = bodyOf(answer) as Record<string, string>;
  const sums = [free, held, used].map((amount) => BigInt(amount as string));
  const negative = sums.find((amount) => amount < 0n);
  if (negative !== undefined)
    world.recorder.record({ kind: 'read', what: `credits of ${username}`, fault: `${negative}` });
}

/** The answer of the contract, which may be a cached one, is what the database has. */
async function profile({ world, setting, look }: Client, random: Random): Promise<void> {
  const { username, userId } = random.pick(setting.accounts);
  const stored = () => String(look('select credits from account where username = ?', username)?.credits);
  const before = stored();
  const answer = await world.ask((node) => node.call('account', 'Profile', { user_id: userId }));
  if (answer.kind === 'lost' || answer.value.status !== 200 || before !== stored()) return;
  const shown = /<credits>(-?\d+)<\/credits>/i.exec(answer.value.text)?.[1];
  const fault = shown === before ? null : `it shows ${shown} credits, and ${before} are stored`;
  if (fault !== null) world.recorder.record({ kind: 'read', what: `Profile of ${username}`, fault });
}

async function optOut(client: Client, random: Random): Promise<void> {
  const { world, setting, api, recent } = client;
  const any = { account: random.pick(setting.accounts), number: numberOf(random) };
  const last = random.chance(0.7) ? recent.at(-1 - random.below(4)) : undefined;
  const { account, number } = (random.chance(0.6) ? onItsWay(client, random) : undefined) ?? last ?? any;
  const { username, userId } = account;
  const { record } = world.recorder;
  record({ kind: 'opt-out-asked', account: username, number });
  if (random.chance(0.5)) {
    const fields = { user_id: userId, mobile: number, sample_message: 'no' };
    const answer = await world.ask((node) => node.call('account', 'BlackListNumber', fields));
    if (answer.kind === 'done' && answer.value.status === 200) optedOut(client, username, number);
    return;
  }
  const answer = await api('POST', `/accounts/${username}/blacklist`, { number });
  if (verdict(answer) === 'done') optedOut(client, username, number);
}

/** To whom a message is on its way: it waits, a carrier is asked, or nobody knows whether one has it. */
function onItsWay({ world, setting }: Client, random: Random) {
  const state = random.pick(['waiting', 'waiting', 'submitting', 'unknown-outcome']);
  const rows = world
    .observer()
    .prepare(
      `select username, recipient from dispatch join account on account.account_id = dispatch.account_id
       where state = ? and is_scheduled = 0 and is_answer = 0 and recipient is not null order by dispatch.account_id, message_id`,
    )
    .all(state);
  if (rows.length === 0) return undefined;
  const { username, recipient } = random.pick(rows);
  const account = setting.accounts.find((each) => each.username === username);
  return account && { account, number: String(recipient) };
}

/** Nothing for the number waits any more, unless it has opted in since. */
function optedOut({ world, look }: Client, account: string, number: string): void {
  const { record, events } = world.recorder;
  record({ kind: 'opted-out', account, number });
  const isOpen = events.some(
    (event) => event.kind === 'opt-in-asked' && event.account === account && event.number === number,
  );
  const waiting = look(
    `select (select count(*) from scheduled where scheduled.account_id = account.account_id and recipient = ?)
       + (select count(*) from dispatch where dispatch.account_id = account.account_id and recipient = ? and state = 'waiting'
          and is_answer = 0) as count from account where username = ?`,
    number,
    number,
    account,
  )?.count;
  const fault = isOpen || Number(waiting) === 0 ? null : `${waiting} messages for ${number} wait`;
  if (fault !== null) record({ kind: 'read', what: `the opt-out from ${account}`, fault });
}

async function optIn({ world, setting, api }: Client, random: Random): Promise<void> {
  const { username } = random.pick(setting.accounts);
  const number = numberOf(random);
  world.recorder.record({ kind: 'opt-in-asked', account: username, number });
  await api('DELETE', `/accounts/${username}/blacklist/${encodeURIComponent(number)}`);
}

/** A person writes to an account, perhaps in parts, and the carrier brings it until it is taken. */
async function incoming({ world, setting, wait }: Client, random: Random, id: number): Promise<void> {
  const { record } = world.recorder;
  const account = random.chance(0.9) ? random.pick(setting.accounts) : null;
  const name = `in-${id}`;
  const restores = world.restores();
  const sender = numberOf(random);
  const word = account?.hasStopWords && random.chance(0.4) ? random.pick(['STOP', 'STOP', 'START']) : null;
  const at = world.scheduler.now();
  const total = word === null && random.chance(0.3) ? random.between(2, 3) : 1;
  const reference = random.below(256);
  const username = account?.username ?? null;
  record({ kind: 'incoming', incoming: name, account: username, sender });
  if (word === 'STOP') record({ kind: 'opt-out-asked', account: username as string, number: sender });
  if (word === 'START') record({ kind: 'opt-in-asked', account: username as string, number: sender });
  const hasId = random.chance(0.7);
  const connector = random.pick(setting.connectors);
  const bring = async (part: number): Promise<void> => {
    const text = part === 1 ? `${word ?? ''}${word === null ? `<${name}>` : ''}` : `part ${part}`;
    const message = {
      connector,
      gatewayId: hasId ? `m${id}` : null,
      sender,
      destination: account?.number ?? '+27609999999',
      text: text || `<${name}>`,
      receivedAt: at,
      part: total > 1 ? { reference, total, number: part } : null,
    };
    for (;;) {
      const answer = await world.ask((node) => node.carrierEvents.incoming(message));
      if (answer.kind === 'done') return;
      await wait(random.between(100, 30_000));
    }
  };
  const order = [1, 2, 3].slice(0, total).sort(() => random.next() - 0.5);
  for (const part of order) {
    if (random.chance(0.3)) await wait(random.below(4_000));
    await bring(part);
    if (random.chance(0.3)) await bring(part);
  }
  if (restores !== world.restores()) return; // some of it may be lost
  if (word === 'STOP') record({ kind: 'opted-out', account: username as string, number: sender });
  else if (word === null) record({ kind: 'incoming-taken', incoming: name, account: username, sender });
}

export async function decide({ world, setting, api }: Client, random: Random): Promise<void> {
  const rows = world
    .observer()
    .prepare(
      `select username, dispatch.message_id as id, text from dispatch join account on account.account_id = dispatch.account_id
       join sent on sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id
       where state in ('unknown-outcome', 'needs-decision') order by username, id`,
    )
    .all();
  if (rows.length === 0 || setting.accounts.length === 0) return;
  const { username, id, text } = random.pick(rows);
  const token = /#(\d{6})#/.exec(String(text))?.[1];
  if (token === undefined) return;
  const decision = random.pick(['submitted', 'not-submitted', 'submit-again']);
  world.recorder.record({ kind: 'decision-asked', token, decision });
  const answer = await api('POST', `/accounts/${username}/messages/${id}/decide`, { decision });
  if (verdict(answer) === 'done') world.recorder.record({ kind: 'decided', token });
}

/** Stops something and lets it go on later. */
function closing(what: 'account' | 'connector'): Act {
  const verbs = what === 'account' ? ['disable', 'enable'] : ['pause', 'resume'];
  return async (client, random) => {
    const { world, setting, api, wait, recent } = client;
    // Mostly one whose messages are on their way.
    const account = (random.chance(0.5) ? onItsWay(client, random) : recent.at(-1))?.account;
    const { username } = account ?? random.pick(setting.accounts);
    const name = what === 'account' ? username : random.pick(setting.connectors);
    const { record } = world.recorder;
    if (verdict(await api('POST', `/${what}s/${name}/${verbs[0]}`)) === 'done') record({ kind: 'closed', what, name });
    await wait(random.pick([1_000, 30_000, HOUR]));
    record({ kind: 'opening', what, name });
    while (verdict(await api('POST', `/${what}s/${name}/${verbs[1]}`)) !== 'done') await wait(20_000);
    // Another client may have closed it meanwhile, and this has opened it.
    record({ kind: 'opening', what, name });
  };
}

async function reroute({ setting, api }: Client, random: Random): Promise<void> {
  const { username } = random.pick(setting.accounts);
  await api('PATCH', `/accounts/${username}`, { connector: random.pick([null, ...setting.connectors]) });
}

/** Often so that exactly one or two are left: the last ones can be used, and no more. */
async function credits({ world, setting, api, look }: Client, random: Random, id: number): Promise<void> {
  const account: SimulatedAccount = random.chance(0.7)
    ? (setting.accounts.at(-1) as SimulatedAccount)
    : random.pick(setting.accounts);
  const free = BigInt(String(look('select credits from account where username = ?', account.username)?.credits));
  const isToBeLeft = account.low !== null && random.chance(0.5);
  const amount = isToBeLeft ? BigInt(random.pick([1, 2])) - free : BigInt(random.pick([6, 3, 1, -2]));
  if (amount === 0n) return;
  const { record } = world.recorder;
  const move = { account: account.username, act: `credits-${id}`, amount };
  record({ kind: 'credits-asked', ...move });
  const path = `/accounts/${account.username}/credits/movements`;
  const judged = verdict(await api('POST', path, { amount: String(amount), reason: 'simulated' }));
  if (judged === 'done') record({ kind: 'credits-moved', ...move });
  if (judged === 'refused') record({ kind: 'credits-asked', ...move, amount: -amount }); // it was not done
}

const erase = (client: Client, random: Random): Promise<void> => eraseNumber(client, numberOf(random));

export async function eraseNumber({ world, api }: Client, number: string): Promise<void> {
  world.recorder.record({ kind: 'erase-asked', number });
  if (verdict(await api('DELETE', `/persons/${encodeURIComponent(number)}`)) === 'done') {
    world.recorder.record({ kind: 'erased', number });
  }
}

async function markSent({ world, known, look }: Client, random: Random): Promise<void> {
  if (known.length === 0) return;
  const { account, id } = random.pick(known);
  const updated = () =>
    String(
      look(
        `select ${VERSION} as version from sent join account on account.account_id = sent.account_id where username = ? and message_id = ?`,
        account.username,
        BigInt(id),
      )?.version,
    );
  const before = updated();
  const answer = await world.ask((node) => node.call('sent', 'MarkMessageAsRead', { user_id: account.userId, id }));
  if (answer.kind === 'lost' || !/>true</.test(answer.value.text) || before !== updated()) return;
  world.recorder.record({ kind: 'marked', list: 'sent', account: account.username, id, updatedAt: before });
}

async function markRead({ world, setting }: Client, random: Random): Promise<void> {
  const { username, userId } = random.pick(setting.accounts);
  const unread = await world.ask((node) => node.call('inbox', 'Unread', { user_id: userId, max_count: '5' }));
  const id = unread.kind === 'done' ? /<messageId>(\d+)</i.exec(unread.value.text)?.[1] : undefined;
  if (id === undefined) return;
  const answer = await world.ask((node) =>
    node.call('inbox', 'MarkMessageAsRead', { user_id: userId, message_id: id }),
  );
  if (answer.kind === 'done' && />true</.test(answer.value.text)) {
    world.recorder.record({ kind: 'marked', list: 'inbox', account: username, id });
  }
}

/** Two people open one link at the same time. */
async function signIn({ world, setting, api }: Client, random: Random): Promise<void> {
  const { username } = random.pick(setting.accounts);
  const answer = await api('POST', `/accounts/${username}/sign-in-link`, {});
  const link = /[A-Za-z0-9_-]{43}/.exec(JSON.stringify(bodyOf(answer)))?.[0];
  if (link === undefined) return;
  const origin = { address: '192.0.2.1', agent: 'simulator' };
  const redeem = () =>
    world.ask((node) =>
      node.signIn.redeemLink(link, origin).then(
        () => true,
        () => false,
      ),
    );
  const answers = await Promise.all([redeem(), redeem()]);
  const count = answers.filter((each) => each.kind === 'done' && each.value).length;
  const fault = count > 1 ? 'it was redeemed twice' : null;
  if (fault !== null) world.recorder.record({ kind: 'read', what: 'a sign-in link', fault });
}

async function rotate({ world, setting, api, look }: Client, random: Random): Promise<void> {
  const { id, url } = random.pick(setting.webhooks);
  await api('POST', `/webhooks/${id}/rotate`);
  world.receivers.addSecret(url, String(look('select secret from webhook where url = ?', url)?.secret));
}

const WEIGHTED: readonly (readonly [weight: number, act: Act])[] = [
  [14, cancel],
  [4, deleteSent],
  [6, balances],
  [8, profile],
  [8, optOut],
  [4, optIn],
  [16, incoming],
  [8, decide],
  [5, closing('account')],
  [3, closing('connector')],
  [3, reroute],
  [8, credits],
  [2, erase],
  [6, markSent],
  [4, markRead],
  [3, signIn],
  [1, rotate],
  [3, importAccount],
  [8, reschedule],
  [8, judgeHeld],
  [5, reply],
];
