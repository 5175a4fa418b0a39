import { defineColumns, type ParametersOf, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { EVERY_ACCOUNT, statement } from '../../store/statement.ts';

/** Connectors to carriers. They belong to the installation, not to an account. */
const CONFIGURATION = {
  name: 'text',
  kind: 'text',
  /** JSON of its kind, with secrets. Empty for a connector of the file. */
  config: 'text',
  origin: 'text',
  isDefault: 'flag',
  /** The most messages between claim and settlement, in each process. */
  submissionsMax: 'number',
  /** The most parts per second of all processes together; null for no limit. */
  ratePerSecond: 'number?',
  updatedAt: 'instant',
  /** A new random text with every change of the configuration. */
  revision: 'text?',
} as const;
/** The counts of parts since the connector exists. */
const COUNTS = { accepted: 'number', temporary: 'number', permanent: 'number', unknownOutcome: 'number' } as const;
const LAST_RESULTS = {
  lastAcceptedAt: 'instant?',
  /** Why the last submission that the carrier did not take was refused. */
  lastError: 'text?',
  lastErrorAt: 'instant?',
} as const;
const CONNECTOR_FIELDS = {
  ...CONFIGURATION,
  pausedAt: 'instant?',
  downSince: 'instant?',
  downReason: 'text?',
  /**
   * Until then outbound routes pass over it, because it refused most messages; null if they do not.
   */
  avoidedUntil: 'instant?',
  avoidedReason: 'text?',
  ...COUNTS,
  ...LAST_RESULTS,
  /** The last answer or callback of the carrier that the connector could not read. */
  unreadAnswer: 'text?',
  unreadAnswerAt: 'instant?',
  /** Whether the carrier reports what became of a message. */
  sendsReceipts: 'flag',
} as const;

export type ConnectorCounts = ValuesOf<typeof COUNTS>;
/** The last results since the last write; null if there were none. */
export type LastResults = ValuesOf<typeof LAST_RESULTS>;
export type ConnectorValues = ValuesOf<typeof CONNECTOR_FIELDS>;
export type ConnectorRow = RowOf<typeof CONNECTOR_FIELDS>;
export const connectorColumns = defineColumns(CONNECTOR_FIELDS);
const configuration = defineColumns(CONFIGURATION);

type One = { name: string };

const columns = connectorColumns.names;
const affects = 'none';

export const all = statement<Record<string, never>, ConnectorRow>(
  'connectors.all',
  `select ${columns} from carrier_connector order by name`,
);
export const byName = statement<One, ConnectorRow>(
  'connectors.byName',
  `select ${columns} from carrier_connector where name = :name`,
);
/** Adds a connector or changes its configuration. Its state and counts stay. */
export const put = statement<ParametersOf<typeof CONFIGURATION>>(
  'connectors.put',
  `insert into carrier_connector (${configuration.names}) values (${configuration.parameters})
   on conflict (name) do update set ${configuration.replacements('name')}`,
  { affects },
);
/** `name > ''` is always true and makes PostgreSQL read along the key: see EVERY_ACCOUNT. */
export const onlyDefault = statement<One>(
  'connectors.onlyDefault',
  "update carrier_connector set is_default = 0 where name > '' and name <> :name and is_default = 1",
  { affects },
);
export const remove = statement<One>('connectors.remove', 'delete from carrier_connector where name = :name', {
  affects,
});
export const setPaused = statement<One & { pausedAt: number | null }>(
  'connectors.setPaused',
  'update carrier_connector set paused_at = :pausedAt where name = :name',
  { affects },
);
/**
 * Read by each claim with a shared lock: a pause, and another default, wait until the transaction
 * of the claim has ended, and the next claim sees them. So after a pause is answered, no process
 * claims more, and after another connector has become the default, the former one gets nothing more
 * that names no connector.
 */
export const forClaim = statement<One, { paused_at: bigint | null; is_default: bigint }>(
  'connectors.forClaim',
  'select paused_at, is_default from carrier_connector where name = :name {share carrier_connector}',
);
/** Changes no row if the connector is down already. */
export const setDown = statement<One & { since: number; reason: string }>(
  'connectors.setDown',
  `update carrier_connector set down_since = :since, down_reason = :reason
   where name = :name and down_since is null`,
  { affects },
);
/** Changes the reason of a known outage. */
export const setDownReason = statement<One & { reason: string }>(
  'connectors.setDownReason',
  'update carrier_connector set down_reason = :reason where name = :name and down_since is not null',
  { affects },
);
/** Changes no row if the connector is up already. */
export const setUp = statement<One>(
  'connectors.setUp',
  `update carrier_connector set down_since = null, down_reason = null
   where name = :name and down_since is not null`,
  { affects },
);
export const addCounts = statement<One & ConnectorCounts & LastResults>(
  'connectors.addCounts',
  `update carrier_connector set accepted = accepted + :accepted, temporary = temporary + :temporary,
     permanent = permanent + :permanent, unknown_outcome = unknown_outcome + :unknownOutcome,
     last_accepted_at = coalesce(:lastAcceptedAt, last_accepted_at),
     last_error = coalesce(:lastError, last_error), last_error_at = coalesce(:lastErrorAt, last_error_at) where name = :name`,
  { affects },
);
export const setUnreadAnswer = statement<One & { answer: string; at: number }>(
  'connectors.setUnreadAnswer',
  'update carrier_connector set unread_answer = :answer, unread_answer_at = :at where name = :name',
  { affects },
);
export const setSendsReceipts = statement<One & { sendsReceipts: number }>(
  'connectors.setSendsReceipts',
  'update carrier_connector set sends_receipts = :sendsReceipts where name = :name',
  { affects },
);
/**
 * Takes permits for submissions from the rate that all processes share; no row if the last
 * submissions have used it up. A time far ahead comes from a clock that was put back since.
 */
export const takePermits = statement<One & { now: number; until: number; farAhead: number }, { next_slot_at: bigint }>(
  'connectors.takePermits',
  `update carrier_connector set next_slot_at = :until
   where name = :name and (next_slot_at <= :now or next_slot_at > :farAhead) returning next_slot_at`,
  { affects },
);
/** Corrects the rate if more or fewer parts were submitted than permits were taken. */
export const correctPermits = statement<One & { ms: number }>(
  'connectors.correctPermits',
  'update carrier_connector set next_slot_at = next_slot_at + :ms where name = :name',
  { affects },
);
/** What the choice of a way needs to know of all connectors. */
export const wayStates = statement<
  Record<string, never>,
  { name: string; paused_at: bigint | null; down_since: bigint | null; avoided_until: bigint | null }
>('connectors.wayStates', 'select name, paused_at, down_since, avoided_until from carrier_connector order by name');
/**
 * Changes no row if the connector is up, or was tried since `before`. A later time is from a clock
 * that was put back.
 */
export const tryDown = statement<One & { now: number; before: number }>(
  'connectors.tryDown',
  `update carrier_connector set tried_at = :now
   where name = :name and down_since is not null and (tried_at <= :before or tried_at > :now)`,
  { affects },
);
/** Routes pass over the connector until then. */
export const avoid = statement<One & { until: number; reason: string }>(
  'connectors.avoid',
  'update carrier_connector set avoided_until = :until, avoided_reason = :reason where name = :name',
  { affects },
);
export const inUse = statement<One, { accounts: bigint }>(
  'connectors.inUse',
  `select count(*) as accounts from account where connector = :name and ${EVERY_ACCOUNT}`,
);

const HOUR_COUNTS = ['accepted', 'temporary', 'permanent', 'unknown_outcome', 'delivered', 'failed'];

/** Adds parts to an hour, and replaces the counts of the hour that had its slot 31 days ago. */
export const addToHour = statement<
  One & ConnectorCounts & { slot: number; hour: number; delivered: number; failed: number }
>(
  'connectors.addToHour',
  `insert into connector_hour (connector, slot, hour, ${HOUR_COUNTS.join(', ')})
   values (:name, :slot, :hour, :accepted, :temporary, :permanent, :unknownOutcome, :delivered, :failed)
   on conflict (connector, slot) do update set hour = excluded.hour, ${HOUR_COUNTS.map(
     (count) =>
       `${count} = excluded.${count} + case when connector_hour.hour = excluded.hour then connector_hour.${count} else 0 end`,
   ).join(', ')}`,
  { affects },
);
/** `connector > ''` is always true and makes PostgreSQL read along the key. */
export const hoursSince = statement<
  { from: number },
  {
    connector: string;
    hour: bigint;
    accepted: bigint;
    temporary: bigint;
    permanent: bigint;
    unknown_outcome: bigint;
    delivered: bigint;
    failed: bigint;
  }
>(
  'connectors.hoursSince',
  `select connector, hour, ${HOUR_COUNTS.join(', ')} from connector_hour where connector > '' and hour >= :from`,
);
export const removeHours = statement<One>(
  'connectors.removeHours',
  'delete from connector_hour where connector = :name',
  {
    affects,
  },
);
