import type { Database, Queries, TransactionQueries } from '../../src/store/database.ts';

/** A database of which one statement fails: the nth of those that are counted from then on. */
export interface Faults {
  /** Around the one that was opened. */
  readonly around: (opened: Database) => Database;
  arm(nth: number, thrown: Error): void;
  /** No more faults; whether there was one. */
  disarm(): boolean;
}

export function createFaults(): Faults {
  let left = 0;
  let failure: Error | undefined;
  let fired = false;

  function count(): void {
    if (!failure || --left > 0) return;
    const thrown = failure;
    failure = undefined;
    fired = true;
    throw thrown;
  }
  /** What is done after an answer is nobody's call. */
  const isOwn = ({ name }: { name: string }) => /^(?:purge|retention|migrationClients)\./.test(name);

  const queries = (inner: Queries): Queries => ({
    async all(statement, parameters) {
      count();
      return inner.all(statement, parameters);
    },
    async first(statement, parameters) {
      if (!isOwn(statement)) count();
      return inner.first(statement, parameters);
    },
    async run(statement, parameters) {
      if (!isOwn(statement)) count();
      return inner.run(statement, parameters);
    },
  });
  const writing = (inner: TransactionQueries): TransactionQueries => ({
    ...queries(inner),
    async runAll(statement, parameters) {
      count();
      return inner.runAll(statement, parameters);
    },
  });

  return {
    around: (opened) => ({
      ...opened,
      ...queries(opened),
      async identify(userIdHash) {
        count();
        return opened.identify(userIdHash);
      },
      confirm(account) {
        const asked = opened.confirm(account);
        return asked?.then(count);
      },
      async transaction(account, work) {
        count(); // its begin
        return opened.transaction(account, async (inner) => {
          const result = await work(writing(inner));
          count(); // its commit, which then does not come
          return result;
        });
      },
      async snapshot(work) {
        count();
        return opened.snapshot((inner) => work(queries(inner)));
      },
      async check() {
        count();
        return opened.check();
      },
    }),
    arm(nth, thrown) {
      [left, failure, fired] = [nth, thrown, false];
    },
    disarm() {
      failure = undefined;
      return fired;
    },
  };
}
