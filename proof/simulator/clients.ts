import { textOf } from './carrier.ts';
import type { PlanEntry } from './plan.ts';
import { createRandom, type Random } from './random.ts';
import type { Setting, SimulatedAccount } from './setup.ts';
import type { World } from './world.ts';

/** The programs and people that use a simulated world. Each act draws from a sequence of its own. */
export type Clients = ReturnType<typeof createClients>;

interface Known {
  readonly token: string;
  readonly account: SimulatedAccount;
  readonly id: string;
}
const HOUR = 3_600_000;

export function createClients(world: World, { token: secret, accounts, connectors }: Setting) {
  const { scheduler, recorder, seed, outside } = world;
  const { record } = recorder;
  const known: Known[] = [];
  let underWay = 0;
  let messages = 0;

  const wait = (ms: number) => new Promise<void>((resolve) => scheduler.after(outside, ms, resolve));
  const api = (method: string, path: string, body?: unknown, idempotencyKey?: string) =>
    world.ask((node) =>
      node.api(method, path, {
        token: secret,
        ...(body !== undefined && { body }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      }),
    );
  type Body = Record<string, unknown>;
  /** What was done for certain, was refused for certain, or neither. */
  const verdict = (answer: Awaited<ReturnType<typeof api>>): 'done' | 'refused' | 'unknown' => {
    if (answer.kind === 'lost' || answer.value.status >= 500 || answer.value.status === 429) return 'unknown';
    return answer.value.status < 300 ? 'done' : 'refused';
  };
  const bodyOf = (answer: Awaited<ReturnType<typeof api>>): Body =>
    answer.kind === 'done' ? ((answer.value.body ?? {}) as Body) : {};

  async function send(random: Random, id: number): Promise<void> {
    const token = String(id).padStart(6, '0');
    const account = random.pick(accounts);
    const isLong = random.chance(0.25);
    const number = numberOf(random);
    const at = scheduler.now();
    const sendAt = random.chance(0.4) ? at + random.pick([-HOUR, 300, 4_000, 90_000, 3 * HOUR]) : null;
    const notAfter = random.chance(0.25) ? Math.max(at, sendAt ?? 0) + random.pick([2_000, 60_000, HOUR]) : null;
    messages += 1;
    record({ kind: 'send-asked', token, account: account.username, number, parts: isLong ? 2 : 1, sendAt, notAfter });
    const body = {
      recipients: [number],
      text: textOf(token, isLong ? 25 : 1),
      ...(sendAt !== null && { sendAt: new Date(sendAt).toISOString() }),
      ...(notAfter !== null && { notAfter: new Date(notAfter).toISOString() }),
    };
    const key = random.chance(0.5) ? `key-${token}` : undefined;
    const tries = key === undefined ? 1 : 4;
    for (let each = 0; each < tries; each++) {
      const answer = await api('POST', `/accounts/${account.username}/messages`, body, key);
      const judged = verdict(answer);
      if (judged === 'refused' && each > 0 && answer.kind === 'done' && answer.value.status === 409) return; // its first try may go on
      if (judged === 'refused') return record({ kind: 'refused', token });
      if (judged === 'done') {
        const [accepted] = (bodyOf(answer).accepted ?? []) as { id: string }[];
        if (!accepted) return record({ kind: 'refused', token });
        record({ kind: 'accepted', token, id: accepted.id });
        known.push({ token, account, id: accepted.id });
        return;
      }
      await wait(random.between(500, 200_000));
    }
  }

  async function cancel(random: Random): Promise<void> {
    if (known.length === 0) return;
    const [message] = known.splice(random.below(known.length), 1) as [Known];
    const { token, account, id } = message;
    record({ kind: 'cancel-asked', token });
    const judged = verdict(await api('DELETE', `/accounts/${account.username}/messages/${id}`));
    if (judged === 'done') record({ kind: 'cancelled', token });
    if (judged === 'refused') record({ kind: 'cancel-refused', token });
  }

  async function balances(account: SimulatedAccount): Promise<void> {
    const answer = await api('GET', `/accounts/${account.username}/credits`);
    if (verdict(answer) !== 'done') return;
    const { free, held, used } = bodyOf(answer) as Record<string, string>;
    record({
      kind: 'balances',
      account: account.username,
      granted: account.credits,
      free: BigInt(free as string),
      held: BigInt(held as string),
      used: BigInt(used as string),
    });
  }

  async function pause(random: Random): Promise<void> {
    const name = random.pick(connectors);
    if (verdict(await api('POST', `/connectors/${name}/pause`)) === 'done')
      record({ kind: 'closed', what: 'connector', name });
    await wait(random.pick([1_000, 30_000, HOUR]));
    record({ kind: 'opening', what: 'connector', name });
    while (verdict(await api('POST', `/connectors/${name}/resume`)) !== 'done') await wait(20_000);
  }

  async function perform(random: Random, id: number): Promise<void> {
    const way = random.below(100);
    if (way < 60) await send(random, id);
    else if (way < 75) await cancel(random);
    else if (way < 95) await balances(random.pick(accounts));
    else await pause(random);
  }

  return {
    act({ id }: PlanEntry): void {
      underWay += 1;
      perform(createRandom(seed, `act ${id}`), id).then(
        () => {
          underWay -= 1;
        },
        (thrown) => {
          underWay -= 1;
          record({ kind: 'internal-error', text: `a client: ${thrown}` });
        },
      );
    },
    messages: () => messages,
    isQuiet: () => underWay === 0,
    pendingReason: (_token: string): string | null => null,
    /** Everything that was stopped goes on. */
    async settle(): Promise<void> {},
  };
}

const numberOf = (random: Random): string => `+2782555${String(1_000 + random.below(12))}`;
