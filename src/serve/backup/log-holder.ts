import { DatabaseSync } from 'node:sqlite';

/**
 * Keeps SQLite from beginning its write-ahead log again before its pages are shipped, whichever
 * process writes.
 *
 * A reader holds a read mark of the log, see "Concurrency" in https://www.sqlite.org/wal.html.
 * While it does, frames after its mark are not copied into the database, and a log whose frames
 * are not all copied does not begin again. So as long as everything up to the mark of the reader is
 * captured, nothing is lost: either the log continues, or it begins again with nothing in between.
 * The next reader begins before the one before it ends.
 *
 * A reader that begins while all frames are copied needs no frame. It does not keep the log from
 * beginning again, once, and keeps later frames from being copied. `restart` brings this about
 * while it holds the write lock.
 */
export interface LogHolder {
  /**
   * Moves the mark to the end of the log. `captureRest` captures what was committed meanwhile;
   * false: it could not, and the mark stays.
   */
  advance(captureRest: () => boolean): boolean;
  /** Lets the log begin again. Returns false if others read or write, and nothing changed. */
  restart(captureRest: () => boolean, truncate: boolean): boolean;
  /**
   * Runs `work` while nobody writes and the database file has every commit. Null if others use it,
   * or if something is not captured.
   */
  settle<T>(isCaptured: () => boolean, work: () => T): T | null;
  /** The frames of the log. */
  frames(): number;
  close(): void;
}

const WRITE_TRIES = 20;
const WRITE_PAUSE_MS = 5;

export function createLogHolder(path: string): LogHolder {
  const open = () => {
    const database = new DatabaseSync(path, { timeout: 0 });
    database.exec('pragma wal_autocheckpoint = 0');
    return database;
  };
  let reader = open();
  let spare = open();
  const writer = open();
  begin(reader);

  function advance(captureRest: () => boolean): boolean {
    begin(spare);
    if (!captureRest()) {
      spare.exec('rollback');
      return false;
    }
    reader.exec('rollback');
    [reader, spare] = [spare, reader];
    return true;
  }

  function restart(captureRest: () => boolean, truncate: boolean): boolean {
    checkpoint(writer, 'passive'); // copies most frames before anybody has to wait
    if (!tryBegin(writer)) return false;
    let isReady = false;
    try {
      const isCopied = () => {
        const { log, checkpointed } = checkpoint(spare, 'passive');
        return checkpointed === log;
      };
      isReady = advance(captureRest) && isCopied() && advance(captureRest);
    } finally {
      writer.exec('rollback');
    }
    if (isReady && truncate) checkpoint(writer, 'truncate');
    return isReady;
  }

  function settle<T>(isCaptured: () => boolean, work: () => T): T | null {
    if (!tryBegin(writer)) return null;
    try {
      if (!advance(isCaptured)) return null;
      const { busy, log, checkpointed } = checkpoint(spare, 'passive');
      return busy === 0 && checkpointed === log ? work() : null;
    } finally {
      writer.exec('rollback');
    }
  }

  return {
    advance,
    restart,
    settle,
    frames: () => Math.max(0, checkpoint(spare, 'passive').log),
    close: () => {
      for (const each of [spare, reader, writer]) each.close();
    },
  };
}

/** Reading the header of the file takes the read mark. */
function begin(database: DatabaseSync): void {
  database.exec('begin');
  database.prepare('pragma schema_version').get();
}

function tryBegin(writer: DatabaseSync): boolean {
  for (let tries = 1; tries <= WRITE_TRIES; tries++) {
    try {
      writer.exec('begin immediate');
      return true;
    } catch {
      Atomics.wait(PAUSE, 0, 0, WRITE_PAUSE_MS); // others hold the lock for some milliseconds
    }
  }
  return false;
}
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

function checkpoint(database: DatabaseSync, mode: 'passive' | 'truncate') {
  const found = database.prepare(`pragma wal_checkpoint(${mode})`).get();
  return found as Record<'busy' | 'log' | 'checkpointed', number>;
}
