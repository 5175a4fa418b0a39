import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * What the simulator changes of the program while Node loads it: src/store/sqlite/ gets the
 * simulated disk as node:sqlite, and its thread of checkpoints is simulated too; src/store/postgres/ gets the
 * simulated network. One file may get a
 * planted fault. Node loads all static imports of a module before it runs it, so whoever simulates
 * calls this and imports the rest afterwards.
 */
export interface Mutation {
  /** Below the root of the project. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export const NOT_PLANTED = 'has to hold this exactly once';
const ROOT = new URL('../../', import.meta.url);
const STORE = new URL('src/store/sqlite/', ROOT).href;
const POSTGRES = new URL('src/store/postgres/', ROOT).href;
/** It starts the thread of checkpoints for the store. */
const THREADS = new URL('src/base/program-files.ts', ROOT).href;
const SIMULATED = new Set(['node:sqlite', 'node:worker_threads']);
const DISK = new URL('disk.ts', import.meta.url).href;
const NETWORK = new URL('postgres/socket.ts', import.meta.url).href;

/** In place of what the file imports. */
function simulated(specifier: string, parent: string): string | undefined {
  if (SIMULATED.has(specifier) && (parent.startsWith(STORE) || parent === THREADS)) return DISK;
  return specifier === 'node:net' && parent.startsWith(POSTGRES) ? NETWORK : undefined;
}

export function installHooks(mutation?: Mutation): void {
  const mutated = mutation && new URL(mutation.file, ROOT).href;
  registerHooks({
    resolve(specifier, context, next) {
      const url = simulated(specifier, context.parentURL ?? '');
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== mutated || !mutation) return loaded;
      const source = String(loaded.source);
      if (source.split(mutation.before).length !== 2) {
        throw new Error(`${fileURLToPath(url)} ${NOT_PLANTED}: ${mutation.before}`);
      }
      return { ...loaded, source: source.replace(mutation.before, () => mutation.after) };
    },
  });
}
