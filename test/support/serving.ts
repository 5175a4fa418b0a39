import assert from 'node:assert/strict';
import { pino } from 'pino';
import { contract } from '../../src/asmx/contract/contract.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { type App, type AppDependencies, createApp } from '../../src/serve/compose/contract.ts';
import { PATIENT_MS } from './opened-database.ts';
import { type Arguments, requestOf } from './protocols.ts';
import { ACME, textOf } from './service.ts';

/** The service in this process with dependencies of the test, and without cached responses. */
export interface Serving {
  readonly app: App;
  readonly clock: { now: number };
  readonly logged: readonly string[];
  call(group: string, operation: string, args?: Arguments): Promise<{ status: number; text: string }>;
  /** The text of the answer to a call that succeeds. */
  ask(group: string, operation: string, args?: Arguments): Promise<string>;
}

/** Delays of answers take no time. The short waits for a lock do: another service in this process may have it. */
const withoutDelays: Clock['sleep'] = async (ms) => {
  if (ms <= 10) await systemClock.sleep(ms);
};

export async function serve(
  database: string,
  { time, ...deps }: Partial<AppDependencies> & { readonly time?: Partial<Clock> } = {},
  settings: Partial<Config> = {},
): Promise<Serving> {
  const environment = { COLUMBA_DATABASE: database, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' };
  const config = { ...readConfig(environment), responseCacheBytesMax: 0, databaseTimeoutMs: PATIENT_MS, ...settings };
  const clock = { now: Date.UTC(2026, 10, 15, 12) };
  const logged: string[] = [];
  const app = await createApp(config, {
    clock: { ...systemClock, now: () => clock.now, sleep: withoutDelays, ...time },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    ...deps,
  });
  const call: Serving['call'] = async (group, operation, args = {}) => {
    const { bytes, ...phrased } = requestOf('post', group, operation, { user_id: ACME, ...args });
    const body = async () => Buffer.from(bytes);
    const reply = await app.endpoint({ ...phrased, base: 'http://sms.example', client: '192.0.2.1', body });
    return { status: reply.status, text: await textOf(reply) };
  };
  return {
    app,
    clock,
    logged,
    call,
    async ask(group, operation, args) {
      const { status, text } = await call(group, operation, args);
      assert.equal(status, 200, `${group}.${operation}: ${text}`);
      return text.replace(/^<\?xml[^>]*>\s*/, '');
    },
  };
}

const VALUES: Arguments = {
  groupid: 1,
  group_id: '1',
  contact_id: ['101', '102'],
  id: 101,
  mobile: '+27825550201',
  message: 'Your order is ready for collection.',
  sample_message: 'STOP',
  message_id: '1003',
  from: '2026-01-01T00:00:00Z',
  to: '2026-12-31T00:00:00Z',
  max: 10,
  max_count: 10,
};
const VALUES_OF: Readonly<Record<string, Arguments>> = {
  'account.MoveContactToNewGroup': { group_id: '2' },
  'account.DeleteContactsById': { id: 103 },
  'account.SaveMessageTemplate': { message: 'a new one' },
  'sent.MarkMessageAsRead': { id: 2002 },
  'sent.DeleteSentMessage': { message_id: '2002' },
  'compose.DeleteScheduledMessage': { message_id: '3002' },
};

/** Every operation with something to do for it in the account acme of the sample data. */
export const CALLS: readonly (readonly [group: string, operation: string, args: Arguments])[] = Object.entries(
  contract,
).flatMap(([group, operations]) =>
  Object.entries(operations).map(([operation, { parameters }]) => {
    const own = Object.keys(parameters).filter((name) => name !== 'user_id');
    const values = { ...VALUES, ...VALUES_OF[`${group}.${operation}`] };
    return [group, operation, Object.fromEntries(own.map((name) => [name, values[name] ?? null]))] as const;
  }),
);

/** Whether it is there to change something. */
export const changes = (operation: string): boolean => /^(Delete|Move|Remove|Save|Mark|BlackList)/.test(operation);
