import { DatabaseSync } from 'node:sqlite';

// As many messages as a claim of the dispatcher has.
const BATCH = 250;

/**
 * Messages per second of a bare loop on SQLite with synchronous=full. It writes the rows of a
 * message: claim, submission, settlement, receipt. A transaction has 250
 * messages. Nothing is checked, and nobody reads.
 */
export function measureFloor(path: string, messages: number): number {
  const database = new DatabaseSync(path);
  database.exec(`
    pragma journal_mode = wal; pragma synchronous = full;
    create table sent (account integer, id integer, status text, updated_at integer, is_marked integer, text text,
      primary key (account, id)) without rowid;
    create index sent_by_state on sent (account, is_marked, updated_at, id);
    create table dispatch (account integer, id integer, state text, due_at integer, primary key (account, id)) without rowid;
    create index dispatch_by_due on dispatch (account, state, due_at, id);
    create table attempt (account integer, id integer, attempt integer, part integer, attempt_id text, state text,
      status text, primary key (account, id, attempt, part)) without rowid;
    create index attempt_by_id on attempt (attempt_id);
    create table history (account integer, id integer, position integer, status text, at integer,
      primary key (account, id, position)) without rowid;
    create table movement (account integer, id integer, amount integer, at integer, primary key (account, id)) without rowid;
    create index movement_by_time on movement (account, at, id);`);
  const prepare = (sql: string) => database.prepare(sql);
  const accept = [
    prepare("insert into sent values (1, ?, 'QUEUED', 1, 0, 'Your parcel has arrived.')"),
    prepare("insert into dispatch values (1, ?, 'waiting', 1)"),
  ];
  const steps = [
    [
      prepare("update dispatch set state = 'submitting', due_at = 2 where account = 1 and id = ?"),
      prepare("insert into attempt values (1, ?1, 1, 1, printf('%032d', ?1), 'submitting', null)"),
    ],
    [
      prepare("update attempt set state = 'accepted' where account = 1 and id = ?"),
      prepare('delete from dispatch where account = 1 and id = ?'),
      prepare("update sent set status = 'SUBMITTED', updated_at = 2 where account = 1 and id = ?"),
      prepare("insert into history values (1, ?, 2, 'SUBMITTED', 2)"),
      prepare('insert into movement values (1, ?, 1, 2)'),
    ],
    [
      prepare("update attempt set status = 'DELIVERED' where account = 1 and id = ?"),
      prepare("update sent set status = 'DELIVERED', updated_at = 3 where account = 1 and id = ?"),
      prepare("insert into history values (1, ?, 3, 'DELIVERED', 3)"),
    ],
  ];
  const inTransaction = (work: () => void) => {
    database.exec('begin immediate');
    work();
    database.exec('commit');
  };
  inTransaction(() => {
    for (let id = 1; id <= messages; id++) for (const each of accept) each.run(id);
  });
  const start = performance.now();
  for (let first = 1; first <= messages; first += BATCH) {
    for (const step of steps) {
      inTransaction(() => {
        for (let id = first; id < Math.min(first + BATCH, messages + 1); id++) for (const each of step) each.run(id);
      });
    }
  }
  const rate = (messages / (performance.now() - start)) * 1_000;
  database.close();
  return rate;
}
