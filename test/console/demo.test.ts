import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, serving } from '../support/command.ts';

const GRACE = '+27825550188';

const SCREENS = {
  customer: [
    '',
    'conversations',
    'inbox',
    'sent',
    'scheduled',
    'contacts',
    'groups',
    'templates',
    'blacklist',
    'credits',
    'access',
  ],
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
    const shown = new Map<string, string>();
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
        const text = await page.text();
        assert.ok(
          !text.includes('class="empty"') || name === 'conversations',
          `nothing is on the screen /console/${name}`,
        );
        if (names === SCREENS.customer) shown.set(name, text);
      }
    }
    const has = (name: string, words: string) => shown.get(name)?.includes(words);
    assert.ok(has('', 'Do I need to bring the old X-rays?'));
    assert.ok(has('conversations', '<span class="badge">4<span class="unseen"> unread'));
    assert.ok(has('blacklist', GRACE), 'a patient wrote STOP');
    assert.ok(!has('scheduled', GRACE));
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});
