import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { folder, freshDatabase, serving } from '../../support/command.ts';
import { textOf } from '../../support/markup.ts';
import { ACME } from '../../support/service.ts';

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

describe('pages of the program as it is started', () => {
  for (const [mode, isDemo, args] of [
    ['the demo', true, () => ['--demo']],
    ['a real service', false, () => ['--database', freshDatabase()]],
  ] as const) {
    test(`${mode} shows its version and ${isDemo ? 'fills in the user_id of the sample data' : 'no user_id'}`, async () => {
      const { address, child, ended } = await serving([...args()], {
        env: { TMPDIR: mkdtempSync(join(folder, 'tmp-')) },
      });
      try {
        const front = await (await fetch(`${address}/`)).text();
        assert.ok(textOf(front).includes(`Version ${version}.`));
        assert.equal(front.includes(ACME), isDemo);
        const page = await (await fetch(`${address}/api/inbox.asmx?op=Unread`)).text();
        assert.equal(page.includes(`<input id="field-user_id" name="user_id" value="${ACME}"`), isDemo);
        assert.equal(page.includes('USER_ID'), !isDemo);
      } finally {
        child.kill('SIGTERM');
        await ended;
      }
    });
  }
});
