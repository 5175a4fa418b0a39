import type { createArchive } from '../../transfer/archive.ts';

/** The database as the domain takes it. */
export type MigrationDatabase = Parameters<typeof createArchive>[0];
