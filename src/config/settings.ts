import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import { readHosts, readNetworks } from '../networks.ts';
import { withoutPassword } from '../url-password.ts';
import type { ConfigFile } from './config-file.ts';
import { bounds } from './limits.ts';
import { type Setting, setting, wholeNumber } from './setting.ts';

/** The settings: one table, from which come the environment variables, the flags, `--help` and docs/OPERATIONS.md. */

const text = (value: string): string => value;

/** Empty would mean all addresses, and a variable is easily empty by mistake. */
const listenAddress = (value: string): string => {
  if (isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) {
    throw new Error('expected an address or a name without port, such as 127.0.0.1, ::1, localhost or 0.0.0.0 for all');
  }
  return value;
};

// Those of libpq that the driver knows. A misspelt sslmode would connect without TLS.
const POSTGRES_PARAMETERS =
  'sslmode ssl sslcert sslkey sslrootcert sslpassword sslnegotiation uselibpqcompat target_session_attrs application_name fallback_application_name connect_timeout connect_timeout_ms options client_encoding keepalives keepalives_idle host port user password dbname statement_timeout lock_timeout idle_in_transaction_session_timeout query_timeout'.split(
    ' ',
  );

const database = (value: string): string => {
  if (!/^(sqlite:|postgres(ql)?:\/\/).+/.test(value)) {
    throw new Error('expected sqlite: and a path (sqlite:data/columba.db), or postgres://USER:PASSWORD@HOST/DATABASE');
  }
  // SQLite would keep these in memory, or read a URI with parameters: nothing would be there after a restart.
  if (/^sqlite:(?:\s*$|\s*:memory:|file:)/i.test(value)) {
    throw new Error(
      'expected sqlite: and the path of a file, because a database in memory loses everything at the end',
    );
  }
  if (/^postgres(?:ql)?:\/\/[^/?#]*[/?#].*@[^@/?]+\//s.test(value)) {
    throw new Error('expected the characters / ? # of a password as %2F %3F %23');
  }
  const [, query = ''] = value.startsWith('postgres') ? value.split(/\?(.*)/s) : [];
  const unknown = [...new URLSearchParams(query).keys()].find((name) => !POSTGRES_PARAMETERS.includes(name));
  if (unknown !== undefined) throw new Error(`expected parameters of PostgreSQL, such as sslmode, and not ${unknown}`);
  return value;
};

/** RFC 3986: what a URI is made of, which is also what XML and headers carry as it is; one # at most begins a fragment. */
const URI_CHARACTERS = /^(?:[\w.~:/?@!$'()*+,;=-]|%[\da-f]{2})*(?:#(?:[\w.~:/?@!$'()*+,;=-]|%[\da-f]{2})*)?$/i;

const uri = (value: string): string => {
  if (!/^[a-z][a-z0-9+.-]*:./i.test(value) || !URI_CHARACTERS.test(value) || !URL.canParse(value)) {
    throw new Error('expected a URI such as http://sms.example/api');
  }
  return value;
};

const baseUrl = (value: string): string => {
  if (value === '') return value;
  const url = URI_CHARACTERS.test(value.replace(/\[[\da-f:.]+\]/i, '')) ? URL.parse(value) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('expected an address such as https://sms.example/gateway');
  }
  return value.replace(/\/+$/, '');
};

const zone = (value: string): string => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
  } catch {
    throw new Error('expected a time zone such as UTC, Africa/Johannesburg or +02:00');
  }
  return value;
};

const region = (value: string): string => {
  if (!/^([A-Z]{2})?$/.test(value)) throw new Error('expected a country code of two capital letters such as ZA');
  return value;
};

const level = (value: string): string => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
  if (!levels.includes(value)) throw new Error(`expected one of ${levels.join(', ')}`);
  return value;
};

