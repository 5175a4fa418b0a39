import { dirname, resolve } from 'node:path';
import { readHosts, readNetworks } from '../base/networks.ts';
import { withoutPassword } from '../base/url-password.ts';
import { backupSettings } from './backup.ts';
import type { ConfigFile } from './config-file.ts';
import { limits } from './limits.ts';
import {
  baseUrl,
  database,
  level,
  listenAddress,
  region,
  type Setting,
  setting,
  text,
  uri,
  wholeNumber,
  zone,
} from './setting.ts';

/**
 * All settings in one table: environment variables, flags, `--help` and docs/SETTINGS.md come
 * from it.
 */

export const settings = {
  host: setting('COLUMBA_HOST', '127.0.0.1', 'Address to listen on; 0.0.0.0 for all interfaces.', listenAddress),
  port: setting('COLUMBA_PORT', '8080', 'Port to listen on; 0 for any free port.', wholeNumber(0, 65_535)),
  webHost: setting(
    'COLUMBA_WEB_HOST',
    '127.0.0.1',
    "Address of the web listener, which serves the console, the operator's API and carriers' callbacks; 0.0.0.0 for all interfaces.",
    listenAddress,
  ),
  webPort: {
    ...setting(
      'COLUMBA_WEB_PORT',
      '',
      'Port of the web listener. Empty: 8081, or any free port if COLUMBA_PORT is 0. off: no web listener.',
      (value: string): number | 'default' | 'off' => {
        if (value === '') return 'default';
        return value === 'off' ? value : wholeNumber(0, 65_535)(value);
      },
    ),
    format: (value: number | 'default' | 'off') => (value === 'default' ? '' : String(value)),
  },
  webUrl: setting(
    'COLUMBA_WEB_URL',
    '',
    'Public URL of the web listener, for sign-in links and for redirects of /console and /operator. Empty: the address on which it listens.',
    baseUrl,
  ),
  webhookNetworks: setting(
    'COLUMBA_WEBHOOK_NETWORKS',
    '',
    'Comma-separated private addresses or networks to which webhooks may be sent. Plain http is allowed only there.',
    readNetworks,
  ),
  database: {
    ...setting(
      'COLUMBA_DATABASE',
      'sqlite:data/columba.db',
      'The database: sqlite: and a path, or postgres://USER:PASSWORD@HOST/NAME, with several HOST:PORT and ' +
        '?target_session_attrs=read-write for failover, and sslmode=verify-full for TLS.',
      database,
    ),
    within: (value: string, folder: string): string =>
      /^sqlite:(?!file:|:).*\S/.test(value) ? `sqlite:${resolve(folder, value.slice('sqlite:'.length))}` : value,
  },
  databaseConnections: setting(
    'COLUMBA_DATABASE_CONNECTIONS',
    '10',
    'PostgreSQL: size of the connection pool of a process.',
    wholeNumber(1, 1_000),
  ),
  databaseTimeoutMs: setting(
    'COLUMBA_DATABASE_TIMEOUT_MS',
    '5000',
    'PostgreSQL: time-out for getting a connection, for a lock, and for a statement. When it runs out, the call gets 503.',
    wholeNumber(100, 600_000),
  ),
  workers: setting('COLUMBA_WORKERS', '1', 'Worker processes that share the port.', wholeNumber(1, 256)),
  namespace: setting(
    'COLUMBA_NAMESPACE',
    'http://sms.example/api',
    'XML namespace of requests and responses. It must be the one for which your clients were generated.',
    uri,
  ),
  dialect: {
    ...setting(
      'COLUMBA_DIALECT',
      '',
      'JSON file that describes how the old server wrote its answers (docs/DIALECT.md). Its namespace overrides COLUMBA_NAMESPACE. Empty: no dialect.',
      text,
    ),
    within: (value: string, folder: string) => (value === '' ? value : resolve(folder, value)),
  },
  baseUrl: setting(
    'COLUMBA_BASE_URL',
    '',
    'Public URL of the service with its path, for the WSDLs and pages behind a reverse proxy. Empty: Columba builds it from the Host of the request.',
    baseUrl,
  ),
  receiptWaitHours: setting(
    'COLUMBA_RECEIPT_WAIT_HOURS',
    '72',
    'Hours after which a submitted message without a receipt becomes UNKNOWN.',
    wholeNumber(1, 8_760),
  ),
  trustedProxies: setting(
    'COLUMBA_TRUSTED_PROXIES',
    '',
    'Comma-separated addresses or networks (10.0.0.0/8) whose X-Forwarded-For, -Proto, -Host and -Prefix are trusted.',
    readNetworks,
  ),
  hosts: setting(
    'COLUMBA_HOSTS',
    '',
    "Comma-separated host names under which clients call the contract's port (sms.example, sms.example:8443). A request with another Host gets 400. " +
      'Empty: any Host. The setting does not apply to the web listener.',
    readHosts,
  ),
  timeZone: setting('COLUMBA_TIME_ZONE', 'UTC', 'Time zone of a dateTime that names none.', zone),
  region: setting(
    'COLUMBA_REGION',
    '',
    'Country of local phone numbers, for accounts that have neither a region nor an international number of their own.',
    region,
  ),
  listLimit: setting('COLUMBA_LIST_LIMIT', '10000', 'Most items of a list.', wholeNumber(1, 1_000_000)),
  ...backupSettings,
  ...limits,
  responseCacheBytesMax: {
    ...setting(
      'COLUMBA_RESPONSE_CACHE_BYTES_MAX',
      '33554432',
      'Size of the response cache of a process in bytes; 0 turns it off. A response stays in the cache until its account changes.',
      wholeNumber(0, 2 ** 40),
    ),
    formerly: 'COLUMBA_KEPT_BYTES_MAX',
  },
  accountRate: setting(
    'COLUMBA_ACCOUNT_RATE',
    '0',
    'Rate limit of an account in calls per second; 0 for none. Calls beyond it get 429 with Retry-After.',
    wholeNumber(0, 1_000_000),
  ),
  accountBurst: setting(
    'COLUMBA_ACCOUNT_BURST',
    '100',
    'Burst of the rate limit of an account, in calls.',
    wholeNumber(1, 1_000_000),
  ),
  addressRate: setting(
    'COLUMBA_ADDRESS_RATE',
    '0',
    'Rate limit of a client address (IPv6: one /64) in calls per second; 0 for none. Calls beyond it get 429 with Retry-After.',
    wholeNumber(0, 1_000_000),
  ),
  addressBurst: setting(
    'COLUMBA_ADDRESS_BURST',
    '200',
    'Burst of the rate limit of a client address, in calls.',
    wholeNumber(1, 1_000_000),
  ),
  addressUnlimited: setting(
    'COLUMBA_ADDRESS_UNLIMITED',
    '',
    'Comma-separated addresses or networks without the limit of COLUMBA_ADDRESS_RATE, for addresses that many accounts share.',
    readNetworks,
  ),
  turnMaxMs: setting(
    'COLUMBA_TURN_MAX_MS',
    '500',
    'Load shedding: milliseconds that a request may wait in the queue before it gets 503. New requests get 503 when the oldest has waited half of that time.',
    wholeNumber(1, 60_000),
  ),
  waitingMax: setting(
    'COLUMBA_WAITING_MAX',
    '2000',
    'Load shedding: most requests that a process handles at a time. Further ones get 503.',
    wholeNumber(1, 1_000_000),
  ),
  drainTimeoutMs: setting(
    'COLUMBA_DRAIN_TIMEOUT_MS',
    '5000',
    'Graceful shutdown: milliseconds for which idle connections stay open, so that their clients can close them first.',
    wholeNumber(0, 600_000),
  ),
  dispatcher: {
    ...setting(
      'COLUMBA_DISPATCHER',
      'on',
      'Whether this service sends messages. Set it to off if other services on the same database send them.',
      (value: string): boolean => {
        if (value !== 'on' && value !== 'off') throw new Error('expected on or off');
        return value === 'on';
      },
    ),
    format: (value: boolean) => (value ? 'on' : 'off'),
  },
  connectors: {
    ...setting(
      'COLUMBA_CONNECTORS',
      '',
      'JSON file of connectors to carriers. Empty: connectors are configured through the API.',
      text,
    ),
    within: (value: string, folder: string) => (value === '' ? value : resolve(folder, value)),
  },
  retryHours: setting(
    'COLUMBA_RETRY_HOURS',
    '48',
    'Hours for which a message without notAfter is tried before it becomes EXPIRED.',
    wholeNumber(1, 720),
  ),
  unknownOutcomeMinutes: {
    ...setting(
      'COLUMBA_UNKNOWN_OUTCOME_MINUTES',
      '15',
      'Minutes for which a submission without an answer waits for a receipt before the unknownOutcomePolicy of its account decides.',
      wholeNumber(1, 1_440),
    ),
    formerly: 'COLUMBA_UNSURE_MINUTES',
  },
  logLevel: setting('COLUMBA_LOG_LEVEL', 'info', 'Lowest level that is logged.', level),
  logKey: {
    ...setting(
      'COLUMBA_LOG_KEY',
      '',
      'Secret key for the pseudonyms of accounts in logs and traces. Empty: a random key at every start.',
      text,
    ),
    secret: true,
  },
  metricsPort: setting(
    'COLUMBA_METRICS_PORT',
    '',
    'Port of /metrics for Prometheus; empty or 0 for no such port.',
    (value: string): number => wholeNumber(0, 65_535)(value === '' ? '0' : value),
  ),
  metricsHost: setting('COLUMBA_METRICS_HOST', '127.0.0.1', 'Address of the metrics port.', listenAddress),
  healthPort: setting(
    'COLUMBA_HEALTH_PORT',
    '',
    'Separate port for /health/live and /health/ready, which answers promptly even under load; empty or 0 for no such port.',
    (value: string): number => wholeNumber(0, 65_535)(value === '' ? '0' : value),
  ),
  healthHost: setting('COLUMBA_HEALTH_HOST', '127.0.0.1', 'Address of the health port.', listenAddress),
};

