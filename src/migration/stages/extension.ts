import type { Extension } from '../../domain/privacy/extension.ts';
import { clientRetention, forgetClientsOf } from './clients.ts';
import { addSample } from './sample.ts';

/** What the service removes for a migration: clients of a removed account, and old clients. */
export const migrationExtension: Extension = {
  removeWithAccount: forgetClientsOf,
  retention: { clients: clientRetention },
  addSample,
};