export const settings = {
  host: setting('COLUMBA_HOST', '127.0.0.1', 'Address to listen on; 0.0.0.0 for all.', listenAddress),
  port: setting('COLUMBA_PORT', '8080', 'Port to listen on; 0 for any free one.', wholeNumber(0, 65_535)),
  webHost: setting(
    'COLUMBA_WEB_HOST',
    '127.0.0.1',
    "Address that the operator's side listens on; 0.0.0.0 for all.",
    listenAddress,
  ),
  webPort: setting(
    'COLUMBA_WEB_PORT',
    '',
    "Port of the operator's side: its API and pages. Empty: 8081, or any free one where COLUMBA_PORT is 0. off: none.",
    (value: string): number | 'default' | 'off' => {
      if (value === '') return 'default';
      return value === 'off' ? value : wholeNumber(0, 65_535)(value);
    },
  ),
  database: {
    ...setting(
      'COLUMBA_DATABASE',
      'sqlite:data/columba.db',
      'Where the data is: sqlite: and a path, or postgres://USER:PASSWORD@HOST:PORT/DATABASE, with several HOST:PORT and ' +
        '?target_session_attrs=read-write for failover, and sslmode=verify-full for TLS.',
      database,
    ),
    within: (value: string, folder: string): string =>
      /^sqlite:(?!file:|:).*\S/.test(value) ? `sqlite:${resolve(folder, value.slice('sqlite:'.length))}` : value,
  },
  databaseConnections: setting(
    'COLUMBA_DATABASE_CONNECTIONS',
    '10',
    'PostgreSQL: connections of a process at most.',
    wholeNumber(1, 1_000),
  ),
  databaseTimeoutMs: setting(
    'COLUMBA_DATABASE_TIMEOUT_MS',
    '5000',
    'PostgreSQL: time for a connection, a lock and a statement, before a call is answered with 503.',
    wholeNumber(100, 600_000),
  ),
  workers: setting('COLUMBA_WORKERS', '1', 'Processes that share the port.', wholeNumber(1, 256)),
  namespace: setting(
    'COLUMBA_NAMESPACE',
    'http://sms.example/api',
    'XML namespace of every request and response element: the one your clients were made for.',
    uri,
  ),
  baseUrl: setting(
    'COLUMBA_BASE_URL',
    '',
    "Address that clients use, with its path, for WSDL and pages behind a proxy. Empty: from the request's Host.",
    baseUrl,
  ),
  trustedProxies: setting(
    'COLUMBA_TRUSTED_PROXIES',
    '',
    'Addresses or networks (10.0.0.0/8), with commas, whose X-Forwarded-For, -Proto, -Host and -Prefix count.',
    readNetworks,
  ),
  hosts: setting(
    'COLUMBA_HOSTS',
    '',
    'Names under which clients reach us, with commas (sms.example, sms.example:8443). A request with another Host gets 400. ' +
      'Empty: any name.',
    readHosts,
  ),
  timeZone: setting('COLUMBA_TIME_ZONE', 'UTC', 'Zone of a dateTime that names none.', zone),
  region: setting(
    'COLUMBA_REGION',
    '',
    'Country of local phone numbers for accounts that have neither a region nor an international number.',
    region,
  ),
  listLimit: setting(
    'COLUMBA_LIST_LIMIT',
    '10000',
    'The most that a max or max_count brings.',
    wholeNumber(1, 1_000_000),
  ),
  ...bounds,
  keptBytesMax: setting(
    'COLUMBA_KEPT_BYTES_MAX',
    '33554432',
    'SQLite: memory of a process for answers that are given again as long as nothing about their account has changed.',
    wholeNumber(0, 2 ** 40),
  ),
  accountRate: setting(
    'COLUMBA_ACCOUNT_RATE',
    '0',
    'Calls a second of one account, in the long run; 0 for no limit. More get 429 with Retry-After.',
    wholeNumber(0, 1_000_000),
  ),
  accountBurst: setting(
    'COLUMBA_ACCOUNT_BURST',
    '100',
    'Calls of one account at once, after a pause.',
    wholeNumber(1, 1_000_000),
  ),
  addressRate: setting(
    'COLUMBA_ADDRESS_RATE',
    '0',
    'Calls a second from one client address (IPv6: from one /64), in the long run; 0 for no limit. More get 429 with Retry-After.',
    wholeNumber(0, 1_000_000),
  ),
  addressBurst: setting(
    'COLUMBA_ADDRESS_BURST',
    '200',
    'Calls from one client address at once, after a pause.',
    wholeNumber(1, 1_000_000),
  ),
  addressUnlimited: setting(
    'COLUMBA_ADDRESS_UNLIMITED',
    '',
    'Addresses or networks without that limit, with commas: where many accounts share an address.',
    readNetworks,
  ),
  turnMaxMs: setting(
    'COLUMBA_TURN_MAX_MS',
    '500',
    'Overload: how long a request may wait to be begun, before it gets 503; new ones get it when others have waited half of that.',
    wholeNumber(1, 60_000),
  ),
  waitingMax: setting(
    'COLUMBA_WAITING_MAX',
    '2000',
    'Overload: requests of a process that wait for their answer at once, before more get 503.',
    wholeNumber(1, 1_000_000),
  ),
  drainTimeoutMs: setting(
    'COLUMBA_DRAIN_TIMEOUT_MS',
    '5000',
    'How long a process that is asked to stop waits for clients to use and so close their open connections.',
    wholeNumber(0, 600_000),
  ),
  logLevel: setting('COLUMBA_LOG_LEVEL', 'info', 'Least important log lines to write.', level),
  logKey: {
    ...setting(
      'COLUMBA_LOG_KEY',
      '',
      'Secret for the names that accounts have in logs and traces. Empty: another one at every start.',
      text,
    ),
    secret: true,
  },
  metricsPort: setting(
    'COLUMBA_METRICS_PORT',
    '',
    'Port for /metrics, for Prometheus; empty or 0 for none.',
    (value: string): number => wholeNumber(0, 65_535)(value === '' ? '0' : value),
  ),
  metricsHost: setting('COLUMBA_METRICS_HOST', '127.0.0.1', 'Address that /metrics listens on.', listenAddress),
  healthPort: setting(
    'COLUMBA_HEALTH_PORT',
    '',
    'Port of its own for /health/live and /health/ready, which no load on the other one delays; empty or 0 for none.',
    (value: string): number => wholeNumber(0, 65_535)(value === '' ? '0' : value),
  ),
  healthHost: setting(
    'COLUMBA_HEALTH_HOST',
    '127.0.0.1',
    'Address that the port for health listens on.',
    listenAddress,
  ),
};