export type Config = { readonly [K in keyof typeof settings]: ReturnType<(typeof settings)[K]['parse']> };

/** The settings as lines of a settings file, without secrets. */
export const configLines = (config: Config): string[] =>
  Object.entries<Setting<unknown>>(settings).map(([name, setting]) => {
    const value = config[name as keyof Config];
    return `${setting.variable}=${shownValue(setting, setting.format?.(value) ?? String(value))}`;
  });

/** The value of a setting as it is printed. */
export const shownValue = ({ secret }: Pick<Setting<unknown>, 'secret'>, value: string): string =>
  secret && value !== '' ? '…' : withoutPassword(value);

/** `--list-limit` for `listLimit`. */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The names of the settings that have a flag. */
export const flaggedSettings = (): string[] =>
  Object.entries<Setting<unknown>>(settings).flatMap(([name, { hasFlag }]) => (hasFlag === false ? [] : [name]));

/** The path of the settings file, which therefore cannot be set in the file itself. */
const CONFIG_VARIABLE = 'COLUMBA_CONFIG';

/**
 * Precedence: flags, environment, file, defaults. Throws one Error with all mistakes. Calls `warn`
 * for every setting that is given by its former name.
 */
export function readConfig(
  given: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
  givenFile?: ConfigFile,
  warn: (message: string) => void = () => {},
): Config {
  const mistakes: string[] = [...(givenFile?.mistakes ?? [])];
  const environment = { ...given };
  const file = givenFile && { ...givenFile, lines: new Map(givenFile.lines) };
  for (const { formerly = '', variable } of Object.values<Setting<unknown>>(settings)) {
    const line = file?.lines.get(formerly);
    if (environment[formerly] === undefined && !line) continue;
    const isDouble =
      environment[formerly] === undefined ? file?.lines.has(variable) : environment[variable] !== undefined;
    if (isDouble) mistakes.push(`${formerly}: this is the former name of ${variable}, and both are set; remove it`);
    else warn(`${formerly} is now called ${variable}. The next version will not accept the former name.`);
    if (environment[formerly] !== undefined) environment[variable] ??= environment[formerly];
    if (line && !file?.lines.has(variable)) file?.lines.set(variable, line);
    delete environment[formerly];
    file?.lines.delete(formerly);
  }
  const entries = Object.entries<Setting<unknown>>(settings).map(([name, { variable, fallback, parse, within }]) => {
    const flag = flags[flagOf(name)];
    const line = file?.lines.get(variable);
    const kept = line?.value ?? fallback;
    const value = flag ?? environment[variable] ?? (file && within ? within(kept, dirname(file.path)) : kept);
    try {
      return [name, parse(value)];
    } catch (thrown) {
      const told = environment[variable] === undefined && line ? `${file?.path}:${line.number}: ${variable}` : variable;
      const source = flag === undefined ? told : `--${flagOf(name)}`;
      mistakes.push(`${source}: ${(thrown as Error).message}, not ${JSON.stringify(withoutPassword(value))}`);
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

/** Whether a settings file holds a secret. */
export const holdsSecrets = ({ lines }: ConfigFile): boolean =>
  Object.values<Setting<unknown>>(settings).some((each) => {
    const value = lines.get(each.variable)?.value ?? '';
    // A user name without a password is masked too when it is printed, but it is not a secret.
    const withoutUser = value.replace(/:\/\/[^:@/]*@(?!.*@)/s, '://');
    return shownValue(each, withoutUser) !== withoutUser;
  });
