import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { inBrowser } from '../../test/support/browser.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { ACME } from '../../test/support/service.ts';

/** What the pages fill in, follow and keep while they are used. */

const UNREAD = '/api/inbox.asmx?op=Unread';
const SECRET = "it's-my-user_id";

const lineOf = async (page: Page): Promise<string> => (await page.locator('#curl code').textContent()) ?? '';
const kept = (page: Page, store: 'localStorage' | 'sessionStorage') =>
  page.evaluate<string>(`JSON.stringify(Object.entries(${store}))`);

// The pages come from the contract, so one engine shows all of it.
describe('values that pages fill in and keep', () => {
  const engine = engines[0] as Engine;

  inBrowser(
    engine,
    'the demo fills in its user_id, in the form and in every program, and a call takes one number and one key',
    async (visit) => {
      const { page } = visit;
      await visit.open(UNREAD);
      assert.equal(await page.getByLabel('user_id').inputValue(), ACME);
      for (const sample of await page.locator('.sample code').allTextContents()) {
        assert.doesNotMatch(sample, /USER_ID/);
      }
      await page.getByLabel('max_count').fill('1');
      await page.keyboard.press('Enter');
      assert.equal((await visit.answered()).status, '200 OK');
      await visit.open('/');
      assert.ok(await page.getByText(ACME).isVisible());
    },
    { pages: { demoUserId: ACME, version: '1.2.3' } },
  );

  inBrowser(engine, 'where no sample data is served, no user_id is filled in', async ({ page, open }) => {
    await open(UNREAD);
    assert.equal(await page.getByLabel('user_id').inputValue(), '');
    assert.doesNotMatch(await page.content(), new RegExp(ACME));
  });

  inBrowser(
    engine,
    'typed values stay in their tab: the user_id for every operation, other values for the operation they were typed for',
    async (visit) => {
      const { page } = visit;
      await visit.open(UNREAD);
      await page.getByLabel('user_id').fill(SECRET);
      await page.getByLabel('max_count').fill('7');
      await visit.open('/api/inbox.asmx?op=InboxDS');
      assert.equal(await page.getByLabel('user_id').inputValue(), SECRET);
      assert.equal(await page.getByLabel('max_count').inputValue(), '');
      await visit.open(UNREAD);
      assert.equal(await page.getByLabel('max_count').inputValue(), '7');
      await visit.open('/api/account.asmx?op=DeleteContact');
      assert.match(await lineOf(page), /'user_id=it'\\''s-my-user_id'/);

      assert.ok(!page.url().includes(SECRET));
      assert.equal(await kept(page, 'localStorage'), '[]');
      assert.deepEqual(await page.context().cookies(), []);
      assert.match(await kept(page, 'sessionStorage'), /my-user_id/);
      const other = await page.context().newPage();
      await other.goto(page.url().replace(/[^/]*$/, 'inbox.asmx?op=Unread'));
      assert.equal(await other.getByLabel('user_id').inputValue(), '');
    },
  );

  inBrowser(
    engine,
    'the curl command follows what is typed, and works with an apostrophe too',
    async ({ page, open }) => {
      await open(UNREAD);
      const before = await lineOf(page);
      assert.match(before, /'user_id=USER_ID' \\\n {2}--data-urlencode 'max_count=20'$/);
      await page.getByLabel('user_id').fill(SECRET);
      await page.getByLabel('max_count').fill('3');
      assert.equal(
        await lineOf(page),
        before.replace('USER_ID', () => "it'\\''s-my-user_id").replace('max_count=20', 'max_count=3'),
      );
      await page.getByLabel('user_id').fill('');
      await page.getByLabel('max_count').fill('');
      assert.equal(await lineOf(page), before);
    },
  );

  inBrowser(engine, 'the chosen language is open on the next page, and no other', async ({ page, open }) => {
    const opened = () => page.locator('details[data-language][open] > summary').allTextContents();
    await open(UNREAD);
    assert.deepEqual(await opened(), ['C# with the WSDL']);
    await page.getByText('Python', { exact: true }).click();
    assert.deepEqual(await opened(), ['Python']);
    await open('/api/sent.asmx?op=FetchSentDS');
    assert.deepEqual(await opened(), ['Python']);
    assert.equal(await kept(page, 'localStorage'), JSON.stringify([['columba language', 'Python']]));
  });

  inBrowser(engine, 'the front page searches all operations by name, group, parameter and meaning', async (visit) => {
    const { page } = visit;
    const found = () => page.locator('[data-search] dt').filter({ visible: true }).allTextContents();
    await visit.open('/');
    assert.equal((await found()).length, 32);
    const search = page.getByLabel('Search');
    await search.fill('deleteALL');
    assert.deepEqual(await found(), ['DeleteAllMessages', 'DeleteAllScheduled']);
    assert.ok(await page.getByText('2 of 32 operations').isVisible());
    assert.equal(await page.getByRole('heading', { name: 'account' }).isVisible(), false);
    await search.fill('contact_id');
    assert.deepEqual(await found(), ['DeleteContact', 'MoveContactToNewGroup', 'RemoveContactFromGroup']);
    await search.fill('nothing at all');
    assert.deepEqual(await found(), []);
    await search.fill('UNREAD');
    await search.press('Enter');
    await page.waitForURL(/op=Unread$/);
  });

  inBrowser(
    engine,
    'without scripts the front page has all operations and no search, and the curl command has placeholders',
    async ({ page, open }) => {
      await open('/');
      assert.equal(
        await page
          .getByRole('link', { name: /^(?!WSDL)/ })
          .filter({ visible: true })
          .count(),
        1 + 4 + 32,
      );
      assert.equal(await page.locator('#search').isVisible(), false);
      await open(UNREAD);
      assert.match(await lineOf(page), /'user_id=USER_ID'/);
    },
    { javaScriptEnabled: false },
  );
});
