import { createHash } from 'node:crypto';
import { Problem } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import { EVERYTHING, FIRST_ID } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { takeIds } from '../accounts/ids.ts';
import * as sql from './templates.sql.ts';

/** Saved message templates. A template is identified by its exact text. */
export const TEMPLATE_LENGTH_MAX = 2_000;
export const TEMPLATES_MAX = 1_000;

export type Template = sql.TemplateRow;

export type Templates = ReturnType<typeof createTemplates>;

export function createTemplates(database: Database) {
  return {
    /** Lists templates in the order in which they were saved, after the template `after`. */
    all: (account: AccountKey, limit: number, after?: Template): Promise<Template[]> =>
      database.all(sql.templates, { account, from: after ? after.position + 1n : FIRST_ID, limit }),

    /** Saving an existing template changes nothing. */
    save: (account: AccountKey, text: string): Promise<void> =>
      database.transaction(account, async (queries) => {
        const hash = textHash(text);
        const present = await queries.first(sql.countTemplates, { account, hash });
        if (present?.same) return;
        await insertTemplates(queries, account, Number(present?.total ?? 0n), [{ hash, text }]);
      }),

    /** Returns the existing template if there is one. */
    add: (account: AccountKey, text: string): Promise<{ template: Template; isNew: boolean }> =>
      database.transaction(account, async (queries) => {
        const hash = textHash(text);
        const before = await queries.first(sql.templatePosition, { account, hash });
        if (!before) await addTemplates(queries, account, [text]);
        const found = before ?? (await queries.first(sql.templatePosition, { account, hash }));
        return { template: { position: found?.position ?? 0n, text }, isNew: !before };
      }),

    async deleteAt(account: AccountKey, position: bigint): Promise<boolean> {
      return (await database.run(sql.deleteTemplateAt, { account, position })) > 0;
    },

    async delete(account: AccountKey, text: string): Promise<boolean> {
      return (await database.run(sql.deleteTemplate, { account, hash: textHash(text) })) > 0;
    },
  };
}

/** The texts of all templates, in the order in which they were saved. */
export const allTemplates = async (queries: Queries, account: bigint): Promise<string[]> =>
  (await queries.all(sql.templates, { account, ...EVERYTHING })).map(({ text }) => text);

/** Replaces all templates. */
export async function replaceTemplates(
  queries: TransactionQueries,
  account: bigint,
  texts: readonly string[],
): Promise<void> {
  await queries.run(sql.deleteTemplates, { account });
  await addTemplates(queries, account, texts);
}

export function checkTemplate(text: string): void {
  if (text === '') throw new Problem('bad-argument', 'a template cannot be empty');
  if (text.length > TEMPLATE_LENGTH_MAX && [...text].length > TEMPLATE_LENGTH_MAX) {
    throw new Problem('bad-argument', `a template has at most ${TEMPLATE_LENGTH_MAX} characters`);
  }
}

/** Adds the missing templates in this order. Call it in a transaction of the account. */
export async function addTemplates(
  queries: TransactionQueries,
  account: AccountKey,
  texts: readonly string[],
): Promise<void> {
  if (texts.length === 0) return;
  const rows = await queries.all(sql.templateHashes, { account });
  const present = new Set(rows.map(({ text_hash }) => text_hash));
  const given = texts.map((text) => ({ hash: textHash(text), text }));
  const missing = given.filter(({ hash }) => !present.has(hash));
  if (missing.length > 0) await insertTemplates(queries, account, present.size, missing);
}

async function insertTemplates(
  queries: TransactionQueries,
  account: AccountKey,
  present: number,
  templates: readonly { hash: string; text: string }[],
): Promise<void> {
  for (const { text } of templates) checkTemplate(text);
  if (present + templates.length > TEMPLATES_MAX) {
    throw new Problem('bad-argument', `an account has at most ${TEMPLATES_MAX} templates`);
  }
  const first = await takeIds(queries, account, 'template', templates.length);
  const rows = templates.map((template, index) => ({ account, position: first + BigInt(index), ...template }));
  await queries.runAll(sql.addTemplate, rows);
}

/** An index holds the hash, because the text is too long for an index. */
const textHash = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
