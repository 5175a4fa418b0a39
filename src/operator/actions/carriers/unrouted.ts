import { z } from 'zod';
import type { UnroutedMessage } from '../../../domain/receiving/unrouted.ts';
import { type Action, action, listAction, pageOf } from '../../action.ts';
import type { Scope } from '../../actor.ts';
import { domainOf } from '../../domain.ts';
import { id, instant, rowId, username } from '../../schemas.ts';

/** Incoming messages without a route. They stay until the operator decides. */

const message = z.strictObject({
  id,
  connector: z.string().describe('The connector through which the message arrived.'),
  sender: z.string(),
  destination: z.string(),
  text: z.string(),
  receivedAt: instant,
});
const shown = ({ id: own, connector, sender, destination, text, receivedAt }: UnroutedMessage) => ({
  id: own,
  connector,
  sender,
  destination,
  text,
  receivedAt,
});

const EXAMPLE = {
  id: '1152921504606846976',
  connector: 'kannel',
  sender: '+27825550201',
  destination: '31235',
  text: 'Where is my parcel?',
  receivedAt: '2026-11-15T12:00:00.000Z',
};
const params = z.strictObject({ id });

const needsReading = {
  says: 'This also needs the scope messages:read, because it shows texts.',
  scopes: (): readonly Scope[] => ['messages:read'],
};

/** Every holder of a user_id of the account can read the message there. */
const needsGiving = {
  says: 'This also needs the scope messages:read, because the account that gets a message can read it.',
  scopes: (): readonly Scope[] => ['messages:read'],
};

export const unroutedList = listAction({
  name: 'unrouted list',
  scope: 'gateway',
  needs: needsReading,
  path: '/unrouted',
  summary: 'List incoming messages without a route, oldest first.',
  item: message,
  position: z.tuple([instant, id]),
  example: { output: { items: [EXAMPLE], next: null } },
  run: async (services, { page: { limit, after } }) => {
    const rows = await domainOf(services).unrouted.list(limit + 1, after);
    return pageOf(rows, limit, shown, (row): [number, bigint] => [row.receivedAt, row.id]);
  },
});

export const unroutedShow = action({
  name: 'unrouted show',
  scope: 'gateway',
  needs: needsReading,
  method: 'GET',
  path: '/unrouted/{id}',
  summary: 'Show an incoming message without a route.',
  params,
  output: message,
  problems: ['not-found'],
  example: { params: { id: EXAMPLE.id }, output: EXAMPLE },
  run: async (services, input) => shown(await domainOf(services).unrouted.show(input.params.id)),
});

export const unroutedAssign = action({
  name: 'unrouted assign',
  scope: 'gateway',
  needs: needsGiving,
  method: 'POST',
  path: '/unrouted/{id}/assign',
  summary: 'Give an incoming message without a route to an account.',
  params,
  body: z.strictObject({ username: username.describe('The account that gets the message.') }),
  output: z.strictObject({ username, id: rowId.describe('The id of the message in the inbox of the account.') }),
  problems: ['not-found'],
  example: {
    params: { id: EXAMPLE.id },
    body: { username: 'acme' },
    output: { username: 'acme', id: '1001' },
  },
  target: (input, output) => `${input.params.id}/${output.username}/${output.id}`,
  command: {
    arguments: ['username'],
    say: (output) => `The message is in the inbox of ${output.username} as ${output.id}.`,
  },
  run: async (services, input) => {
    const { username: customer } = input.body;
    return { username: customer, id: await domainOf(services).unrouted.assign(input.params.id, customer) };
  },
});

export const unroutedReplay = action({
  name: 'unrouted replay',
  scope: 'gateway',
  needs: needsGiving,
  method: 'POST',
  path: '/unrouted/replay',
  summary: 'Apply the routes again to messages that had none.',
  description: 'Without an id this applies to all of them, about 1,000 at a time; repeat it until `routed` is 0.',
  body: z.strictObject({ id: id.optional().describe('Only this message.') }),
  output: z.strictObject({
    routed: z.int().describe('Messages that were given to an account.'),
    left: z.int().describe('Messages that are still without a route.'),
  }),
  problems: ['not-found'],
  example: { body: {}, output: { routed: 12, left: 3 } },
  target: (input) => (input.body.id === undefined ? 'unrouted' : String(input.body.id)),
  command: { say: ({ routed, left }) => `Routed: ${routed}. Still without a route: ${left}.` },
  run: async (services, input) => {
    const { unrouted } = domainOf(services);
    return input.body.id === undefined ? unrouted.replayAll() : unrouted.replay(input.body.id);
  },
});

export const unroutedRemove = action({
  name: 'unrouted remove',
  scope: 'gateway',
  needs: { says: 'This also needs the scope messages:delete.', scopes: () => ['messages:delete'] },
  method: 'DELETE',
  path: '/unrouted/{id}',
  summary: 'Delete an incoming message without a route.',
  params,
  output: z.strictObject({ id }),
  problems: ['not-found'],
  example: { params: { id: EXAMPLE.id }, output: { id: EXAMPLE.id } },
  command: { say: (output) => `Deleted the message ${output.id}.` },
  run: async (services, input) => {
    await domainOf(services).unrouted.remove(input.params.id);
    return { id: input.params.id };
  },
});

export const unroutedActions: readonly Action[] = [
  unroutedList,
  unroutedShow,
  unroutedAssign,
  unroutedReplay,
  unroutedRemove,
];
