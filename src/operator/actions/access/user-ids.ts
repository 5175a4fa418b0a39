import { z } from 'zod';
import { USER_ID_LENGTH_MAX } from '../../../domain/accounts/credentials.ts';
import { addUserId, revokeUserId, type UserId, userIdsOf } from '../../../domain/accounts/user-ids.ts';
import { type Action, accountAction, accountListAction, alwaysEndless, pageOf } from '../../action.ts';
import { accountParams, instant } from '../../schemas.ts';

/** The user_ids of an account, its keys to the contract. Each is identified by its SHA-256. */

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const userIdOutput = z.strictObject({
  hash: hash.describe('SHA-256 of the user_id, in hexadecimal digits.'),
  createdAt: instant,
  revokedAt: instant.nullable(),
  lastUsedAt: instant.nullable().describe('Time of the last use, exact to a day.'),
});
const EXAMPLE = {
  hash: 'd4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35',
  createdAt: '2026-11-15T12:00:00.000Z',
  revokedAt: null,
  lastUsedAt: null,
};

export const userIdList = accountListAction({
  name: 'user-id list',
  scope: 'accounts',
  customers: true,
  path: '/accounts/{username}/user-ids',
  summary: 'List the user_ids of an account in the order in which they were created.',
  params: accountParams,
  item: userIdOutput,
  position: z.tuple([instant, hash]),
  problems: ['not-found'],
  example: { params: { username: 'acme' }, output: { items: [EXAMPLE], next: null } },
  run: async ({ database, account }, { page: { after, limit } }) => {
    const rows = await userIdsOf(database, account.id, { after, limit: limit + 1 });
    return pageOf(
      rows,
      limit,
      (row) => row,
      (row: UserId): [number, string] => [row.createdAt, row.hash],
    );
  },
});

export const userIdAdd = accountAction({
  name: 'user-id add',
  scope: 'accounts',
  // The contract reads and deletes messages and contacts, and cancels scheduled messages.
  needs: {
    says: 'This also needs contacts, messages:read, messages:send and messages:delete, because a user_id gives access to all of that.',
    scopes: () => ['contacts', 'messages:read', 'messages:send', 'messages:delete'],
  },
  endless: alwaysEndless,
  customers: true,
  method: 'POST',
  path: '/accounts/{username}/user-ids',
  summary: 'Create a further user_id for an account.',
  description:
    'The existing user_ids stay valid. With `userId` you choose it yourself, for example the one that the account had on an old server.',
  params: accountParams,
  body: z.strictObject({
    userId: z
      .string()
      .min(1)
      .max(USER_ID_LENGTH_MAX)
      .regex(/^\P{Cc}*$/u, 'control characters are not allowed')
      .optional()
      .describe('A user_id of an old server, which programs can then continue to use.'),
    revokeOthers: z.boolean().optional().describe('Revoke all others at once.'),
  }),
  output: z.strictObject({
    userId: z.string().describe('The secret, which cannot be shown again.'),
    ...userIdOutput.shape,
    revoked: z.int().describe('Number of other user_ids that were revoked.'),
  }),
  status: 201,
  problems: ['not-found', 'conflict'],
  example: {
    params: { username: 'acme' },
    body: {},
    output: { userId: '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11', ...EXAMPLE, revoked: 0 },
  },
  command: {
    secrets: ['userId'],
    say: ({ userId, revoked }, { params: { username }, body: { revokeOthers } }) =>
      `A new user_id for ${username}, which cannot be shown again:\n${userId}\n${
        revokeOthers
          ? `Revoked: ${revoked}.`
          : `The old ones still work; revoke them with: columba user-id revoke ${username} HASH`
      }`,
  },
  target: ({ params }, { hash: added }) => `${params.username}/${added.slice(0, 12)}`,
  run: async ({ database, account, now }, { body }) => {
    const given = { userId: body.userId, revokeOthers: body.revokeOthers ?? false };
    const { userId, added, revoked } = await addUserId(database, account.id, given, now());
    return { userId, ...added, revoked };
  },
});

export const userIdRevoke = accountAction({
  name: 'user-id revoke',
  scope: 'accounts',
  customers: true,
  method: 'DELETE',
  path: '/accounts/{username}/user-ids/{hash}',
  summary: 'Revoke a user_id, named by 8 or more characters of its hash.',
  params: z.strictObject({
    ...accountParams.shape,
    hash: z.string().regex(/^[0-9a-f]{8,64}$/, 'expected 8 to 64 hexadecimal digits in lower case'),
  }),
  output: userIdOutput,
  problems: ['not-found'],
  example: {
    params: { username: 'acme', hash: 'd4735e3a265e' },
    output: { ...EXAMPLE, revokedAt: '2026-11-16T12:00:00.000Z' },
  },
  command: { say: () => 'Revoked.' },
  run: async ({ database, account, now }, { params }) => revokeUserId(database, account.id, params.hash, now()),
});

export const userIdActions: readonly Action[] = [userIdList, userIdAdd, userIdRevoke];
