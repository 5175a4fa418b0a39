import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { commandActor } from '../../src/commands/operator.ts';
import { readConfig } from '../../src/config/settings.ts';
import { migrationExtension } from '../../src/migration/stages/extension.ts';
import type { Action, Services } from '../../src/operator/action.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { scopes } from '../../src/operator/actor.ts';
import { perform } from '../../src/operator/perform.ts';
import type { App } from '../../src/serve/compose/contract.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { servicesOf } from '../../src/serve/compose/operator.ts';
import { startWeb } from '../../src/serve/compose/web.ts';
import type { Engine } from './engines.ts';

/** The operator's side as tests use it: a fake clock, a fresh database, and requests over HTTP. */
export interface OperatorApi {
  readonly app: App;
  readonly services: Services;
  readonly clock: { now: number };
  readonly address: string;
  readonly database: string;
  /** With every scope. */
  readonly token: string;
  readonly logged: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  addToken(scopes: readonly string[], username?: string): Promise<{ id: string; token: string }>;
  stop(): Promise<void>;
}
export interface CallOptions {
  readonly token?: string | null;
  readonly body?: unknown;
  readonly text?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever the answer has
  readonly json: any;
}

export const actionNamed = (name: string): Action => {
  const found = actions.find((action) => action.name === name);
  if (!found) throw new Error(`there is no action ${name}`);
  return found;
};

export const ALL_SCOPES: readonly string[] = scopes;

export async function callAt(
  address: string,
  method: string,
  path: string,
  { token, body, text, headers = {} }: CallOptions,
): Promise<Answer> {
  const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const reply = await fetch(`${address}/operator/v1${path}`, {
    method,
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(content !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content as string }),
  });
  const answer = await reply.text();
  const isJson = /json/.test(reply.headers.get('content-type') ?? '');
  return {
    status: reply.status,
    headers: reply.headers,
    text: answer,
    json: isJson && answer ? JSON.parse(answer) : null,
  };
}

export async function startOperatorApi(
  engine: Engine,
  data: 'empty' | 'sample' = 'sample',
  settings: Readonly<Record<string, string>> = {},
): Promise<OperatorApi> {
  const database = await engine.fresh(data);
  const environment = { COLUMBA_DATABASE: database, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0', ...settings };
  const config = readConfig(environment);
  const clock = { now: Date.UTC(2026, 10, 15, 12) };
  const now = () => clock.now;
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const app = await createApp(config, {
    extensions: [migrationExtension],
    clock: { ...systemClock, now, sleep: async () => {} },
    log,
  });
  const web = await startWeb(app, config, { log, clock: { ...systemClock, now } });
  const address = web?.address as string;
  const services = servicesOf(app, config, { ...systemClock, now });
  const addToken: OperatorApi['addToken'] = async (scope, username) => {
    const body = { name: 'test', scopes: scope, ...(username !== undefined && { username }) };
    const raw = { params: {}, query: {}, body, upload: new Uint8Array() };
    const { output } = await perform(services, actionNamed('token add'), raw, commandActor());
    return output as { id: string; token: string };
  };
  const { token } = await addToken(ALL_SCOPES);
  return {
    app,
    services,
    clock,
    address,
    database,
    token,
    logged,
    addToken,
    call: (method, path, options = {}) => callAt(address, method, path, { token, ...options }),
    async stop() {
      await web?.close();
      await app.stop();
      if (data === 'sample') engine.release(database);
    },
  };
}
