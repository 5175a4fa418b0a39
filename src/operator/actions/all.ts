import type { Action } from '../action.ts';
import { accountActions } from './accounts.ts';
import { serviceActions } from './service.ts';
import { tokenActions } from './tokens.ts';
import { userIdActions } from './user-ids.ts';

/** Every action. The API, the reference, the commands and their tests go through this list. */
export const actions: readonly Action[] = [...accountActions, ...userIdActions, ...tokenActions, ...serviceActions];
