import { defineColumns, type ParametersOf, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** The audit: who changed what. Calls only add rows. */
const fields = {
  id: 'long',
  at: 'instant',
  actorKind: 'text',
  actorName: 'text',
  tokenId: 'long?',
  address: 'text?',
  action: 'text',
  account: 'text?',
  target: 'text',
  /** The names of the changed fields, separated by commas. */
  fields: 'text',
  /** Their values before and after, as JSON. */
  changes: 'text?',
} as const;
const AUDIT_ID = { id: 'audit_id' } as const;
export type AuditRow = RowOf<typeof fields, typeof AUDIT_ID>;
export const auditColumns = defineColumns(fields, AUDIT_ID);
const columns = auditColumns.names;

export const addAudit = statement<ParametersOf<typeof fields>>(
  'audit.add',
  `insert into audit (${columns}) values (${auditColumns.parameters}) on conflict (audit_id) do nothing`,
  { affects: 'none' },
);
interface Before {
  fromAt: number;
  beforeAt: number;
  beforeId: bigint;
  limit: number;
}
/** Newest first. */
export const auditBefore = statement<Before, AuditRow>(
  'audit.before',
  `select ${columns} from audit where at >= :fromAt and (at, audit_id) < (:beforeAt, :beforeId)
   order by at desc, audit_id desc {limit :limit}`,
);
export const auditOfAccountBefore = statement<Before & { name: string }, AuditRow>(
  'audit.ofAccountBefore',
  `select ${columns} from audit where account = :name and at >= :fromAt and (at, audit_id) < (:beforeAt, :beforeId)
   order by at desc, audit_id desc {limit :limit}`,
);
