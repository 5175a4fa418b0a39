import type { Extension } from '../../domain/privacy/extension.ts';
import { clientRetention, forgetClientsOf } from './clients.ts';
import { addSample } from './sample.ts';

/** What the service removes of a move: the clients of a removed account, and old ones. */
export const migrationExtension: Extension = {
  removeWithAccount: forgetClientsOf,
  retention: { clients: clientRetention },
  addSample,
};
