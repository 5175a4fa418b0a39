import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { inBrowser } from '../../test/support/browser.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { ACME } from '../../test/support/service.ts';

const UNREAD = '/api/inbox.asmx?op=Unread';
const REFUSED = 'Failed to load resource: the server responded with a status of 403 (Forbidden)';

onEveryEngine('pages in a browser', (engine) => {
  inBrowser(engine, 'from the front page a reader finds Unread, calls it and sees the messages', async (visit) => {
    const { page } = visit;
    await visit.open('/');
    await page.getByRole('link', { name: 'inbox', exact: true }).click();
    await page.getByRole('link', { name: 'Unread', exact: true }).click();
    await visit.call(ACME, '20');
    const { status, text } = await visit.answered();
    assert.equal(status, '200 OK');
    assert.match(text, /^<\?xml /);
    assert.match(text, /<message>二箱のりんごをください<\/message>/);
    assert.match(text, /<id>9007199254740993<\/id>/);
    assert.ok(page.url().endsWith(UNREAD), 'the page stays');
    await page.getByRole('link', { name: 'inbox', exact: true }).click();
    assert.equal(await page.title(), 'inbox – Columba');
  });

  inBrowser(
    engine,
    'a wrong user_id is answered below the form with 403 and the reason, looks like a refusal, and is reported at its field',
    async (visit) => {
      const { page } = visit;
      await visit.open(UNREAD);
      await visit.call('nobody', '20');
      assert.deepEqual(await visit.answered(), { status: '403 Forbidden', text: 'The user_id is not valid.\n' });
      assert.equal(await page.locator('#answer').getAttribute('data-outcome'), 'problem');
      assert.match((await page.locator('#answer span').textContent()) ?? '', /^refused after \d+ ms$/);
      await complains(page, 'user_id', 'The user_id is not valid.');
      await visit.call(ACME, '20');
      await page.getByText('200 OK', { exact: true }).waitFor();
      assert.equal(await page.locator('#answer').getAttribute('data-outcome'), 'success');
      assert.equal(await page.locator('.complaint:visible, [aria-invalid], [aria-describedby]').count(), 0);
    },
    { allowedErrors: [REFUSED] },
  );

  inBrowser(
    engine,
    'a refused argument is reported at its field, which the keyboard reaches and the reason describes',
    async (visit) => {
      await visit.open(UNREAD);
      await visit.call(ACME, '-1');
      assert.equal((await visit.answered()).status, '400 Bad Request');
      await complains(visit.page, 'max_count', 'must not be negative');
    },
    { allowedErrors: [REFUSED.replace('403 (Forbidden)', '400 (Bad Request)')] },
  );

  inBrowser(engine, 'the page shows an answer with its duration and its header fields', async (visit) => {
    await visit.open(UNREAD);
    await visit.call(ACME, '1');
    await visit.answered();
    assert.match((await visit.page.locator('#answer span').textContent()) ?? '', /^answered after \d+ ms$/);
    await visit.page.getByText('Header fields').click();
    const fields = await visit.page.getByRole('region', { name: 'Header fields' }).innerText();
    assert.match(fields, /^content-type: text\/xml; charset=utf-8$/m);
    assert.match(fields, /^x-request-id: /m);
  });

  inBrowser(
    engine,
    'the page says below the form that the server does not answer',
    async (visit) => {
      await visit.open(UNREAD);
      await visit.page.context().setOffline(true);
      await visit.page.getByRole('button', { name: 'Call Unread' }).click();
      await visit.page.getByText('The server did not answer.').waitFor();
    },
    { allowedErrors: ['Failed to load resource: net::ERR_INTERNET_DISCONNECTED'] },
  );

  inBrowser(
    engine,
    'without scripts the form leads to the XML itself, and the page shows all samples',
    async ({ page, open }) => {
      await open(UNREAD);
      assert.equal(await page.locator('.sample pre').count(), 1 + 5 + 8);
      assert.equal(await page.locator('.copy').count(), 0);
      await page.getByLabel('user_id').fill(ACME);
      await page.getByLabel('max_count').fill('20');
      const [reply] = await Promise.all([
        page.waitForResponse(/\/api\/inbox\.asmx\/Unread$/),
        page.getByRole('button', { name: 'Call Unread' }).click(),
      ]);
      assert.equal(reply.status(), 200);
      await page.waitForURL(/\/api\/inbox\.asmx\/Unread$/);
      await page.getByText('no sender on this one').last().waitFor();
    },
    { javaScriptEnabled: false },
  );

  inBrowser(
    engine,
    'an operation with a list has a curl command in place of a form, and all four samples',
    async ({ page, open, unfold }) => {
      await open('/api/account.asmx?op=DeleteContact');
      await unfold();
      assert.equal(await page.locator('form, input').count(), 0);
      assert.ok(await page.getByText('There is no form for this operation, because it takes a list.').isVisible());
      const line = page.getByRole('region', { name: 'DeleteContact with curl' });
      assert.match((await line.textContent()) ?? '', /contact_id=101' \\\n.*contact_id=102'$/);
      for (const title of ['SOAP 1.1', 'SOAP 1.2', 'HTTP GET', 'HTTP POST']) {
        assert.ok(await page.getByRole('region', { name: `${title} request` }).isVisible());
        assert.ok(await page.getByRole('region', { name: `${title} response` }).isVisible());
      }
    },
  );

  inBrowser(
    engine,
    'each copy button copies its sample, and says so',
    async ({ page, open, unfold }) => {
      await open(UNREAD);
      await unfold();
      const samples = await page.locator('.sample').all();
      assert.equal(samples.length, 1 + 5 + 8);
      for (const sample of samples) {
        await sample.getByRole('button').click();
        await sample.getByText('Copied').waitFor();
        const copied = await page.evaluate<string>('navigator.clipboard.readText()');
        assert.equal(copied, await sample.locator('code').textContent());
        const name = await sample.getAttribute('data-name');
        assert.equal(await sample.getByRole('button').getAttribute('aria-label'), `Copy: ${name}`);
      }
    },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  );

  inBrowser(
    engine,
    'where the browser forbids copying, the button says that too',
    async ({ page, open }) => {
      await open(UNREAD);
      const sample = page.locator('[data-name="Unread with curl"]');
      await sample.getByRole('button').click();
      await sample.getByText('Not copied').waitFor();
    },
    { permissions: [] }, // none but those that are listed
  );

  inBrowser(
    engine,
    'a reader can fill in and send the form and reach the answer with the keyboard alone',
    async (visit) => {
      const { page } = visit;
      const focused = () => page.evaluate<string>('document.activeElement.getAttribute("name") ?? ""');
      await visit.open(UNREAD);
      for (let presses = 0; presses < 20 && (await focused()) !== 'user_id'; presses++)
        await page.keyboard.press('Tab');
      assert.equal(await focused(), 'user_id');
      const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
      assert.equal(outline, 'solid', 'the focus can be seen');
      await page.keyboard.type(ACME);
      await page.keyboard.press('Tab');
      assert.equal(await focused(), 'max_count');
      await page.keyboard.type('1');
      await page.keyboard.press('Enter');
      assert.match((await visit.answered()).text, /<id>1003<\/id>/);
      await page.keyboard.press('Tab'); // the button
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate('document.activeElement.closest("section")?.id'), 'answer');
    },
  );

  inBrowser(
    engine,
    'the first thing that the keyboard reaches is a visible link past the navigation',
    async ({ page, open }) => {
      await open('/api/inbox.asmx');
      await page.keyboard.press('Tab');
      const link = page.getByRole('link', { name: 'To the content' });
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'To the content');
      assert.ok(((await link.boundingBox())?.x ?? -1) >= 0);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'WSDL');
    },
  );
});

/** The field is marked, has the focus, and is described by what is wrong with it. */
async function complains(page: Page, name: string, reason: string): Promise<void> {
  const field = page.locator(`[name="${name}"]`);
  const complaint = page.getByText(reason, { exact: true }).and(page.locator('.complaint'));
  await complaint.waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  assert.equal(await field.getAttribute('aria-describedby'), await complaint.getAttribute('id'));
  assert.equal(await page.evaluate('document.activeElement.name'), name);
}
