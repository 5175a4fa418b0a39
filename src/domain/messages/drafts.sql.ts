import { statement } from '../../store/statement.ts';

/** A message that was written in the console and is not sent yet: see schema/sending.ts. */
type Draft = { account: bigint; id: string };

export const saveDraft = statement<Draft & { owner: string; at: number; bytes: number; content: string }>(
  'drafts.save',
  `insert into message_draft (account_id, draft_id, owner, saved_at, bytes, content)
   values (:account, :id, :owner, :at, :bytes, :content)
   on conflict (account_id, draft_id) do update set saved_at = excluded.saved_at, bytes = excluded.bytes,
     content = excluded.content, result = null`,
  { affects: 'none' },
);
export const draft = statement<
  Draft,
  { owner: string; saved_at: bigint; content: string | null; result: string | null }
>(
  'drafts.draft',
  'select owner, saved_at, content, result from message_draft where account_id = :account and draft_id = :id',
);
/** Newest first. */
export const draftsOf = statement<{ account: bigint }, { draft_id: string; saved_at: bigint; bytes: bigint }>(
  'drafts.draftsOf',
  'select draft_id, saved_at, bytes from message_draft where account_id = :account order by saved_at desc, draft_id',
);
export const contentsOf = statement<{ account: bigint }, { draft_id: string; content: string | null }>(
  'drafts.contentsOf',
  'select draft_id, content from message_draft where account_id = :account and content is not null',
);
export const setResult = statement<Draft & { result: string }>(
  'drafts.setResult',
  `update message_draft set result = :result, content = null, bytes = 0
   where account_id = :account and draft_id = :id`,
  { affects: 'none' },
);
export const deleteDraft = statement<Draft>(
  'drafts.delete',
  'delete from message_draft where account_id = :account and draft_id = :id',
  { affects: 'none' },
);
export const forget = statement<{ before: number }>(
  'drafts.forget',
  'delete from message_draft where saved_at < :before',
  { affects: 'none' },
);
