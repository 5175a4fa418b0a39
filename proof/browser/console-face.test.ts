import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { inConsole, inEachBrowser, overflow } from '../../test/support/console-browser.ts';
import { act } from '../../test/support/console-client.ts';

/** How the console is laid out, on a phone, on paper and with a keyboard. */

const PHONE = { viewport: { width: 360, height: 640 } };

const shown = (page: Page, selector: string): Promise<number> =>
  page.locator(selector).filter({ visible: true }).count();

/** How many rows of the list are wholly in the window, above the bar at its end. */
const ROWS_IN_VIEW = `[...document.querySelectorAll('tbody tr')].filter((row) => {
  const end = document.querySelector('.bar').getBoundingClientRect().top;
  return row.getBoundingClientRect().bottom <= end;
}).length`;

describe('layout of the console', () => {
  for (const javaScriptEnabled of [true, false]) {
    inEachBrowser(
      `messages are on the first screen of a phone, with the script ${javaScriptEnabled ? 'on' : 'off'}`,
      async ({ page, open, signIn }) => {
        await signIn({ username: 'acme' });
        for (const path of ['inbox', 'sent', 'scheduled']) {
          await open(`/console/${path}`);
          assert.ok((await page.evaluate<number>(ROWS_IN_VIEW)) >= 1, path);
          assert.equal(await shown(page, '.bulk'), 0, path);
        }
        await page.locator('tbody input[name=id]').first().check();
        assert.equal(await shown(page, '.bulk'), 1);
      },
      { ...PHONE, javaScriptEnabled },
    );

    inEachBrowser(
      `the bar of a phone leads to every screen, with the script ${javaScriptEnabled ? 'on' : 'off'}`,
      async ({ page, signIn }) => {
        await signIn({ username: 'acme' });
        assert.equal(await shown(page, '.side'), 0);
        await page.getByRole('link', { name: 'More' }).click();
        await page.getByRole('link', { name: 'Templates' }).click();
        await page.getByRole('heading', { name: 'Templates' }).waitFor();
        assert.equal(await shown(page, '.side'), 0);
        await page.getByRole('link', { name: 'Messages' }).click();
        await page.getByRole('heading', { name: 'Conversations' }).waitFor();
      },
      { ...PHONE, javaScriptEnabled },
    );
  }

  inEachBrowser('a click on a row opens it, and a click on its box selects it', async ({ page, open, signIn }) => {
    await signIn({ username: 'acme' });
    await open('/console/sent');
    await page.locator('tbody input[name=id]').first().click();
    assert.match(page.url(), /\/console\/sent$/);
    await page.locator('tbody tr').first().locator('.clamp').click();
    await page.waitForURL(/\/console\/messages\/\d+$/);
  });

  // Firefox does not let other programs choose the medium.
  inConsole(
    'a printed page shows the list as a table, without buttons and other controls',
    async ({ page, open, signIn }) => {
      await signIn({ username: 'acme' });
      await open('/console/sent');
      const rows = await shown(page, 'tbody tr');
      await page.emulateMedia({ media: 'print' });
      await page.setViewportSize({ width: 700, height: 900 });
      for (const hidden of ['.side', '.top', '.bar', '.filters', 'tbody input', '.btn']) {
        assert.equal(await shown(page, hidden), 0, hidden);
      }
      assert.equal(await shown(page, 'tbody tr'), rows);
      assert.equal(await shown(page, '.zone-line'), 1);
      assert.equal(await page.evaluate("getComputedStyle(document.querySelector('tbody tr')).display"), 'table-row');
    },
  );

  inEachBrowser(
    'counts and times are written as in the language of the browser, and texts as people wrote them',
    async ({ page, open, signIn, api }) => {
      const params = { username: 'acme' };
      await act(api, 'inbox receive', { params, body: { text: 'I have 1,234 reasons', sender: '+27825550201' } });
      await signIn(params);
      await page.getByText('9.007.199.254.740.993').waitFor();
      await page.getByText('I have 1,234 reasons').waitFor();
      await open('/console/conversation?with=%2B27825550201');
      await page
        .locator('.thread .msg time', { hasText: /^\d\d:\d\d$/ })
        .first()
        .waitFor();
      await page
        .locator('.day time', { hasText: /heute|\d\. [A-ZÄ]/ })
        .first()
        .waitFor();
    },
    { locale: 'de-DE' },
  );

  inEachBrowser('a page of conversations is as long as its window', async ({ page, open, signIn, api }) => {
    for (let number = 100; number < 140; number += 1) {
      const body = { text: 'hello', sender: `+27825550${number}` };
      await act(api, 'inbox receive', { params: { username: 'acme' }, body });
    }
    await signIn({ username: 'acme' });
    for (const path of ['conversations', 'conversation?with=%2B27825550120']) {
      await open(`/console/${path}`);
      const over = 'document.documentElement.scrollHeight - document.documentElement.clientHeight';
      assert.ok((await page.evaluate<number>(over)) <= 0, path);
    }
  });

  inEachBrowser('Undo makes marked messages unread again, and the count in the title follows', async (visit) => {
    const { page, open, signIn } = visit;
    await signIn({ username: 'acme' });
    await open('/console/inbox');
    const before = await page.title();
    assert.match(before, /^\(\d+\) Inbox/);
    await page.locator('tr.fresh input[name=id]').first().check();
    await page.getByRole('button', { name: 'Mark read' }).click();
    await page.getByText('Marked 1 message as read.').waitFor();
    assert.notEqual(await page.title(), before);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Marked 1 message as unread.').waitFor();
    assert.equal(await page.title(), before);
  });

  inEachBrowser('the count of unread messages changes in the title and the navigation by itself', async (visit) => {
    const { page, signIn, api } = visit;
    await signIn({ username: 'acme' });
    const [, count = ''] = /^\((\d+)\)/.exec(await page.title()) ?? [];
    await act(api, 'inbox receive', { params: { username: 'acme' }, body: { text: 'new', sender: '+27825550201' } });
    await page.locator('.side .badge', { hasText: `${Number(count) + 1} unread` }).waitFor();
    assert.match(await page.title(), new RegExp(`^\\(${Number(count) + 1}\\) Overview`));
  });

  inEachBrowser(
    'the page says that the server does not answer, and removes the note when it answers again',
    async ({ page, open, signIn }) => {
      await signIn({ username: 'acme' });
      await open('/console/inbox');
      await page.context().setOffline(true);
      await page.getByText('No connection since').waitFor();
      await page.context().setOffline(false);
      await page.getByText('No connection since').waitFor({ state: 'detached' });
    },
    { allowedErrors: /ERR_INTERNET_DISCONNECTED/ },
  );

  inEachBrowser('no screen scrolls sideways between the widths of phones and of wide screens', async (visit) => {
    const { page, open, signIn } = visit;
    await signIn({ username: 'acme' });
    for (const path of ['/console/', '/console/inbox', '/console/compose', '/console/access']) {
      await open(path);
      for (const width of [320, 480, 640, 768, 960, 1024, 1440, 1600]) {
        await page.setViewportSize({ width, height: 800 });
        assert.ok((await overflow(page)) <= 0, `${path} at ${width} px`);
      }
    }
  });
});
