import type { Route } from '../visit.ts';
import { blacklistRoutes } from './blacklist.ts';
import { composeRoutes } from './compose.ts';
import { contactRoutes } from './contacts.ts';
import { conversationRoutes } from './conversation.ts';
import { creditRoutes } from './credits.ts';
import { groupRoutes } from './groups.ts';
import { importRoutes } from './import.ts';
import { inboxRoutes } from './inbox.ts';
import { holderAccessRoutes } from './keys.ts';
import { messageRoutes } from './message.ts';
import { overviewRoutes } from './overview.ts';
import { scheduledRoutes } from './scheduled.ts';
import { sentRoutes } from './sent.ts';
import { templateRoutes } from './templates.ts';

/** Every screen of the holder of an account. Operators see them below the account's name. */
export const holderRoutes: readonly Route[] = [
  overviewRoutes,
  inboxRoutes,
  conversationRoutes,
  sentRoutes,
  messageRoutes,
  scheduledRoutes,
  composeRoutes,
  contactRoutes,
  groupRoutes,
  importRoutes,
  templateRoutes,
  blacklistRoutes,
  creditRoutes,
  holderAccessRoutes,
].flat();

/** Every screen of the operator. */
export const operatorRoutes: readonly Route[] = [];
