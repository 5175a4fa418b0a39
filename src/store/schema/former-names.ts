/**
 * What a table of an older version is called there. Migrations add tables and columns, so whatever
 * an older table holds is also in the newer one; what was renamed gets its former name again.
 */
export interface Renamed {
  /** The first version that has the new names. */
  readonly version: number;
  /** By table and former column: the column that it is now. */
  readonly columns: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By table and column: the former value for each new one. */
  readonly values: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
}
const RENAMED: readonly Renamed[] = [
  {
    version: 27,
    columns: {
      account: { unsure_policy: 'unknown_outcome_policy' },
      carrier_connector: { unsure: 'unknown_outcome' },
    },
    values: {
      // `held` is that of the spend guard, which an older version does not have: a person decides.
      dispatch: { state: { 'unknown-outcome': 'unsure', 'needs-decision': 'undecided', held: 'undecided' } },
      attempt: { state: { 'unknown-outcome': 'unsure' } },
      taken_message: { state: { activated: 'armed' } },
      carrier_connector: { kind: { callback: 'webhook' } },
    },
  },
  { version: 32, columns: {}, values: { dispatch: { state: { held: 'needs-decision' } } } },
];

/** Before this version an account had one row in it, and not one for each way of its messages. */
const WAYS_VERSION = 31;

/** How many rows the older tables do not accept, by table. */
export type LeftOut = Readonly<Record<string, number>>;

interface Tables {
  /** The schema with the older tables, and the one with the newer ones. */
  readonly older: string;
  readonly newer: string;
  /** The version of the older tables. */
  readonly version: number;
}

/** The columns of a table of the older version, and what each gets: an expression of SQL. */
export function columnsToCopy(
  table: string,
  { older, newer, version }: { older: readonly string[]; newer: readonly string[]; version: number },
): { readonly to: string; readonly from: string }[] {
  const renamed = RENAMED.find((each) => version < each.version);
  return older.flatMap((name) => {
    const from = renamed?.columns[table]?.[name] ?? name;
    return newer.includes(from) ? [{ to: quoted(name), from: formerly(from, renamed?.values[table]?.[name]) }] : [];
  });
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The former value of a column whose values were renamed. */
function formerly(column: string, values: Readonly<Record<string, string>> = {}): string {
  const cases = Object.entries(values).map(([now, former]) => `when '${now}' then '${former}'`);
  return cases.length === 0 ? quoted(column) : `case ${quoted(column)} ${cases.join(' ')} else ${quoted(column)} end`;
}

/** The command that fills a table which is not copied row by row; null for all others. */
export const ownCopy = (table: string, { older, newer, version }: Tables): string | null =>
  table === 'dispatch_account' && version < WAYS_VERSION
    ? `insert into ${older}.dispatch_account (account_id, next_due_at, served_at, connector_key, priority)
       select account.account_id, min(way.next_due_at), min(way.served_at),
         case when account.disabled_at is null then coalesce(account.connector, '') end, account.priority
       from ${newer}.dispatch_account as way join ${newer}.account on account.account_id = way.account_id
       group by account.account_id, account.disabled_at, account.connector, account.priority`
    : null;
