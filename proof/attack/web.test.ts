import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { customerRoutes, operatorRoutes } from '../../src/console/screens.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../../test/support/operator-api.ts';
import { costOf, leastCost } from './hold.ts';
import { HOLD_MS_MAX, measureWeb, RUNS, shareOfBudget, shownCost } from './web.ts';
import { type WebRoute, webRoutes } from './web-routes.ts';
import { hostileRequests } from './web-shapes.ts';

/**
 * A slice of what `npm run proof attack` sends to every route of the second listener. That one tells what is over its
 * budget; here, where anything may run beside it, a fault is what is twice over. The faults that were found were five times over and more.
 */
const ROOM = 2;

describe('hostile requests to the second listener', () => {
  let api: OperatorApi;
  let routes: WebRoute[];
  before(async () => {
    api = await startOperatorApi(engines[0] as Engine);
    routes = await webRoutes(api);
  });
  after(() => api.stop());

  test('every action and every screen is among the routes that are attacked', () => {
    const names = new Set(routes.map(({ name }) => name));
    for (const { method, path } of actions) assert.ok(names.has(`${method} /operator/v1${path}`), path);
    for (const { method, path } of customerRoutes) assert.ok(names.has(`${method} /console${path} as username`), path);
    for (const { method, path } of operatorRoutes) assert.ok(names.has(`${method} /console${path} as operator`), path);
  });

  test('no request holds the event loop for longer than its budget of CPU, and none is an internal error', async () => {
    const measured = await measureWeb(api, routes, { bodyBytes: 200_000, ofEach: 1 });
    const wrong = measured.filter((each) => shareOfBudget(each) > ROOM || each.status === 500);
    assert.deepEqual(wrong.map(shownCost), []);
  });

  test('1,000 texts, and a text of 10,000 characters beyond GSM 7-bit, are read in steps', async () => {
    const route = routes.find(({ name }) => name === 'POST /operator/v1/accounts/{username}/messages');
    const target = { ...(route ?? assert.fail()), path: `${route?.path}?dry_run=true` };
    const wanted = ['1,000 texts', 'text: the longest text beyond GSM 7-bit'];
    const requests = [...hostileRequests(target, target.callers['every scope'] ?? [], 1_000_000)];
    for (const { shape, make } of requests.filter((each) => wanted.includes(each.shape))) {
      await costOf(api.address, make()); // compiled before it is measured
      const cost = await leastCost(api.address, make(), RUNS, HOLD_MS_MAX);
      assert.equal(cost.status, 200, shape);
      assert.ok(cost.holdMs < ROOM * HOLD_MS_MAX, `${shape}: ${cost.holdMs} ms`);
    }
  });
});
