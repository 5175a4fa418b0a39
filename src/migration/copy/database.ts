import type { createArchive } from '../../transfer/archive.ts';

/** The database as the domain takes it: this folder runs no SQL of its own. */
export type MigrationDatabase = Parameters<typeof createArchive>[0];
