import { readAccount } from '../../src/transfer/account-json.ts';
import type { Random } from '../../test/support/random.ts';
import { textOf } from './carrier.ts';
import { type Client, HOUR, numberOf, verdict } from './client.ts';

const MESSAGES_MAX = 3;
const CREDITS = 50n;
/** Acts have numbers below a thousand, so these tokens are nobody else's. */
const FIRST_TOKEN = 100_000;

/**
 * An account comes from another server with its schedule. The command repeats the import until it
 * has an answer, and perhaps once more. Nothing is sent before an operator activates the schedule.
 */
export async function importAccount(client: Client, random: Random, id: number): Promise<void> {
  const { world, setting, api, wait } = client;
  const { record } = world.recorder;
  const restores = world.restores();
  const isLate = () => restores !== world.restores();
  const username = `moved-${id}`;
  const at = world.scheduler.now();
  const messages = Array.from({ length: random.between(1, MESSAGES_MAX) }, (_, place) => ({
    id: String(place + 1),
    token: String(FIRST_TOKEN + 10 * id + place),
    recipient: numberOf(random),
    sendAt: at + random.pick([-HOUR, 2_000, 60_000, HOUR]),
  }));
  for (const { token, recipient, sendAt } of messages) {
    record({ kind: 'send-asked', token, account: username, number: recipient, parts: 1, sendAt, imported: true });
  }
  const given = { account: username, act: `import-${id}`, amount: CREDITS + BigInt(messages.length) };
  record({ kind: 'credits-asked', ...given });
  const file = {
    username,
    userID: `user-${id}`,
    credits: String(CREDITS),
    usedCredits: '0',
    transmissionPriority: 0,
    tag: 0,
    datetimeCreated: new Date(at).toISOString(),
    scheduled: messages.map(({ id: number, token, recipient, sendAt }) => ({
      id: number,
      recipient,
      message: textOf(token, 1),
      timestamp_scheduled: new Date(sendAt).toISOString(),
      timestamp_created: new Date(at).toISOString(),
    })),
  };
  const load = () =>
    world.ask(async (node) => node.services.archive.update(await readAccount(file, world.scheduler.now(), true)));
  while ((await load()).kind !== 'done') {
    await wait(random.between(100, 30_000));
    if (isLate()) return;
  }
  setting.imported.push(username);
  record({ kind: 'credits-moved', ...given });
  for (const { id: number, token } of messages) record({ kind: 'accepted', token, id: number });
  if (random.chance(0.3)) await load();
  await wait(random.pick([10, 5_000, 90_000]));
  record({ kind: 'activation-asked', account: username });
  // Until an answer comes. After a restore the account may be gone.
  while (!isLate() && verdict(await api('POST', `/accounts/${username}/messages/activate`, {})) !== 'done') {
    await wait(random.between(100, 30_000));
  }
}
