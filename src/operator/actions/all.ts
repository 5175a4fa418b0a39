import type { Action } from '../action.ts';
import { accountActions } from './accounts.ts';

/** Every action. The API, the reference, the commands and their tests go through this list. */
export const actions: readonly Action[] = [...accountActions];
