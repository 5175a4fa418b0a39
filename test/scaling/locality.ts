/** Whether SQL stays with one account: what decides that the data can be spread over machines by account. */

export interface StatementText {
  readonly name: string;
  readonly text: string;
}

const plainText = (text: string): string =>
  text
    .replace(/'[^']*'/g, "''")
    .replace(/\{\w+ ?[^}]*\}/g, ' … ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();

/** The reasons why a statement does not fit a database that is spread by account; empty if it fits. */
export function strayings({ text }: StatementText, tables: readonly string[]): string[] {
  const plain = plainText(text);
  if (plain.startsWith('insert')) return insertStrayings(plain);
  return blocksOf(plain).flatMap((block) => blockStrayings(block, tables));
}

/**
 * Tables of a subquery that compares its account with that of the outer row only. Both are the same, but Citus sees it where
 * the account is a value, and asks all nodes otherwise.
 */
export const unnamedIn = ({ text }: StatementText, tables: readonly string[]): string[] =>
  blocksOf(plainText(text).replace(/(^insert into \w+|\bon conflict) ?\([^)]*\)/g, ''))
    .slice(0, -1)
    .flatMap((block) => (/\baccount_id = :account\b/.test(block) ? [] : readIn(block, tables)));

const insertStrayings = (text: string): string[] =>
  /^insert into \w+ ?\(account_id\b[^)]*\) values \(:account\b[^()]*\)( on conflict \(account_id\b[^)]*\) do (nothing|update set (?!account_id)[^;]*))?$/.test(
    text,
  )
    ? []
    : ['does not insert plain values with the account first'];

/** The text without what is in parentheses, and each of those by itself: a subquery reads tables of its own. */
function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let rest = text;
  for (;;) {
    const inner = /\(([^()]*)\)/.exec(rest);
    if (!inner) return [...blocks, rest];
    blocks.push((inner[1] as string).trim());
    rest = rest.replace(inner[0], ' … ');
  }
}

const readIn = (block: string, tables: readonly string[]): string[] =>
  [...block.matchAll(/\b(?:from|join|update|into|using|,) (\w+)\b(?!\.)/g)]
    .map(([, name]) => name as string)
    .filter((name) => tables.includes(name));

function blockStrayings(block: string, tables: readonly string[]): string[] {
  const read = readIn(block, tables);
  if (read.length === 0) return [];
  const [, where = ''] = /\bwhere (.*?)(?: order by | limit | returning | for (?:no key )?update|$)/.exec(block) ?? [];
  // With an `or` the account would be one of several ways in.
  const conditions = /\bor\b/.test(where) ? [] : where.split(/ and /);
  const [first = '', ...joined] = read;
  const bound = conditions.some((condition) =>
    new RegExp(`^(?:${first}\\.)?account_id = (?::account|(?!${first}\\b)\\w+\\.account_id)$`).test(condition.trim()),
  );
  const unjoined = joined.filter((table) => !new RegExp(`\\b${table}\\.account_id = \\w+\\.account_id\\b`).test(block));
  return [
    ...(bound ? [] : [`${first} is not restricted to account_id = :account`]),
    ...unjoined.map((table) => `${table} is joined without its account_id`),
  ];
}

export interface Index {
  readonly table: string;
  readonly name: string;
  readonly kind: 'primary key' | 'unique' | 'index' | 'foreign key';
  readonly columns: readonly string[];
}

export const strayingIndexes = (indexes: readonly Index[]): string[] =>
  indexes
    .filter(({ columns }) => columns[0] !== 'account_id')
    .map(({ table, kind, columns }) => `${table}: ${kind} (${columns.join(', ')})`)
    .sort();
