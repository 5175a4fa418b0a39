import { z } from 'zod';
import {
  addOperator,
  type Operator,
  operatorNamed,
  operatorsAfter,
  ownerOfOperator,
  setOperatorEnabled,
} from '../../../domain/access/operators.ts';
import { type IssuedLink, issueLink } from '../../../domain/access/sign-in.ts';
import { type Action, accountAction, action, alwaysEndless, listAction, pageOf, type Services } from '../../action.ts';
import { accountScopes, scopes } from '../../actor.ts';
import { accountParams, instant, line } from '../../schemas.ts';

/** People who sign in to the console: operators, and customers by their links. */

const name = line(100).min(1);
const nameParams = z.strictObject({ name });

const operatorOutput = z.strictObject({
  name,
  state: z.enum(['enabled', 'disabled']),
  hasPassword: z.boolean(),
  createdAt: instant,
  lastSignInAt: instant.nullable(),
  disabledAt: instant.nullable(),
});
const shown = ({ id: _, ...operator }: Operator): z.output<typeof operatorOutput> => ({
  ...operator,
  state: operator.disabledAt === null ? 'enabled' : 'disabled',
});
const EXAMPLE = {
  name: 'ann',
  state: 'enabled',
  hasPassword: false,
  createdAt: '2026-11-15T12:00:00.000Z',
  lastSignInAt: null,
  disabledAt: null,
};

const linkOutput = z.strictObject({
  link: z.string().describe('The address to open once, within 24 hours. It cannot be shown again.'),
  expiresAt: instant,
});
const LINK_EXAMPLE = {
  link: 'https://operator.example/console/sign-in/K7J0Qy3mB5v1uYx2Wd9sTq8Rf4Hn6Lp0Za1Xc3Ve5Bg',
  expiresAt: '2026-11-16T12:00:00.000Z',
};
const linkBody = z.strictObject({
  resetSecondFactor: z.boolean().optional().describe('Turn off the second factor of somebody who has lost it.'),
});
const linkOf = ({ webUrl }: Services, { token, expiresAt }: IssuedLink): z.output<typeof linkOutput> => ({
  link: `${webUrl()}/console/sign-in/${token}`,
  expiresAt,
});
const LINK_DESCRIPTION =
  'The link works for one sign-in within 24 hours, and replaces any earlier link. If the person has a second factor, the sign-in asks for it too.';
const sayLink = ({ link }: { link: string }): string => `Open this once, within 24 hours:\n${link}`;

/** An operator may do everything, so a token that makes an operator needs every scope. */
const needsAll = { says: 'This needs every scope, because an operator may do everything.', scopes: () => scopes };

export const operatorList = listAction({
  name: 'operator list',
  scope: 'accounts',
  path: '/operators',
  summary: 'List operators, by name.',
  item: operatorOutput,
  position: z.tuple([name]),
  example: { output: { items: [EXAMPLE], next: null } },
  command: { columns: ['name', 'state', 'createdAt', 'lastSignInAt'] },
  run: async ({ database }, { page: { after, limit } }) => {
    const rows = await operatorsAfter(database, after?.[0] ?? '', limit + 1);
    return pageOf(rows, limit, shown, (operator): [string] => [operator.name]);
  },
});

export const operatorAdd = action({
  name: 'operator add',
  scope: 'accounts',
  needs: needsAll,
  endless: alwaysEndless,
  method: 'POST',
  path: '/operators',
  summary: 'Add a person who signs in to the console as an operator.',
  description: `The answer contains a sign-in link. There is no password yet; the person chooses one. ${LINK_DESCRIPTION}`,
  body: z.strictObject({ name: name.describe('The name to sign in with.') }),
  output: z.strictObject({ ...operatorOutput.shape, ...linkOutput.shape }),
  status: 201,
  problems: ['conflict'],
  example: { body: { name: 'ann' }, output: { ...EXAMPLE, ...LINK_EXAMPLE } },
  target: ({ body }) => body.name,
  command: {
    arguments: ['name'],
    creates: true,
    say: (output) => `Added the operator ${output.name}. ${sayLink(output)}`,
  },
  run: async (services, { body }) => {
    const { database, now } = services;
    const operator = await addOperator(database, body.name, now());
    const issued = await issueLink(database, ownerOfOperator(operator), now());
    return { ...shown(operator), ...linkOf(services, issued) };
  },
});

