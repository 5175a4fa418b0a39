import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { barriers, inEachBrowser, inOne, overflow, type Visit } from '../../test/support/console-browser.ts';
import { act } from '../../test/support/console-client.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../../test/support/screens.ts';

/** What people do every day, and with how many pages it is done. */

const params = { username: 'acme' };

/** Counts the pages that are loaded from now on. A redirect is no page. */
function countPages(page: Page): () => number {
  let pages = 0;
  page.on('load', () => {
    pages += 1;
  });
  return () => pages;
}

const pressed = async (page: Page, name: string | RegExp): Promise<void> => {
  await page.getByRole('button', { name }).click();
};

/** Each task: it begins on the overview, and says how many pages it may take. */
const TASKS: Readonly<Record<string, readonly [pages: number, work: (visit: Visit) => Promise<void>]>> = {
  'to reply to the newest message': [
    2,
    async ({ page }) => {
      await page.getByRole('link', { name: 'Anna Müller' }).first().click();
      await page.getByLabel('Your reply').fill('Yes, until six.');
      await pressed(page, 'Send');
      await page.getByText('Sent. It is on its way.').waitFor();
    },
  ],
  'to find an old conversation by a name and read it': [
    2,
    async ({ page }) => {
      await page.getByRole('searchbox').first().fill('muller anna');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Anna Müller' }).first().click();
      await page.getByText('Is the market open today?').waitFor();
    },
  ],
  'to find out why a message did not arrive': [
    2,
    async ({ page }) => {
      await page.getByRole('searchbox').first().fill('082 555 0203');
      await page.keyboard.press('Enter');
      await page.locator('main').getByRole('link', { name: 'Not delivered' }).first().click();
      await page.waitForURL(/\/console\/messages\/2003$/);
      await page.locator('.timeline').waitFor();
    },
  ],
};

const TABLET = { viewport: { width: 768, height: 1024 } };
const DARK_PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const;
const LOOKS = [
  ['Chromium', 'a tablet', TABLET, undefined],
  ['Chromium', 'a dark tablet', { ...TABLET, colorScheme: 'dark' }, ['color-contrast']],
  ['Firefox', 'a tablet', TABLET, undefined],
  ['Firefox', 'a dark phone', DARK_PHONE, undefined],
] as const;

describe('tasks of the console', () => {
  for (const [task, [most, work]] of Object.entries(TASKS)) {
    inEachBrowser(`${task} takes ${most} pages`, async (visit) => {
      const { page, signIn, api } = visit;
      const body = { sender: '+27825550201', text: 'Are you open?' };
      await act(api, 'inbox receive', { params, body });
      await signIn(params);
      const pages = countPages(page);
      await work(visit);
      assert.ok(pages() <= most, `it took ${pages()} pages`);
    });
  }

  inEachBrowser('to mend a wrong row of an import takes 2 pages', mendRow);
  inEachBrowser('500 messages are scheduled and cancelled as one with 4 pages', scheduleMany);
  everyScreen();
});

async function mendRow({ page, open, signIn }: Visit): Promise<void> {
  await signIn(params);
  await open('/console/import');
  const pages = countPages(page);
  const file = 'Handy;Vorname\n825550304;Naledi\n+27825550305;Johan\n';
  await page.locator('#file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(file) });
  await pressed(page, 'Read the file');
  await page.getByLabel('Number to use in row 2').fill('082 555 0304');
  await pressed(page, 'Import 2 rows');
  await page.getByText('Imported: 2 contacts added').waitFor();
  assert.equal(pages(), 2);
}

async function scheduleMany({ page, open, signIn, api }: Visit): Promise<void> {
  await act(api, 'credits add', { params: { username: 'globex' }, body: { amount: '1000', reason: 'test' } });
  await act(api, 'message cancel-many', { params: { username: 'globex' }, body: { ids: ['3500'] } });
  await signIn({ username: 'globex' });
  const pages = countPages(page);
  await open('/console/compose');
  const numbers = Array.from({ length: 500 }, (_, index) => `+2782555${String(1_000 + index)}`);
  await page.getByLabel('To', { exact: true }).fill(numbers.join('\n'));
  await page.getByLabel('Text', { exact: true }).fill('Until tomorrow');
  await page.getByLabel('Send at').fill('2031-01-01T10:00');
  await pressed(page, 'Check');
  await pressed(page, /500 messages/);
  await page.getByText('500 messages accepted').waitFor();
  await page.getByText('Cancel 500…').click();
  await pressed(page, 'Cancel 500 messages');
  await page.getByText('Cancelled 500 messages.').waitFor();
  assert.ok(pages() <= 4, `it took ${pages()} pages`);
}

/** The width between those of console.test.ts, and how Firefox shows it. */
function everyScreen(): void {
  for (const [browser, name, look, rules] of LOOKS) {
    for (const [owner, paths] of [
      [params, CUSTOMER_SCREENS],
      [{ operator: 'ann' }, OPERATOR_SCREENS],
    ] as const) {
      const who = 'username' in owner ? 'a customer' : 'an operator';
      const behaviour = `every screen of ${who} is accessible and fits ${name}`;
      inOne(
        browser,
        behaviour,
        async ({ page, open, signIn }) => {
          await signIn(owner);
          for (const path of paths) {
            await open(path);
            assert.deepEqual(await barriers(page, rules), [], path);
            assert.ok((await overflow(page)) <= 0, `${path} is too wide`);
          }
        },
        look,
      );
    }
  }
}
