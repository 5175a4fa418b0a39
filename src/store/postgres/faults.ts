import pg from 'pg';

/** The names under which the operator knows the settings: for advice. */
export interface SettingNames {
  readonly url: string;
  readonly timeoutMs: string;
  readonly connectionsMax: string;
}

/**
 * Tells the operator why PostgreSQL cannot be used: server, database, user and what to do. It never
 * shows the password.
 */
interface Place extends SettingNames {
  /** All servers that were asked: `one:5432, two:5432`. */
  readonly at: string;
  readonly database: string;
  readonly user: string;
}

const LATE = ({ at, timeoutMs }: Place) =>
  `PostgreSQL at ${at} does not answer within ${timeoutMs}. Check the network, firewalls and its load.`;
const REFUSED = ({ at, url }: Place) =>
  `No PostgreSQL takes connections at ${at}. Start it, or correct host and port in ${url}.`;
const UNKNOWN_HOST = ({ at, url }: Place) =>
  `The host of ${at} has no address. Correct its name in ${url}, or check DNS.`;
const STANDBY = ({ at }: Place) =>
  `PostgreSQL at ${at} accepts no writes. Name the primary, or all servers with ?target_session_attrs=read-write.`;
const PASSWORD = ({ at, user, url }: Place) =>
  `PostgreSQL at ${at} does not accept the password of user ${user}. Correct it in ${url}.`;
const ENDED = ({ at }: Place) =>
  `PostgreSQL at ${at} is starting, stopping or was told to end connections. The service continues when it is back.`;
const CONFLICT = ({ at, database }: Place) =>
  `Other sessions keep rows of database ${database} at ${at} locked for too long. Look at pg_stat_activity.`;
const TLS = ({ at, url }: Place) =>
  `The TLS connection to PostgreSQL at ${at} fails. Check sslmode and sslrootcert in ${url}.`;
const LOST = ({ at }: Place) =>
  `The connection to PostgreSQL at ${at} failed. Check its log and the network. The service continues when it is back.`;

/**
 * By SQLSTATE and by the codes of Node:
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const FAULTS: Readonly<Record<string, (place: Place) => string>> = {
  '3D000': ({ at, database, user }) =>
    `There is no database ${database} in PostgreSQL at ${at}. Create it: createdb --owner=${user} ${database}`,
  '28P01': PASSWORD,
  '28000': ({ at, database, user }) =>
    `PostgreSQL at ${at} does not let user ${user} use database ${database}. Check the role and pg_hba.conf.`,
  '42501': ({ at, database, user }) =>
    `User ${user} lacks rights in database ${database} at ${at}. Run there: alter database ${database} owner to ${user}`,
  '25006': STANDBY,
  '40001': CONFLICT,
  '40P01': CONFLICT,
  '55P03': CONFLICT,
  '53100': ({ at }) =>
    `The disk of PostgreSQL at ${at} is full. Make room there; the service then continues by itself.`,
  '53300': ({ at, user, connectionsMax }) =>
    `PostgreSQL at ${at} has no connection left for user ${user}. Raise its limit, or lower ${connectionsMax}.`,
  '57P01': ENDED,
  '57P02': ENDED,
  '57P03': ENDED,
  '57014': LATE,
  ECONNREFUSED: REFUSED,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ETIMEDOUT: LATE,
  EHOSTUNREACH: LATE,
  ENETUNREACH: LATE,
};

/** The driver's own errors have no code. */
const TOLD: readonly [RegExp, (place: Place) => string][] = [
  [/^connect ENOENT/, REFUSED], // the file of a socket
  [/^(ENOENT|EACCES|EISDIR)/, TLS], // that of a certificate
  [/standby/, STANDBY],
  [/password/, PASSWORD],
  [/timeout/i, LATE],
  [/SSL|TLS|certificate/, TLS],
];

/**
 * What a node of Citus says when it cannot reach another one. If the network is silent, it says for
 * how long it has waited, or, in a transaction that has written on several nodes, that an essential
 * connection has failed, with the SQLSTATE of an internal error.
 */
const BETWEEN_NODES = [
  /connection to the remote node (?<user>\S+?)@(?<node>\S+:\d+) failed/,
  /could not establish any connections to the node (?<node>\S+:\d+)/,
  /failure on connection marked as essential: (?<node>\S+:\d+)/,
  /connection establishment for node (?<node>\S+:\d+) failed/,
  /failed to prepare transaction '\S+' on host (?<node>\S+:\d+)/,
];

/** The node that another node of Citus cannot reach. The role that it tried is not always told. */
export function unreachableNode(cause: unknown): { node: string; user: string | undefined } | undefined {
  const { message = '' } = (cause ?? {}) as { message?: string };
  for (const text of BETWEEN_NODES) {
    const { node, user } = text.exec(message)?.groups ?? {};
    if (node !== undefined) return { node, user };
  }
  return undefined;
}

export function postgresFault(urls: readonly string[], cause: unknown, names: SettingNames): string {
  const { code = '', message = '' } = (cause ?? {}) as { code?: string; message?: string };
  const unreachable = unreachableNode(cause);
  if (unreachable) {
    const { node, user } = unreachable;
    const as = user === undefined ? '' : ` as user ${user}`;
    return `PostgreSQL at ${placeOf(urls).at} cannot reach the node ${node} of Citus${as}. Start that node, or check the network to it, its pg_hba.conf, and .pgpass and citus.node_conninfo on the other nodes. The service continues when it is back.`;
  }
  const fault = FAULTS[code] ?? TOLD.find(([pattern]) => pattern.test(message))?.[1] ?? LOST;
  return fault({ ...names, ...placeOf(urls) });
}

/** As the driver understands the addresses, with the defaults of PostgreSQL's own variables. */
function placeOf(urls: readonly string[]): Omit<Place, keyof SettingNames> {
  const servers = urls.map((url) => new pg.Client({ connectionString: withoutTls(url) }));
  const [{ database, user } = {}] = servers;
  return {
    at: servers.map(({ host, port }) => `${host}:${port}`).join(', '),
    database: database ?? '',
    user: user ?? '',
  };
}

/** The driver would read the files of certificates, which may be what is wrong. */
const withoutTls = (url: string): string => url.replace(/([?&])ssl[^&]*/g, '$1');
