import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createAccount } from '../../src/domain/accounts/accounts.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { type Server, serving } from '../../test/support/command.ts';
import { until } from '../../test/support/postgres-engines.ts';
import { message } from '../../test/support/sending.ts';
import { addAccounts, type CitusCluster, createCluster, onCitus, show, userOf } from './cluster.ts';
import { createLossyNetwork, type LossyNetwork } from './packet-loss.ts';

const NAME = 'silent';
/** Their ids are random: with so many, both workers have some. */
const CLIENTS = 16;
const MESSAGES = 1_000;
/** Longer than citus.node_connection_timeout. */
const TIMEOUT_MS = 4_000;
const PAUSE_MS = 50;
/**
 * How often an account of the other worker is answered while one of its accounts waits for the time-out. Where both are in
 * one question it is about once or twice, and else about 50 times.
 */
const ANSWERED_MIN = 10;
const LONG = { timeout: 300_000 };

interface Reply {
  readonly client: number;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
  readonly ms: number;
}

onCitus('a worker whose network loses everything', () => {
  let cluster: CitusCluster;
  let network: LossyNetwork;
  let service: Server;
  let away: Set<number>;
  before(async () => {
    const networks: LossyNetwork[] = [];
    cluster = await createCluster(2, [], async ({ port }) => {
      networks.push(await createLossyNetwork(port));
      return (networks.at(-1) as LossyNetwork).port;
    });
    network = networks[0] as LossyNetwork;
    show(`the network to a worker is ${network.kind}`);
    after(() => Promise.all(networks.map((each) => each.close())));
    const database = await cluster.database(NAME);
    await addAccounts(database, CLIENTS, MESSAGES);
    await distributePostgres({ url: database, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    const lost = await accountsOfLost();
    away = new Set([...lost.values()].map((username) => Number(username.replace('client-', ''))));
    assert.ok(away.size > 0 && away.size < CLIENTS, 'both workers have accounts');
    service = await serving(['--database', database, '--database-timeout-ms', String(TIMEOUT_MS)]);
  });
  after(async () => {
    service?.child.kill('SIGKILL');
    await cluster?.remove();
  });

  /** The usernames by id. */
  async function accountsOfLost(): Promise<Map<string, string>> {
    const lost = await cluster.coordinator.query(
      `select account_id::text as id, username from account_directory where (select nodeport from pg_dist_shard_placement
         where shardid = get_shard_id_for_distribution_column('account', account_id)) = ${network.port}`,
      NAME,
    );
    return new Map(lost.map(({ id, username }) => [String(id), String(username)]));
  }

  async function ask(client: number, operation: string, query = ''): Promise<Reply> {
    const started = performance.now();
    const user = encodeURIComponent(userOf(client));
    const reply = await fetch(`${service.address}/api/inbox.asmx/${operation}?user_id=${user}${query}`);
    const body = await reply.text();
    const retryAfter = reply.headers.get('retry-after');
    return { client, status: reply.status, retryAfter, body, ms: performance.now() - started };
  }

  test('polls of the other accounts do not wait for those of its accounts', LONG, async () => {
    const counts = { refused: 0, answered: 0 };
    const clients = Array.from({ length: CLIENTS }, (_, client) => client);
    const poll = (client: number) => ask(client, 'CountUnread');
    for (let round = 0; round < 2; round++) await Promise.all(clients.map(poll)); // the second one asks for versions only
    let isPolling = true;
    network.swallow();
    const work = clients.map(async (client) => {
      // One after the other, so that a poll of its accounts begins while another one is waited for.
      await systemClock.sleep((TIMEOUT_MS / CLIENTS) * client);
      while (isPolling) {
        const { status } = await poll(client);
        if (status === 503 && away.has(client)) counts.refused += 1;
        if (status === 200 && !away.has(client)) counts.answered += 1;
        await systemClock.sleep(PAUSE_MS);
      }
    });
    try {
      await until(async () => counts.refused >= 3 * away.size);
    } finally {
      isPolling = false;
      network.restore();
    }
    await Promise.all(work);
    show(`polls: ${counts.answered} of the other accounts answered, and ${counts.refused} of its accounts refused`);
    const each = counts.answered / (CLIENTS - away.size) / (counts.refused / away.size);
    assert.ok(each > ANSWERED_MIN, `${each} answers to each of the others for each refusal`);
    await until(async () => (await Promise.all(clients.map(poll))).every(({ status }) => status === 200));
  });

  test(
    'its accounts get 503 with Retry-After, those of the other worker go on, and all do when it is back',
    LONG,
    async () => {
      const replies: Reply[] = [];
      let isCalling = true;
      const work = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let id = 1; isCalling; id++) {
          replies.push(await ask(client, 'MarkMessageAsRead', `&message_id=${id}`));
          replies.push(await ask(client, 'CountUnread'));
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      });
      const isAway = ({ client }: Reply) => away.has(client);
      const answered = async (count: number, of: (reply: Reply) => boolean) => {
        const start = replies.length;
        await until(async () => replies.slice(start).filter(of).length >= count || service.child.exitCode !== null);
        return replies.slice(start);
      };
      try {
        await answered(40, ({ status }) => status === 200);
        network.swallow();
        const meanwhile = await answered(24, (reply) => isAway(reply) && reply.status === 503);
        const others = meanwhile.filter((reply) => !isAway(reply) && reply.status === 200);
        assert.ok(others.length > 0, 'accounts of the other worker are served');
        await answered(40, (reply) => !isAway(reply) && reply.status === 200);
        const stuck = await cluster.coordinator.query(
          "select state, wait_event, count(*)::int from pg_stat_activity where datname = 'silent' group by 1, 2",
        );
        show(`sessions of the coordinator: ${JSON.stringify(stuck)}`);
        network.restore();
        await answered(40, (reply) => isAway(reply) && reply.status === 200);
      } finally {
        network.restore();
        isCalling = false;
        await Promise.allSettled(work);
      }
      for (const isTheirs of [true, false]) {
        const mine = replies.filter((reply) => isAway(reply) === isTheirs);
        const statuses = Object.groupBy(mine, ({ status }) => status);
        for (const [status, all = []] of Object.entries(statuses)) {
          const slowest = Math.max(...all.map(({ ms }) => ms));
          show(
            `${isTheirs ? 'its accounts' : 'the others'}: ${status} ${all.length} times, the slowest took ${Math.round(slowest)} ms`,
          );
        }
      }
      const others = replies.filter(
        ({ status, retryAfter }) => status !== 200 && (status !== 503 || retryAfter === null),
      );
      assert.deepEqual(others, []);
    },
  );

  test('messages of accounts of the other worker are sent meanwhile, and its own when it is back', LONG, async (t) => {
    service.child.kill('SIGTERM'); // it would send the messages
    await service.ended;
    const url = cluster.coordinator.url(NAME);
    const database = await openPostgres({ url, connectionsMax: 4, timeoutMs: TIMEOUT_MS }, systemClock);
    t.after(() => database.close());
    const { now } = systemClock;
    const accepting = createAccepting(database, now);
    const times = { leaseMs: 600_000, unknownOutcomeMs: 900_000 };
    const claiming = createClaiming(database, { now, owner: 'one', newAttemptId, ...times });
    const ids: bigint[] = [];
    for (let count = 0; count < CLIENTS; count++) {
      const username = `sender-${count}`;
      await createAccount(database, { username, passwordHash: null, credits: 10n, priority: count % 2 }, now());
      const [{ id } = {}] = await cluster.coordinator.query(
        `select account_id::text as id from account_directory where username = '${username}'`,
        NAME,
      );
      ids.push(BigInt(String(id)));
      await accepting.accept(ids[count] as bigint, { region: 'ZA', timeZone: null, quietHours: null }, message());
    }
    const lost = await accountsOfLost();
    const claimed: string[] = [];
    const failed: string[] = [];
    const started = performance.now();
    const claimAll = async (expected: readonly string[]) => {
      await until(async () => {
        const found = await claiming.claim({ connector: 'loopback', isDefault: true }, 100).catch((thrown) => {
          failed.push(String(thrown.details?.cause?.code ?? thrown.details?.cause));
          return [];
        });
        claimed.push(...found.map(({ account }) => String(account)));
        return claimed.length >= expected.length;
      });
      assert.deepEqual(claimed.splice(0).sort(), expected.toSorted());
    };
    const [away, there] = [true, false].map((is) => ids.map(String).filter((id) => lost.has(id) === is)) as [
      string[],
      string[],
    ];
    assert.ok(away.length > 0 && there.length > 0, 'both workers have accounts');
    network.swallow();
    try {
      await claimAll(there);
      show(
        `claimed after ${Math.round(performance.now() - started)} ms and ${failed.length} looks that failed: ${failed}`,
      );
    } finally {
      network.restore();
    }
    await claimAll(away);
  });
});
