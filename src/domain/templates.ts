import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';
import type { AccountKey, Database, Queries, Writing } from '../store/database.ts';
import * as sql from '../store/statements/contacts.ts';
import { FIRST_ID } from './cursor.ts';
import { takeIds } from './ids.ts';

/** Saved message templates: a template is its text, exactly. */
export const TEMPLATE_LENGTH_MAX = 2_000;
export const TEMPLATES_MAX = 1_000;

export interface Template {
  readonly position: bigint;
  readonly text: string;
}

export type Templates = ReturnType<typeof createTemplates>;

export function createTemplates(database: Database) {
  return {
    /** In the order in which they were saved, behind the template `after`. */
    all: (account: AccountKey, limit: number, after?: Template): Promise<Template[]> =>
      database.all(sql.templates, { account, from: after ? after.position + 1n : FIRST_ID, limit }),

    /** Saving one that is there already changes nothing. */
    save: (account: AccountKey, text: string): Promise<void> =>
      database.transaction(account, async (queries) => {
        if (await hasTemplate(queries, account, text)) return;
        await addTemplates(queries, account, [text]);
      }),

    /** The one that is there, where it is there already. */
    add: (account: AccountKey, text: string): Promise<{ template: Template; isNew: boolean }> =>
      database.transaction(account, async (queries) => {
        const isNew = !(await hasTemplate(queries, account, text));
        if (isNew) await addTemplates(queries, account, [text]);
        const found = await queries.first(sql.template, { account, hash: textHash(text) });
        return { template: { position: found?.position ?? 0n, text }, isNew };
      }),

    async deleteAt(account: AccountKey, position: bigint): Promise<boolean> {
      return (await database.run(sql.deleteTemplateAt, { account, position })) > 0;
    },

    async delete(account: AccountKey, text: string): Promise<boolean> {
      return (await database.run(sql.deleteTemplate, { account, hash: textHash(text) })) > 0;
    },
  };
}

export function checkTemplate(text: string): void {
  if (text === '') throw new Problem('bad-argument', 'a template cannot be empty');
  if (text.length > TEMPLATE_LENGTH_MAX && [...text].length > TEMPLATE_LENGTH_MAX) {
    throw new Problem('bad-argument', `a template has at most ${TEMPLATE_LENGTH_MAX} characters`);
  }
}

/** Adds those that are missing. */
export async function addMissingTemplates(
  queries: Writing,
  account: AccountKey,
  texts: readonly string[],
): Promise<void> {
  const missing: string[] = [];
  for (const text of texts) if (!(await hasTemplate(queries, account, text))) missing.push(text);
  await addTemplates(queries, account, missing);
}

/** New ones, in this order behind those that are there. Belongs into a transaction of the account. */
export async function addTemplates(queries: Writing, account: AccountKey, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return;
  for (const text of texts) checkTemplate(text);
  const present = (await queries.first(sql.countTemplates, { account }))?.total ?? 0n;
  if (present + BigInt(texts.length) > TEMPLATES_MAX) {
    throw new Problem('bad-argument', `an account has at most ${TEMPLATES_MAX} templates`);
  }
  const first = await takeIds(queries, account, 'template', texts.length);
  await queries.runAll(
    sql.addTemplate,
    texts.map((text, index) => ({ account, position: first + BigInt(index), hash: textHash(text), text })),
  );
}

async function hasTemplate(queries: Queries, account: AccountKey, text: string): Promise<boolean> {
  return (await queries.first(sql.template, { account, hash: textHash(text) })) !== undefined;
}

/** Texts are found by their hash, since they are longer than an index takes. */
const textHash = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
