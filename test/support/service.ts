import { pino } from 'pino';
import type { PageSettings } from '../../src/asmx/pages/pages.ts';
import { systemClock } from '../../src/base/clock.ts';
import { isWhole, type Reply, type Request } from '../../src/base/exchange.ts';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { migrationExtension } from '../../src/migration/stages/extension.ts';
import { type App, createApp } from '../../src/serve/compose/contract.ts';
import { covered } from './coverage.ts';
import type { Engine } from './engines.ts';
import { PATIENT_MS } from './opened-database.ts';
import { type Arguments, type Protocol, requestOf } from './protocols.ts';
import { NAMESPACE, validateResult } from './schema-validator.ts';

/** The service as tests use it: a fake clock, a fresh database, every successful reply validated against our WSDL. */
export interface Service {
  readonly app: App;
  /** The service's clock, for tests to set. */
  readonly clock: { now: number };
  /** How long answers were held back, in milliseconds. */
  readonly slept: number[];
  /** Lines that the service logged. */
  readonly logged: string[];
  send(request: Partial<Request> & { bytes?: string | Uint8Array }): Promise<Answer>;
  call(protocol: Protocol, group: string, operation: string, args: Arguments): Promise<Answer>;
  stop(): Promise<void>;
}

export interface Answer extends Reply {
  readonly text: string;
}

export const ACME = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';
export const GLOBEX = 'a1b2c3d4-0000-4000-8000-00000000beef';

export async function startService(
  engine: Engine,
  data: 'empty' | 'sample' = 'sample',
  settings: Partial<Config> = {},
  pages: PageSettings = {},
): Promise<Service> {
  const database = await engine.fresh(data);
  const environment = { COLUMBA_DATABASE: database, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' };
  const config = { ...readConfig(environment), databaseTimeoutMs: PATIENT_MS, ...settings };
  const clock = { now: Date.UTC(2026, 10, 15, 12) };
  const slept: number[] = [];
  const logged: string[] = [];
  const app = await createApp(config, {
    extensions: [migrationExtension],
    pages,
    clock: {
      ...systemClock,
      now: () => clock.now,
      // Delays of answers take no time. The short waits for a lock do.
      sleep: async (ms) => (ms <= 10 ? systemClock.sleep(ms) : void slept.push(ms)),
    },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    observe: ({ protocol, group, operation, kind, reply }) => {
      if (kind !== 'ok' || !protocol || !group || !operation) return;
      if (config.namespace === NAMESPACE && isWhole(reply.body)) validateResult(group, bytesOf(reply.body).toString());
      covered(group, operation, protocol);
    },
  });

  const send: Service['send'] = async ({ bytes = '', ...given }) => {
    const body = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    const request: Request = {
      method: 'GET',
      path: '/',
      query: '',
      headers: {},
      base: 'http://127.0.0.1:18080',
      client: '192.0.2.1',
      body: async () => body,
      ...given,
    };
    const reply = await app.endpoint(request);
    const text = await textOf(reply);
    const group = /^\/api\/(\w+)/.exec(request.path)?.[1] as string;
    if (config.namespace === NAMESPACE && !isWhole(reply.body)) validateResult(group, text);
    return { ...reply, text };
  };
  return {
    app,
    clock,
    slept,
    logged,
    send,
    call: (protocol, group, operation, args) => send(requestOf(protocol, group, operation, args)),
    async stop() {
      await app.stop();
      if (data === 'sample') engine.release(database);
    },
  };
}

const bytesOf = (body: string | Uint8Array): Buffer => Buffer.from(body as Uint8Array);

export async function textOf({ body }: Reply): Promise<string> {
  if (isWhole(body)) return bytesOf(body).toString('utf8');
  let text = '';
  for await (const piece of body) text += piece;
  return text;
}
