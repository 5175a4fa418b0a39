import type { SQLInputValue } from 'node:sqlite';
import type { Clock } from '../../src/base/clock.ts';
import { adoptCopy, hasBackup, putBack, takeBackup } from './backup.ts';
import { CODES, closeOf, type DiskEvents, losePower, openObserver, replaceDisk } from './disk.ts';
import { layDisk } from './lay-disk.ts';
import type { Owner } from './scheduler.ts';

/** Where a simulated world keeps its data: SQLite on one file, or a real PostgreSQL, see postgres/. */
export interface Storage {
  readonly databaseUrl: string;
  /** From now on the world sees each statement. The returned function ends that. */
  watch(events: DiskEvents): () => void;
  /** Reads what is committed, outside of the world. */
  observer(): Observer;
  /** Before the file that it reads is another one. */
  closeObserver(): void;
  /** The process is dead, and its connections end. */
  closeOf(owner: Owner): void;
  /** Every process is gone. Acknowledged writes are there afterwards. */
  losePower(): void;
  /** Whether a refusal of this kind can meet this statement. */
  canRefuse(code: number, text: string): boolean;
  readonly backup?: Backup;
  /** The server dies. The returned function promotes its standby. */
  failOver?(): () => void;
  /** Resolves when nothing is under way outside of the scheduler. */
  settled?(): Promise<void>;
  notes?(): string;
}
export interface Backup {
  take(): void;
  exists(): boolean;
  putBack(): void;
  /** What `columba restore` does before anything serves the copy. */
  adopt(clock: Clock, holdScheduled: boolean): Promise<void>;
}
export interface Observer {
  prepare(text: string): {
    get(...values: (SQLInputValue | Record<string, SQLInputValue>)[]): Record<string, unknown> | undefined;
    all(...values: (SQLInputValue | Record<string, SQLInputValue>)[]): Record<string, unknown>[];
  };
}

/** On the file of this process, which gets the rows of the template. */
export function sqliteStorage(template: string): Storage {
  const path = layDisk(template);
  let observer: ReturnType<typeof openObserver> | undefined;
  return {
    databaseUrl: `sqlite:${path}`,
    watch: replaceDisk,
    observer() {
      observer ??= openObserver(path);
      return observer as Observer;
    },
    closeObserver() {
      observer?.close();
      observer = undefined;
    },
    closeOf,
    losePower: () => losePower(path),
    // A statement inside of a transaction that has the lock is never told that it is locked.
    canRefuse: (code, text) => code !== CODES.busy || text === 'begin immediate',
    backup: {
      take: () => takeBackup(path),
      exists: () => hasBackup(path),
      putBack: () => putBack(path),
      adopt: (clock, holdScheduled) => adoptCopy(path, clock, holdScheduled),
    },
  };
}
