import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Message templates. */
export interface TemplateRow {
  readonly position: bigint;
  readonly text: string;
}
type One = { account: AccountKey };

/** A page of the templates whose positions start at `from`. */
export const templates = statement<One & { from: bigint; limit: number }, TemplateRow>(
  'templates.templates',
  'select position, text from template where account_id = :account and position >= :from order by position {limit :limit}',
);
/** A page of the positions from `to` down. */
export const templatesDown = statement<One & { to: bigint; limit: number }, TemplateRow>(
  'templates.templatesDown',
  'select position, text from template where account_id = :account and position <= :to order by position desc {limit :limit}',
);
export const templatePosition = statement<{ account: AccountKey; hash: string }, { position: bigint }>(
  'templates.templatePosition',
  'select position from template where account_id = :account and text_hash = :hash',
);
export const templateHashes = statement<One, { text_hash: string }>(
  'templates.templateHashes',
  'select text_hash from template where account_id = :account',
);
/** Counts the templates, and those with this text. */
export const countTemplates = statement<{ account: AccountKey; hash: string }, { total: bigint; same: bigint }>(
  'templates.countTemplates',
  `select count(*) as total, count(case when text_hash = :hash then 1 end) as same
   from template where account_id = :account`,
);
export const addTemplate = statement<{ account: AccountKey; position: bigint; hash: string; text: string }>(
  'templates.addTemplate',
  'insert into template (account_id, position, text_hash, text) values (:account, :position, :hash, :text)',
);
export const deleteTemplate = statement<{ account: AccountKey; hash: string }>(
  'templates.deleteTemplate',
  'delete from template where account_id = :account and text_hash = :hash',
  { deletes: () => '1 template' },
);

export const deleteTemplateAt = statement<{ account: AccountKey; position: bigint }>(
  'templates.deleteTemplateAt',
  'delete from template where account_id = :account and position = :position',
);
export const deleteTemplates = statement<One>(
  'templates.deleteAll',
  'delete from template where account_id = :account',
);
