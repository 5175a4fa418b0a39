import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { contract } from '../../src/asmx/contract/contract.ts';
import { inBrowser } from '../../test/support/browser.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { ACME } from '../../test/support/service.ts';

const UNREAD = '/api/inbox.asmx?op=Unread';
const PAGES = [
  ...['/', '/api/inbox.asmx?op=%3Cb%3ENothing', `/api/inbox.asmx?op=${'x'.repeat(500)}`, '/nowhere/at/all'],
  ...Object.entries(contract).flatMap(([group, operations]) => [
    `/api/${group}.asmx`,
    ...Object.keys(operations).map((name) => `/api/${group}.asmx?op=${name}`),
  ]),
];
const SOME_PAGES = [
  ...['/', '/api/inbox.asmx', '/api/account.asmx?op=DeleteContact', '/api/account.asmx?op=Profile'],
  ...['/api/sent.asmx?op=Nothing', '/nowhere', '/api/inbox.asmx/Unread'],
];
const REFUSALS = ['403 (Forbidden)', '404 (Not Found)', '400 (Bad Request)'].map(
  (status) => `Failed to load resource: the server responded with a status of ${status}`,
);
const DARK = { colorScheme: 'dark' } as const;
const NARROW = { viewport: { width: 360, height: 640 } };
const WIDTH = 'document.scrollingElement.scrollWidth';

// The pages come from the contract, so one engine shows all of it.
describe('layout of the pages in a browser', () => {
  const engine = engines[0] as Engine;

  for (const [look, options] of [
    ['light', {}],
    ['dark', DARK],
  ] as const) {
    inBrowser(
      engine,
      `axe finds no violation of accessibility on any page (${look})`,
      async (visit) => {
        for (const path of SOME_PAGES) {
          await visit.open(path);
          assert.deepEqual(await visit.barriers(), [], path);
        }
        await visit.open(UNREAD);
        await visit.unfold();
        await visit.call(ACME, '2');
        await visit.answered();
        assert.deepEqual(await visit.barriers(), [], 'with an answer');
        await visit.call('nobody', '2');
        await visit.page.getByText('403 Forbidden').waitFor();
        assert.deepEqual(await visit.barriers(), [], 'with a refusal');
      },
      { ...options, allowedErrors: REFUSALS },
    );
  }

  inBrowser(
    engine,
    'a reader who prefers dark colours gets light text on a dark page',
    async ({ page, open }) => {
      await open(UNREAD);
      assert.ok((await brightness(page, 'backgroundColor')) < 40);
      assert.ok((await brightness(page, 'color')) > 200);
    },
    DARK,
  );

  inBrowser(
    engine,
    'every page opens without an error, has a title and one main heading, and is no wider than a screen of 360 pixels',
    async ({ page, open }) => {
      const titles = new Set<string>();
      for (const path of PAGES) {
        await open(path);
        assert.equal(await page.locator('h1').count(), 1, path);
        assert.ok((await page.evaluate<number>(WIDTH)) <= 360, path);
        titles.add(await page.title());
      }
      assert.equal(titles.size, 1 + 4 + 32 + 1);
    },
    { ...NARROW, allowedErrors: REFUSALS },
  );

  inBrowser(
    engine,
    'neither an answer nor the programs make a page wider than a screen of 360 pixels',
    async (visit) => {
      await visit.open(UNREAD);
      await visit.unfold();
      await visit.call(ACME, '20');
      await visit.answered();
      assert.ok((await visit.page.evaluate<number>(WIDTH)) <= 360);
    },
    NARROW,
  );

  inBrowser(
    engine,
    'a printed page is dark on light, with all programs and samples and without buttons',
    async ({ page, open }) => {
      await open(UNREAD);
      await page.emulateMedia({ media: 'print' });
      for (const hidden of ['nav', 'form', '.copy', '.skip']) {
        assert.ok((await page.locator(hidden).count()) > 0, hidden);
        assert.equal(await page.locator(hidden).filter({ visible: true }).count(), 0, hidden);
      }
      for (const sample of await page.locator('.sample pre').all()) {
        const { height = 0 } = (await sample.boundingBox()) ?? {};
        assert.ok(height > 20, (await sample.getAttribute('aria-label')) ?? '');
      }
      const cut = '[...document.querySelectorAll("pre")].filter((pre) => pre.scrollWidth > pre.clientWidth).length';
      assert.equal(await page.evaluate(cut), 0);
      assert.ok((await brightness(page, 'color')) < 60);
    },
    DARK,
  );

  // The pictures in the documents: SCREENSHOTS=1 takes them anew.
  if (process.env.SCREENSHOTS === '1') {
    for (const [name, options] of [
      ['light', { viewport: { width: 1100, height: 900 } }],
      ['dark', { ...DARK, viewport: { width: 390, height: 844 } }],
    ] as const) {
      inBrowser(
        engine,
        `a picture is taken (${name})`,
        async (visit) => {
          // The first unread message is in Japanese, for which not every machine has letters.
          await visit.service.call('get', 'inbox', 'MarkMessageAsRead', { user_id: ACME, message_id: '1003' });
          await visit.open(UNREAD);
          await visit.call(ACME, '2');
          await visit.answered();
          await visit.page.evaluate('scrollTo(0, document.querySelector("#try").offsetTop - 24)');
          await visit.page.screenshot({
            path: fileURLToPath(new URL(`../../docs/page-${name}.png`, import.meta.url)),
          });
        },
        options,
      );
    }
  }
});

/** From 0 to 255: of the brightest of the three parts of a colour. */
async function brightness(page: Page, property: string): Promise<number> {
  const colour = await page.evaluate<string>(`getComputedStyle(document.body)['${property}']`);
  return Math.max(...(colour.match(/\d+/g) ?? []).map(Number));
}
