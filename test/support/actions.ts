import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { Problem } from '../../src/base/problem.ts';
import { testConnector, tryConnector } from '../../src/carriers/connector-check.ts';
import { migrationExtension } from '../../src/migration/stages/extension.ts';
import type { Services } from '../../src/operator/action.ts';
import { actions } from '../../src/operator/actions/all.ts';
import type { Actor } from '../../src/operator/actor.ts';
import { perform } from '../../src/operator/perform.ts';
import type { Database } from '../../src/store/database.ts';
import type { Engine } from './engines.ts';
import { openStore, sql } from './opened-database.ts';

/** Actions as the API and the commands run them, on a database of their own. */
interface Given {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly upload?: string | Uint8Array;
}
/** Whatever an action answers, as JSON has it. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the fields that it looks at
export type Output = any;

export interface ActionBench {
  readonly database: Database;
  readonly clock: { now: number };
  readonly services: Services;
  /** The output as JSON. */
  run(name: string, given?: Given): Promise<Output>;
  /** The same below an account. */
  of(username: string, name: string, given?: Given): Promise<Output>;
  status(name: string, given?: Given): Promise<number>;
  text(name: string, given?: Given): Promise<string>;
  /** The problem that refuses it. */
  refusal(name: string, given?: Given): Promise<Problem>;
  account(username: string, fields?: object): Promise<bigint>;
}

const OPERATOR: Actor = {
  kind: 'command',
  name: 'tester',
  tokenId: null,
  address: null,
  scopes: [],
  account: null,
};
const ids = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);

export async function openActions(engine: Engine, t: TestContext): Promise<ActionBench> {
  const database = await openStore(await engine.fresh('empty'));
  t.after(() => database.close());
  const clock = { now: Date.UTC(2026, 10, 15, 12) };
  const services: Services = {
    database,
    now: () => clock.now,
    sleep: async () => {},
    defaultRegion: 'ZA',
    tryForMs: 48 * 3_600_000,
    changed: () => {},
    connectorsOfFile: () => [],
    testConnector: (name) => testConnector(database, [], name, { clock: systemClock }),
    tryConnector: (name, given) => tryConnector(database, [], name, given, { clock: systemClock }),
    extensions: [migrationExtension],
    version: 'test',
    engine: engine.name === 'sqlite' ? 'sqlite' : 'postgres',
    webUrl: () => 'https://operator.example',
    backup: () => null,
    openapi: async () => ({}),
  };
  const performed = (name: string, { params = {}, query = {}, body, upload = '' }: Given = {}) => {
    const action = actions.find((each) => each.name === name) ?? assert.fail(`there is no action ${name}`);
    const bytes = typeof upload === 'string' ? Buffer.from(upload) : upload;
    return perform(services, action, { params, query, body, upload: bytes }, OPERATOR);
  };
  const run: ActionBench['run'] = async (name, given) => {
    const { output } = await performed(name, given);
    return JSON.parse(JSON.stringify(output));
  };
  return {
    database,
    clock,
    services,
    run,
    of: (username, name, given = {}) => run(name, { ...given, params: { username, ...given.params } }),
    status: async (name, given) => (await performed(name, given)).status,
    async text(name, given) {
      let text = '';
      for await (const piece of (await performed(name, given)).stream ?? assert.fail('no text')) text += piece;
      return text;
    },
    async refusal(name, given) {
      const thrown = await performed(name, given).then(
        () => assert.fail(`${name} was not refused`),
        (reason) => reason,
      );
      assert.ok(thrown instanceof Problem, String(thrown));
      return thrown;
    },
    async account(username, fields = {}) {
      await run('account add', { body: { username, ...fields } });
      return (await database.first(ids, { username }))?.account_id as bigint;
    },
  };
}

export const pointers = ({ details }: Problem): string[] => (details.errors ?? []).map(({ pointer }) => pointer);
