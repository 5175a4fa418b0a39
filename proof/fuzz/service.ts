import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import type { Request } from '../../src/base/exchange.ts';
import { readConfig } from '../../src/config/settings.ts';
import { type App, createApp } from '../../src/serve/compose/contract.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { exportAccounts } from '../../src/transfer/export.ts';
import type { Engine } from '../../test/support/engines.ts';
import { type Answer, textOf } from '../../test/support/service.ts';

/**
 * The service as fuzzers use it: without the checks of every answer that take ten times as long as the answer, and without
 * node:test, whose hooks on every promise make all calls half as fast.
 */
export interface FuzzedService {
  readonly app: App;
  /** Lines that the service logged. */
  readonly logged: string[];
  send(request: FuzzedRequest): Promise<Answer>;
  /** The call behind the last answer, where it was one of success. */
  lastCall(): Called | undefined;
  /** Another one as soon as anything is changed in the database. */
  version(): Promise<string>;
  /** An account with everything in it, as the export writes it. */
  exported(username: string): Promise<string>;
  close(): Promise<void>;
}

export interface Called {
  readonly group: string;
  readonly operation: string;
}

/** `body` and `query` have one character a byte, so that a finding can be read and written down. */
export interface FuzzedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** In every text of an account that has the same ids and numbers as the one that calls; no input holds it. */
export const MARKER = 'Zaunkoenig-58c1';
export const HIDDEN = 'hidden';

export async function openService(engine: Engine): Promise<FuzzedService> {
  const database = await engine.fresh('sample');
  const logged: string[] = [];
  let call: Called | undefined;
  const environment = {
    COLUMBA_DATABASE: database,
    COLUMBA_PORT: '0',
    COLUMBA_DRAIN_TIMEOUT_MS: '0',
    COLUMBA_REQUEST_TIMEOUT_MS: '3000',
  };
  const app = await createApp(readConfig(environment), {
    clock: { ...systemClock, now: () => Date.UTC(2026, 10, 15, 12), sleep: async () => {} },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    observe: ({ kind, group, operation }) => {
      call = kind === 'ok' && group && operation ? { group, operation } : undefined;
    },
  });
  await app.archive.load(await readAccount(hiddenAccount(), Date.UTC(2026, 0, 1)));
  const watch = database.startsWith('sqlite:') ? watchFile(database.slice('sqlite:'.length)) : watchExport(app);

  return {
    app,
    logged,
    version: watch.version,
    lastCall: () => call,
    exported: (username) => exportOf(app, username),
    async send({ body, ...given }) {
      call = undefined;
      const bytes = Buffer.from(body, 'latin1');
      const around = { base: 'http://127.0.0.1:18080', client: '192.0.2.1', body: async () => bytes };
      const reply = await app.endpoint({ ...given, ...around } satisfies Request);
      return { ...reply, text: await textOf(reply) };
    },
    async close() {
      watch.close();
      await app.stop();
      engine.release(database);
    },
  };
}

interface Watch {
  version(): Promise<string>;
  close(): void;
}

/** https://www.sqlite.org/pragma.html#pragma_data_version: changes with every commit of another connection that changed a page. */
function watchFile(path: string): Watch {
  const connection = new DatabaseSync(path, { readOnly: true });
  const version = connection.prepare('pragma data_version');
  return { version: async () => String(version.get()?.data_version), close: () => connection.close() };
}

/** Slower, and for any database. */
const watchExport = (app: App): Watch => ({ version: () => exportOf(app, null), close: () => {} });

async function exportOf(app: App, username: string | null): Promise<string> {
  const pieces: string[] = [];
  await exportAccounts(
    app.archive,
    { ndjson: true, username, clock: systemClock },
    async (piece) => void pieces.push(piece),
  );
  return pieces.join('');
}

export const SAMPLE = fileURLToPath(new URL('../../examples/sample.json', import.meta.url));
const TEXTS = ['contactName', 'contactSurname', 'company', 'address', 'name', 'surname', 'message', 'sample_message'];

function hiddenAccount(): Record<string, unknown> {
  const [acme] = JSON.parse(readFileSync(SAMPLE, 'utf8'), (name, value) =>
    TEXTS.includes(name) ? `${value} ${MARKER}` : value,
  ).accounts;
  const { password: _, ...rest } = acme; // hashing one takes longer than all else
  const marked = rest.templates.map((text: string) => `${text} ${MARKER}`);
  return {
    ...rest,
    templates: [...marked, ...rest.templates],
    username: HIDDEN,
    userID: `${MARKER} is nobody's to know`,
  };
}
