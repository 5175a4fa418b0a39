import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Services } from '../../src/operator/action.ts';
import { domainOf } from '../../src/operator/domain.ts';

/** Built for every action, so it costs nothing before it is used. */
test('an action builds the services of the domain that it asks for, and no others', () => {
  const read: string[] = [];
  const services = new Proxy({} as Services, {
    get: (_, name) => {
      read.push(String(name));
      return undefined;
    },
  });
  const domain = domainOf(services);
  read.length = 0;
  assert.equal(typeof domain.templates.all, 'function');
  assert.deepEqual(read, ['database']);
  assert.equal(typeof domain.retention.days, 'function');
  assert.deepEqual(read, ['database', 'database', 'now', 'extensions']);
});