export const operatorRemove = action({
  name: 'operator remove',
  scope: 'accounts',
  needs: needsAll,
  method: 'DELETE',
  path: '/operators/{name}',
  summary: 'Disable an operator: sessions and links end at once, in every process.',
  description:
    'The name stays reserved, so that the audit always names the same person. Disabling an operator twice is not an error.',
  params: nameParams,
  output: operatorOutput,
  problems: ['not-found'],
  example: {
    params: { name: 'ann' },
    output: { ...EXAMPLE, state: 'disabled', disabledAt: '2026-11-16T12:00:00.000Z' },
  },
  command: { say: (output) => `Disabled the operator ${output.name}.` },
  run: async ({ database, now }, { params }) => shown(await setOperatorEnabled(database, params.name, now())),
});

export const operatorEnable = action({
  name: 'operator enable',
  scope: 'accounts',
  needs: needsAll,
  endless: alwaysEndless,
  method: 'POST',
  path: '/operators/{name}/enable',
  summary: 'Let an operator sign in again.',
  params: nameParams,
  output: operatorOutput,
  problems: ['not-found'],
  example: { params: { name: 'ann' }, output: EXAMPLE },
  command: { say: (output) => `Enabled the operator ${output.name}.` },
  run: async ({ database }, { params }) => shown(await setOperatorEnabled(database, params.name, null)),
});

export const operatorSignInLink = action({
  name: 'operator sign-in-link',
  scope: 'accounts',
  needs: needsAll,
  endless: alwaysEndless,
  needsFactor: ({ body }) => body.resetSecondFactor === true,
  method: 'POST',
  path: '/operators/{name}/sign-in-link',
  summary: 'Create a link with which an operator signs in to the console once.',
  description: `${LINK_DESCRIPTION} No token can reset the second factor of an operator. The command can, and so can an operator in the console who enters a code of their own.`,
  params: nameParams,
  body: linkBody,
  output: linkOutput,
  status: 201,
  problems: ['not-found', 'conflict'],
  example: { params: { name: 'ann' }, body: {}, output: LINK_EXAMPLE },
  command: { say: sayLink },
  run: async (services, { params, body }) => {
    const { database, now } = services;
    const owner = ownerOfOperator(await operatorNamed(database, params.name));
    return linkOf(services, await issueLink(database, owner, now(), body.resetSecondFactor));
  },
});

export const accountSignInLink = accountAction({
  name: 'account sign-in-link',
  scope: 'accounts',
  needs: {
    says: `This also needs ${accountScopes.join(', ')}, because that is what the customer may do.`,
    scopes: () => accountScopes,
  },
  endless: alwaysEndless,
  method: 'POST',
  path: '/accounts/{username}/sign-in-link',
  summary: 'Create a link with which the customer signs in to the console once.',
  description: LINK_DESCRIPTION,
  params: accountParams,
  body: linkBody,
  output: linkOutput,
  status: 201,
  problems: ['not-found', 'conflict'],
  example: { params: { username: 'acme' }, body: {}, output: LINK_EXAMPLE },
  command: { say: sayLink },
  run: async (services, { body }) => {
    const { database, account, now } = services;
    const owner = { kind: 'account', id: account.id, name: account.username } as const;
    return linkOf(services, await issueLink(database, owner, now(), body.resetSecondFactor));
  },
});

export const operatorActions: readonly Action[] = [
  operatorList,
  operatorAdd,
  operatorRemove,
  operatorEnable,
  operatorSignInLink,
];
