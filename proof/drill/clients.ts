import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { createOldServer, type OldServer } from '../../src/migration/old-server/old-server.ts';
import { asClient, type Toolkit } from './toolkits.ts';

/**
 * Clients of one account under load: they poll, mark and delete, in all four protocols. They note
 * what they asked for and what was acknowledged.
 */
export interface ClientNotes {
  /** Ids that Unread gave to a client. */
  readonly seen: Set<string>;
  /** Writes that were sent, acknowledged or not: `inbox.DeleteMessage 5000`. */
  readonly asked: Set<string>;
  readonly acknowledged: Set<string>;
  /** Acknowledged numbers of the blacklist, from the stage compare on: no copy brings earlier ones. */
  readonly blacklisted: Set<string>;
  calls: number;
  /** Calls without a useful answer: faults, and connections that broke. */
  readonly failures: string[];
}

export const newNotes = (): ClientNotes => ({
  seen: new Set(),
  asked: new Set(),
  acknowledged: new Set(),
  blacklisted: new Set(),
  calls: 0,
  failures: [],
});

const PROTOCOLS = ['soap11', 'soap12', 'get', 'post'] as const;

export interface Load {
  readonly notes: ClientNotes;
  stop(): Promise<void>;
}

/** A small generator of numbers that can be repeated. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** What the drill tells its clients. */
export interface Phase {
  /** Whether writes reach Columba: not before the stage compare, and not in a pass-through. */
  reachesColumba: boolean;
}

export function startLoad(
  { url, dialect, phase }: { readonly url: string; readonly dialect: Dialect; readonly phase: Phase },
  userId: string,
  clients: number,
  seed: number,
): Load {
  const notes = newNotes();
  let isStopped = false;
  const loops = Array.from({ length: clients }, async (_, index) => {
    const random = randomOf(seed * 100 + index + 1);
    const old = createOldServer({ url, dialect, timeoutMs: 10_000 });
    const client = clientOf(old, userId, notes, random, phase);
    while (!isStopped) {
      await client.act();
      await pause(5 + random() * 20);
    }
    old.close();
  });
  return {
    notes,
    async stop() {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

/** The same by a real toolkit, with the dialect that it reads from the WSDL. */
export function startToolkitLoad(toolkit: Toolkit, userId: string, notes: ClientNotes, seed: number): Load {
  const random = randomOf(seed);
  let isStopped = false;
  const loop = async () => {
    const client = clientOf(asClient(toolkit), userId, notes, random);
    while (!isStopped) {
      await client.act();
      // Programs start again now and then, and read the WSDL of whoever answers.
      if (random() < 0.02) await toolkit.reload();
      await pause(20 + random() * 50);
    }
    await toolkit.close();
  };
  const looping = loop();
  return {
    notes,
    async stop() {
      isStopped = true;
      await looping;
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

type Row = Readonly<Record<string, unknown>>;

export function clientOf(
  old: Pick<OldServer, 'call'>,
  userId: string,
  notes: ClientNotes,
  random: () => number,
  phase: Phase = { reachesColumba: false },
) {
  const call = async (name: string, args: Row = {}): Promise<unknown> => {
    const [group = '', operation = ''] = name.split('.');
    const protocol = PROTOCOLS[Math.floor(random() * 4)] as (typeof PROTOCOLS)[number];
    notes.calls += 1;
    try {
      const { result } = await old.call(group, operation, { user_id: userId, ...args }, { protocol });
      if (result.kind === 'value') return result.value;
      notes.failures.push(
        `${name} ${protocol}: ${result.kind === 'fault' ? `${result.code} ${result.text}` : result.reason}`,
      );
    } catch (thrown) {
      notes.failures.push(`${name}: ${(thrown as Error).message}`);
    }
    return undefined;
  };
  const write = async (name: string, args: Row, target: string): Promise<boolean> => {
    notes.asked.add(`${name} ${target}`);
    const isDone = (await call(name, args)) === true;
    if (isDone) notes.acknowledged.add(`${name} ${target}`);
    return isDone;
  };
  const rowsOf = async (name: string, args: Row): Promise<readonly Row[]> =>
    ((await call(name, args)) as readonly Row[] | undefined) ?? [];
  const poll = async (): Promise<number> => {
    const unread = await rowsOf('inbox.Unread', { max_count: 50 });
    for (const { id } of unread) notes.seen.add(String(id));
    for (const { id } of unread.slice(0, 3)) {
      const isMarked = await write('inbox.MarkMessageAsRead', { message_id: String(id) }, String(id));
      if (isMarked && random() < 0.3) await write('inbox.DeleteMessage', { message_id: String(id) }, String(id));
    }
    return unread.length;
  };
  return {
    poll,
    async act(): Promise<void> {
      const choice = random();
      if (choice < 0.4) await poll();
      else if (choice < 0.5) await call('inbox.CountUnread');
      else if (choice < 0.6)
        await rowsOf('inbox.Read', { from: Date.now() - 3_600_000, to: Date.now(), max_count: 10 });
      else if (choice < 0.75) {
        const [first] = await rowsOf('sent.FetchSentDS', { max: 20 });
        if (first && random() < 0.5) await write('sent.MarkMessageAsRead', { id: first.id }, String(first.id));
      } else if (choice < 0.8) await rowsOf('compose.FetchScheduledDS', { max: 50 });
      else if (choice < 0.87) await rowsOf('account.FetchContacts', {});
      else if (choice < 0.93) await call('account.Profile');
      else {
        const message = `Template ${Math.floor(random() * 1e9)}`;
        await write('account.SaveMessageTemplate', { message }, message);
        if (random() < 0.5) await write('account.DeleteMessageTemplate', { message }, message);
        const { reachesColumba } = phase;
        const mobile = `+2784${1_000_000 + Math.floor(random() * 8e6)}`;
        const isDone = await write('account.BlackListNumber', { mobile, sample_message: '' }, mobile);
        if (isDone && reachesColumba && phase.reachesColumba) notes.blacklisted.add(mobile);
      }
    },
  };
}
