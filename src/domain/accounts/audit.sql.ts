import { statement } from '../../store/statement.ts';

/** The audit: who changed what. Calls only add rows. */
export interface AuditRow {
  audit_id: bigint;
  at: bigint;
  actor_kind: string;
  actor_name: string;
  token_id: bigint | null;
  address: string | null;
  action: string;
  account: string | null;
  target: string;
  fields: string;
  changes: string | null;
}
const columns = 'audit_id, at, actor_kind, actor_name, token_id, address, action, account, target, fields, changes';

export const addAudit = statement<{
  id: bigint;
  at: number;
  actorKind: string;
  actorName: string;
  token: bigint | null;
  address: string | null;
  action: string;
  account: string | null;
  target: string;
  fields: string;
  changes: string | null;
}>(
  'audit.add',
  `insert into audit (audit_id, at, actor_kind, actor_name, token_id, address, action, account, target, fields, changes)
   values (:id, :at, :actorKind, :actorName, :token, :address, :action, :account, :target, :fields, :changes)
   on conflict (audit_id) do nothing`,
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
