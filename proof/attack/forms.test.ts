import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Engine, engines } from '../../test/support/engines.ts';
import { type Service, startService } from '../../test/support/service.ts';
import { growthOf, RATIO_MAX } from './cpu.ts';
import { formShapes } from './form-shapes.ts';

let service: Service;
before(async () => {
  service = await startService(engines[0] as Engine, 'empty', { addressUnlimited: ['192.0.2.0/24'] });
});
after(() => service.stop());

const headers = { 'content-type': 'application/x-www-form-urlencoded' };
const post = (bytes: string) => service.send({ method: 'POST', path: '/api/inbox.asmx/CountUnread', headers, bytes });

describe('the work of reading a form grows with the bytes, not with their square', () => {
  for (const [name, shape] of Object.entries(formShapes)) {
    test(`the work of reading a form grows with the bytes: ${name}`, async () => {
      const ratio = await growthOf(shape, post);
      assert.ok(ratio < RATIO_MAX, `${ratio.toFixed(1)} times the CPU for ten times the bytes`);
    });
  }
});
