import type { Random } from '../../test/support/random.ts';
import { textOf, tokenOf } from './carrier.ts';
import { bodyOf, type Client, HOUR, verdict } from './client.ts';
import type { SimulatedAccount } from './setup.ts';

/** What people do in the console and by commands: new times, messages that are held, replies. */

/** A scheduled message gets another time, which may be before or after its old one. */
export async function reschedule(client: Client, random: Random): Promise<void> {
  const { world, known, api } = client;
  const { record } = world.recorder;
  const scheduled = world
    .observer()
    .prepare(
      `select username, message_id as id, text from scheduled join account on account.account_id = scheduled.account_id
       order by username, message_id`,
    )
    .all()
    .filter(({ id }) => known.some((each) => each.id === String(id)));
  if (scheduled.length === 0) return;
  const { username, id, text } = random.pick(scheduled);
  const token = tokenOf(String(text));
  if (token === undefined) return;
  const sendAt = world.scheduler.now() + random.pick([2_000, 30_000, HOUR, 5 * HOUR]);
  record({ kind: 'reschedule-asked', token, sendAt });
  const body = { ids: [String(id)], sendAt: new Date(sendAt).toISOString() };
  const answer = await api('POST', `/accounts/${username}/messages/reschedule`, body);
  if (verdict(answer) === 'done' && bodyOf(answer).moved === 1) record({ kind: 'rescheduled', token, sendAt });
}

/** An operator lets a message go that the spend guard holds, or refuses it. */
export async function judgeHeld({ world, api }: Client, random: Random): Promise<void> {
  const rows = world
    .observer()
    .prepare(
      `select username, dispatch.message_id as id, text from dispatch join account on account.account_id = dispatch.account_id
       join sent on sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id
       where state = 'held' order by username, id`,
    )
    .all();
  if (rows.length === 0) return;
  const { username, id, text } = random.pick(rows);
  const token = tokenOf(String(text));
  if (token === undefined) return;
  const verb = random.pick(['release', 'release', 'refuse'] as const);
  world.recorder.record({ kind: verb === 'release' ? 'release-asked' : 'refusal-asked', token });
  const judged = verdict(await api('POST', `/accounts/${username}/messages/${id}/${verb}`));
  if (judged === 'done' && verb === 'refuse') world.recorder.record({ kind: 'held-refused', token });
}

/** A person of the account answers in a conversation, and presses the button twice or again. */
export async function reply(client: Client, random: Random, id: number): Promise<void> {
  const { world, setting, wait, known, recent, look } = client;
  const { record } = world.recorder;
  const restores = world.restores();
  const account = random.pick(setting.accounts);
  const sender = look(
    `select sender from received join account on account.account_id = received.account_id
     where username = ? order by message_id desc limit 1`,
    account.username,
  )?.sender;
  if (sender === undefined) return;
  const cookie = await signedIn(client, account);
  if (cookie === undefined) return;
  const token = String(id).padStart(6, '0');
  const number = String(sender);
  record({ kind: 'send-asked', token, account: account.username, number, parts: 1, sendAt: null, notAfter: null });
  recent.push({ account, number });
  const fields = { with: number, key: `reply-${token}`, text: textOf(token, 1) };
  const press = () => world.ask((node) => node.browse('/console/conversation', cookie, fields));
  const found = () =>
    look(
      `select message_id as id from sent join account on account.account_id = sent.account_id where username = ? and text = ?
       union all select message_id from scheduled join account on account.account_id = scheduled.account_id
       where username = ? and text = ?`,
      ...[account.username, fields.text, account.username, fields.text],
    )?.id;
  for (let tries = 0; tries < 3; tries++) {
    const answers = await Promise.all(random.chance(0.5) ? [press(), press()] : [press()]);
    const told = answers.filter((each) => each.kind === 'done' && each.value.status < 500);
    const isSent = told.some((each) => each.kind === 'done' && each.value.status === 303);
    if (isSent) {
      const message = found();
      if (message === undefined) return; // it has been erased, or taken back
      record({ kind: 'accepted', token, id: String(message) });
      known.push({ token, account, id: String(message) });
      return;
    }
    if (told.length === answers.length && tries === 0 && found() === undefined)
      return record({ kind: 'refused', token });
    await wait(random.between(500, 60_000));
    if (restores !== world.restores()) return; // its key and its session may be forgotten
  }
}

async function signedIn({ world, api }: Client, { username }: SimulatedAccount): Promise<string | undefined> {
  const link = /[A-Za-z0-9_-]{43}/.exec(
    JSON.stringify(bodyOf(await api('POST', `/accounts/${username}/sign-in-link`, {}))),
  )?.[0];
  if (link === undefined) return undefined;
  const answer = await world.ask((node) => node.browse(`/console/sign-in/${link}`, undefined, {}));
  return answer.kind === 'done' ? answer.value.cookie : undefined;
}
