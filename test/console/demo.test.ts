import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, serving } from '../support/command.ts';

const SCREENS = {
  customer: ['', 'inbox', 'sent', 'scheduled', 'contacts', 'groups', 'templates', 'blacklist', 'credits', 'access'],
  operator: [
    '',
    'accounts',
    'connectors',
    'queue',
    'unrouted',
    'audit',
    'tokens',
    'operators',
    'webhooks',
    'migration',
  ],
};

test('every screen of the demo has data to show', async () => {
  const TMPDIR = mkdtempSync(join(folder, 'tmp-'));
  const { output, child, ended } = await serving(['--demo'], { env: { TMPDIR } });
  try {
    const [customer = '', operator = ''] = output.stdout.match(/http:\S+\/console\/sign-in\/\S+/g) ?? [];
    for (const [link, names] of [
      [customer, SCREENS.customer],
      [operator, SCREENS.operator],
    ] as const) {
      const { origin } = new URL(link);
      const signedIn = await fetch(link, { method: 'POST', headers: { origin }, redirect: 'manual' });
      const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? assert.fail(String(signedIn.status));
      for (const name of names) {
        const page = await fetch(`${origin}/console/${name}`, { headers: { cookie } });
        assert.equal(page.status, 200, name);
        assert.ok(!(await page.text()).includes('class="empty"'), `nothing is on the screen /console/${name}`);
      }
    }
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});
