import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { createIndexer } from '../src/domain/search/indexer.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { ACCOUNT_ID, FIRST_ID, type Filled, fillSqlite } from './fill.ts';
import { temporaryFolder } from './processes.ts';
import { say, whole } from './report.ts';

/**
 * The database of bench/console.ts: account000000 with many received and as many sent messages and 10,000 contacts,
 * account000001 with few. Its search index is complete, which takes two minutes of CPU for each million messages.
 */
export async function consoleDatabase(messages: number, few: number): Promise<string> {
  const path = join(temporaryFolder(), 'bench.db');
  const kept = process.env.KEPT;
  if (kept && existsSync(kept)) copyFileSync(kept, path);
  else await fillAndIndex(path, messages, few);
  if (kept && !existsSync(kept)) {
    copyFileSync(path, `${kept}.part`);
    renameSync(`${kept}.part`, kept);
  }
  return `sqlite:${path}`;
}

async function fillAndIndex(path: string, messages: number, few: number): Promise<void> {
  say(`filling an account with ${whole(messages)} messages`);
  const filled = await fillSqlite(path, { accounts: 2, every: 2, messages, others: few, sent: true });
  await addRest(filled, messages);
  await filled.close();
  const database = await openSqlite(path, systemClock);
  const indexer = createIndexer(database, async () => 'ZA');
  const startedAt = Date.now();
  const progress = setInterval(() => say(`indexing for ${whole((Date.now() - startedAt) / 1_000)} s`), 30_000);
  await indexer.run(async () => {});
  clearInterval(progress);
  await database.close();
}

async function addRest(filled: Filled, messages: number): Promise<void> {
  // What the rows were made with did not count their ids.
  await filled.query(`insert into id_counter (account_id, kind, last_id)
    select ${ACCOUNT_ID}, 'message', ${FIRST_ID + messages} from ${filled.dialect.numbers(2)} as accounts where true
    on conflict (account_id, kind) do update set last_id = excluded.last_id`);
  await filled.query(`update sent set status = 'UNDELIVERABLE' where message_id % 97 = 0`);
  await filled.query(`insert into contact (account_id, contact_id, name, surname, mobile, number_key)
    select ${ACCOUNT_ID.replace('number', '0')}, number + 1, 'Thandi', 'Number' || number,
      '+2782555' || ${filled.dialect.padded('number', 4)}, '2782555' || ${filled.dialect.padded('number', 4)}
    from ${filled.dialect.numbers(Math.min(10_000, messages))} as numbers`);
}