export type Config = { readonly [K in keyof typeof settings]: ReturnType<(typeof settings)[K]['parse']> };

const WEB_PORT = 8_081;

/** The port of the operator's side; null for none. */
export function webPortOf({ port, webPort }: Pick<Config, 'port' | 'webPort'>): number | null {
  if (webPort === 'default') return port === 0 ? 0 : WEB_PORT;
  return webPort === 'off' ? null : webPort;
}

/** For showing a setting to people. */
export const shownValue = ({ secret }: Setting<unknown>, value: string): string =>
  secret && value !== '' ? '…' : withoutPassword(value);

/** `--list-limit` for `listLimit`. */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The variable that names the file of settings; it cannot be in that file. */
const CONFIG_VARIABLE = 'COLUMBA_CONFIG';

/** Flags win over the environment, this over the file, and the file over the defaults. All mistakes are told at once. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
  file?: ConfigFile,
): Config {
  const mistakes: string[] = [...(file?.mistakes ?? [])];
  const entries = Object.entries<Setting<unknown>>(settings).map(([name, { variable, fallback, parse, within }]) => {
    const flag = flags[flagOf(name)];
    const line = file?.lines.get(variable);
    const kept = line?.value ?? fallback;
    const given = flag ?? environment[variable] ?? (file && within ? within(kept, dirname(file.path)) : kept);
    try {
      return [name, parse(given)];
    } catch (thrown) {
      const told = environment[variable] === undefined && line ? `${file?.path}:${line.number}: ${variable}` : variable;
      const source = flag === undefined ? told : `--${flagOf(name)}`;
      mistakes.push(`${source}: ${(thrown as Error).message}, not ${JSON.stringify(withoutPassword(given))}`);
      return [name, undefined];
    }
  });
  const variables = new Set(Object.values(settings).map(({ variable }) => variable));
  for (const variable of Object.keys(environment)) {
    if (variable.startsWith('COLUMBA_') && variable !== CONFIG_VARIABLE && !variables.has(variable)) {
      mistakes.push(`${variable}: there is no such setting`);
    }
  }
  for (const [variable, { number }] of file?.lines ?? []) {
    if (!variables.has(variable)) mistakes.push(`${file?.path}:${number}: ${variable}: there is no such setting`);
  }
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return Object.fromEntries(entries) as Config;
}

/** Whether a file holds what nobody else may read. */
export const holdsSecrets = ({ lines }: ConfigFile): boolean =>
  Object.values<Setting<unknown>>(settings).some((each) => {
    const value = lines.get(each.variable)?.value ?? '';
    return shownValue(each, value) !== value;
  });
