import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboundRoute } from '../../../src/domain/outbound/choose.ts';
import { routeNotes } from '../../../src/domain/outbound/routes.ts';

const route = (name: string, ...connectors: string[]) =>
  ({ name, ways: connectors.map((connector) => ({ connector })) }) as unknown as OutboundRoute;
const taken = (name: string, connector: string, accepted: number) => ({
  route: name,
  connector,
  accepted,
  temporary: 0,
  permanent: 0,
  unknownOutcome: 0,
  failovers: 0,
});

test('the check names routes with one way, a way that has taken nothing beside one that has, and a connector that is gone', () => {
  const routes = [route('new', 'a', 'b'), route('used', 'a', 'b'), route('single', 'a'), route('lost', 'gone', 'a')];
  const counts = [taken('used', 'a', 7), taken('used', 'b', 0), taken('lost', 'gone', 3), taken('lost', 'a', 3)];
  assert.deepEqual(routeNotes(routes, counts, new Set(['a', 'b'])), [
    'Outbound route used: b has not taken a message of it yet; test it before it is needed.',
    'Outbound route single: Its messages wait while a is down, because it is the only way.',
    'Outbound route lost: There is no connector gone any more, so this way leads nowhere.',
  ]);
});
