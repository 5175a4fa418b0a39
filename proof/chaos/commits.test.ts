import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freshDatabase, onPostgres, removeServer } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import { createRandom, SEED } from '../../test/support/random.ts';
import { type CommitFault, createNetwork } from '../postgres/network.ts';
import { runChaos } from './chaos-run.ts';

/**
 * Nodes on a real PostgreSQL behind a network that breaks at commits. What the service is told then is the
 * same whether PostgreSQL has committed or not.
 */
const KILLS = Number(process.env.KILLS ?? 6);
const COMMITS_PER_KILL = 4;

onPostgres('chaos at commits', () => {
  let server: PostgresServer;
  before(async () => {
    server = await createPostgresServer(['fsync=on']); // what is answered survives the restart
    await server.start();
  });
  after(() => removeServer(server));

  for (const unknownOutcomePolicy of ['never-twice', 'submit-again'] as const) {
    test(`no message is lost or sent twice where connections break before and after commits, and PostgreSQL restarts (${unknownOutcomePolicy}, SEED=${SEED})`, async (t) => {
      const network = await createNetwork(server.port);
      t.after(() => network.close());
      const random = createRandom('commits', SEED);
      const name = await freshDatabase(server);
      let others = 0;
      const killOther = async (): Promise<string> => {
        others += 1;
        if (others === 2) {
          await server.stop('immediate');
          await server.start();
          return 'PostgreSQL';
        }
        const ways = Array.from({ length: COMMITS_PER_KILL }, (): CommitFault => random.pick(['before', 'after']));
        network.breakCommits(ways);
        return 'connections at commits';
      };
      const { faults, messages } = await runChaos({
        database: server.url(name),
        nodeDatabase: server.url(name).replace(`:${server.port}/`, `:${network.port}/`),
        seed: SEED,
        nodes: 2,
        kills: KILLS,
        actsPerKill: 25,
        unknownOutcomePolicy,
        killOther,
        killOtherChance: 0.8,
      });
      assert.ok(messages > 20, `${messages} messages`);
      const { before: unsent, after: unanswered } = network.broken();
      assert.ok(unsent + unanswered > 0, 'connections broke');
      assert.deepEqual(faults, []);
    });
  }
});
