import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { columba, freshDatabase } from '../support/command.ts';

test('columba openapi needs no database', async () => {
  const database = freshDatabase();
  const { code, stdout } = await columba(['openapi', '--database', database]);
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).openapi, '3.1.0');
  assert.ok(!existsSync(database.replace('sqlite:', '')));
});
