import { isIP } from 'node:net';

/** One setting: its environment variable, its default, and what it means. */
export interface Setting<T> {
  readonly variable: string;
  readonly fallback: string;
  readonly meaning: string;
  /** Throws an Error that says what was expected. */
  readonly parse: (text: string) => T;
  /** Writes a value as `parse` reads it; without it, String does. */
  format?(value: T): string;
  /** The value is never printed. */
  readonly secret?: boolean;
  /** False: there is no flag, because other users of the machine can read command lines. */
  readonly hasFlag?: boolean;
  /** The variable of an earlier version. It is still read, with a warning, for one version. */
  readonly formerly?: string;
  /** For paths: resolves a relative path against a folder. */
  readonly within?: (value: string, folder: string) => string;
}

export const setting = <T>(
  variable: string,
  fallback: string,
  meaning: string,
  parse: (text: string) => T,
): Setting<T> => ({ variable, fallback, meaning, parse });

export const wholeNumber =
  (least: number, most: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`expected a whole number from ${least} to ${most}`);
    }
    return number;
  };

export const text = (value: string): string => value;

/** An empty value is rejected: it would mean all addresses, and a variable is easily left empty. */
export const listenAddress = (value: string): string => {
  if (isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) {
    throw new Error('expected an address or a name without port, such as 127.0.0.1, ::1, localhost or 0.0.0.0 for all');
  }
  return value;
};

// The parameters of libpq that the driver knows. A misspelt sslmode would connect without TLS.
const POSTGRES_PARAMETERS =
  'sslmode ssl sslcert sslkey sslrootcert sslpassword sslnegotiation uselibpqcompat target_session_attrs application_name fallback_application_name connect_timeout connect_timeout_ms options client_encoding keepalives keepalives_idle host port user password dbname statement_timeout lock_timeout idle_in_transaction_session_timeout query_timeout'.split(
    ' ',
  );

export const database = (value: string): string => {
  if (!/^(sqlite:|postgres(ql)?:\/\/).+/.test(value)) {
    throw new Error('expected sqlite: and a path (sqlite:data/columba.db), or postgres://USER:PASSWORD@HOST/DATABASE');
  }
  // SQLite would take these as databases in memory or as URIs with parameters, and a restart would
  // lose all data.
  if (/^sqlite:(?:\s*$|\s*:memory:|file:)/i.test(value)) {
    throw new Error(
      'expected sqlite: and the path of a file, because a database in memory loses all data when the program ends',
    );
  }
  if (/^postgres(?:ql)?:\/\/[^/?#]*[/?#].*@[^@/?]+\//s.test(value)) {
    throw new Error('expected the characters / ? # in a password to be written as %2F %3F %23');
  }
  const [, query = ''] = value.startsWith('postgres') ? value.split(/\?(.*)/s) : [];
  const unknown = [...new URLSearchParams(query).keys()].find((name) => !POSTGRES_PARAMETERS.includes(name));
  if (unknown !== undefined) throw new Error(`expected parameters of PostgreSQL, such as sslmode, and not ${unknown}`);
  return value;
};

/**
 * The characters of a URI (RFC 3986) with at most one #; XML and header fields need no escapes.
 */
const URI_CHARACTERS = /^(?:[\w.~:/?@!$'()*+,;=-]|%[\da-f]{2})*(?:#(?:[\w.~:/?@!$'()*+,;=-]|%[\da-f]{2})*)?$/i;

export const uri = (value: string): string => {
  if (!/^[a-z][a-z0-9+.-]*:./i.test(value) || !URI_CHARACTERS.test(value) || !URL.canParse(value)) {
    throw new Error('expected a URI such as http://sms.example/api');
  }
  return value;
};

export const baseUrl = (value: string): string => {
  if (value === '') return value;
  const url = URI_CHARACTERS.test(value.replace(/\[[\da-f:.]+\]/i, '')) ? URL.parse(value) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('expected an address such as https://sms.example/gateway');
  }
  return value.replace(/\/+$/, '');
};

export const zone = (value: string): string => {
  try {
    if (value !== 'UTC') new Intl.DateTimeFormat('en', { timeZone: value }); // 20 ms, which the default does without
  } catch {
    throw new Error('expected a time zone such as UTC, Africa/Johannesburg or +02:00');
  }
  return value;
};

export const region = (value: string): string => {
  if (!/^([A-Z]{2})?$/.test(value)) throw new Error('expected a country code of two capital letters such as ZA');
  return value;
};

export const level = (value: string): string => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
  if (!levels.includes(value)) throw new Error(`expected one of ${levels.join(', ')}`);
  return value;
};
