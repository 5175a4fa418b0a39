import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { barriers, inConsole, overflow } from '../../test/support/console-browser.ts';
import { act } from '../../test/support/console-client.ts';
import { addFigures } from '../../test/support/migration-counts.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../../test/support/screens.ts';

/** The console in a real browser. No page reports an error or asks another server. */

const CHECKED = "[...document.querySelectorAll('tbody input[name=id]')].map((box) => box.checked)";

/** What the width of a page can break; what its colours can. */
const BY_WIDTH = ['target-size', 'scrollable-region-focusable', 'label', 'color-contrast'];
const BY_COLOUR = ['color-contrast'];

/**
 * All four combinations of width and colours of a page that is loaded once. The whole check runs in
 * the first one. In the others run the rules whose result can differ. Other widths must fit too.
 */
async function look(page: Page, path: string): Promise<void> {
  for (const [width, colorScheme, rules] of [
    [1280, 'light', undefined],
    [1280, 'dark', BY_COLOUR],
    [360, 'dark', BY_WIDTH],
    [360, 'light', BY_COLOUR],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await barriers(page, rules), [], `${path} at ${width} px, ${colorScheme}`);
  }
  for (const width of [320, 360, 1280, 1600]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok((await overflow(page)) <= 0, `${path} is too wide at ${width} px`);
  }
}

/** Each screen once, whatever it is asked for. */
const eachOnce = (paths: readonly string[]): string[] => [
  ...new Map([...paths].reverse().map((path) => [path.replace(/\?(?!with=).*/, ''), path])).values(),
];

const SCREENS = [
  [{ username: 'acme' }, 'a customer', ['/console/sign-in', ...eachOnce(CUSTOMER_SCREENS)]],
  [{ operator: 'ann' }, 'an operator', [...eachOnce(OPERATOR_SCREENS), '/console/accounts/acme/inbox']],
] as const;

/** Controls that would do nothing without the script. */
const DEAD_CONTROLS = `[...document.querySelectorAll('button[type=button], a[href="#"], [onclick], label[hidden] input')]
  .filter((each) => each.checkVisibility()).map((each) => each.outerHTML)`;

describe('screens of the console in Chromium', () => {
  for (const [owner, who, paths] of SCREENS) {
    inConsole(`every screen of ${who} is accessible and fits, wide and narrow, light and dark`, async (visit) => {
      const { page, open, signIn, api } = visit;
      await addFigures(api);
      await signIn(owner);
      for (const path of paths) {
        await open(path);
        await look(page, path);
      }
      assert.deepEqual(
        api.logged.filter((line) => /"level":[56]0/.test(line)),
        [],
      );
    });

    inConsole(
      `every screen of ${who} works without the script`,
      async ({ page, open, signIn, api }) => {
        await addFigures(api);
        await signIn(owner);
        for (const path of paths) {
          await open(path);
          assert.notEqual(await page.locator('h1').first().textContent(), 'This did not work', path);
          assert.deepEqual(await page.evaluate(DEAD_CONTROLS), [], path);
          assert.ok((await overflow(page)) <= 0, path);
        }
      },
      { javaScriptEnabled: false, viewport: { width: 360, height: 800 } },
    );
  }
});

describe('working in the console in Chromium', () => {
  for (const javaScriptEnabled of [true, false]) {
    inConsole(
      `a message is written, checked and sent with the script ${javaScriptEnabled ? 'on' : 'off'}`,
      async ({ page, open, signIn, api }) => {
        await signIn({ username: 'acme' });
        await open('/console/compose');
        await page.getByLabel('To', { exact: true }).fill('+27825550201\n12');
        await page.getByLabel('Text', { exact: true }).fill('From the browser');
        if (javaScriptEnabled) await page.getByText('1 part · GSM alphabet').waitFor();
        await page.getByRole('button', { name: 'Check' }).click();
        await page.getByText('1 message will go.').waitFor();
        await page.getByRole('link', { name: 'Go back and change it' }).click();
        assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), 'From the browser');
        await page.getByRole('button', { name: 'Check' }).click();
        await page.getByRole('button', { name: 'Send 1 message' }).dblclick();
        await page.getByText('1 message accepted').waitFor();
        const { items } = await act<{ items: { text: string }[] }>(api, 'message list', {
          params: { username: 'acme' },
        });
        assert.equal(items.filter(({ text }) => text === 'From the browser').length, 1);
      },
      { javaScriptEnabled },
    );
  }

  inConsole(
    'messages are marked and deleted without the script',
    async ({ page, open, signIn, api }) => {
      await signIn({ username: 'acme' });
      await open('/console/inbox');
      await page.locator('tbody input[name=id]').first().check();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('Delete 1 received message?').waitFor();
      await page.getByRole('button', { name: 'Delete 1 message' }).click();
      await page.getByText('Deleted 1 message.').waitFor();
      const { items } = await act<{ items: unknown[] }>(api, 'inbox list', { params: { username: 'acme' } });
      assert.equal(items.length, 5);
    },
    { javaScriptEnabled: false },
  );

  inConsole('keys move, select and open rows, and a field takes them as text', async ({ page, signIn }) => {
    await signIn({ username: 'acme' });
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    assert.deepEqual(await page.evaluate(CHECKED), [false, true, false, false, false, false]);
    await page.keyboard.press('m');
    await page.getByText('Marked 1 message as read.').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('gixj?');
    assert.equal(await page.locator('input[type=search]').first().inputValue(), 'gixj?');
  });

  inConsole('the keys of an operator lead only to screens that an operator has', async ({ page, open, signIn }) => {
    await signIn({ operator: 'ann' });
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.waitFor();
    const keys = await list.locator('kbd').allTextContents();
    assert.deepEqual(keys, ['g o', 'g a', 'g q', 'g u', 'g c', 'g l', '?', '/', 'j k', 'x', 'Enter']);
    await page.keyboard.press('Escape');
    for (const key of ['g', 'i', 'g', 'q']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Queue' }).waitFor();
    await open('/console/accounts/acme/inbox');
    for (const key of ['g', 's']) await page.keyboard.press(key);
    await page.waitForURL(/\/console\/accounts\/acme\/sent$/);
  });

  inConsole('Enter opens a row, and r replies to it', async ({ page, open, signIn }) => {
    await signIn({ username: 'acme' });
    for (const [path, key, place] of [
      ['inbox', 'Enter', /\/console\/conversation\?with=[^#]+$/],
      ['inbox', 'r', /\/console\/conversation\?with=.+#reply$/],
      ['sent', 'Enter', /\/console\/messages\/\d+$/],
      ['contacts', 'Enter', /\/console\/contacts\/\d+$/],
    ] as const) {
      await open(`/console/${path}`);
      await page.keyboard.press('j');
      await page.keyboard.press(key);
      await page.waitForURL(place);
    }
  });

  inConsole('a keyboard alone signs in and reads the inbox', async ({ page, open, signIn }) => {
    await signIn({ username: 'acme' });
    await open('/console/access');
    await page.getByLabel('New password').fill('eleven purple rivers');
    await page.keyboard.press('Enter');
    await page.getByText('The password is set.').waitFor();
    await page.context().clearCookies();
    await open('/console/inbox');
    await page.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.type('acme');
    await page.keyboard.press('Tab');
    await page.keyboard.type('eleven purple rivers');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'To the content');
  });

  inConsole(
    'a new message waits behind a button and leaves the selection alone, and after a sign-out the page says that the session has ended',
    async ({ page, open, signIn, api }) => {
      await signIn({ username: 'acme' });
      await open('/console/inbox');
      await page.locator('tbody input[name=id]').first().check();
      await act(api, 'inbox receive', {
        params: { username: 'acme' },
        body: { text: 'brand new', sender: '+27825550201' },
      });
      await page.getByRole('button', { name: '1 new – show' }).click();
      await page.getByText('brand new').waitFor();
      assert.equal(await page.locator('tbody input[name=id]:checked').count(), 1);
      await page.context().clearCookies();
      await page.getByText('You were signed out.').waitFor();
      assert.match(page.url(), /\/console\/inbox$/);
    },
    { allowedErrors: /401/ },
  );

  inConsole('after a send, the back button and another click send nothing more', async (visit) => {
    const { page, open, signIn, api } = visit;
    await signIn({ username: 'acme' });
    await open('/console/compose');
    await page.getByLabel('To', { exact: true }).fill('+27825550201');
    await page.getByLabel('Text', { exact: true }).fill('Only once');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('button', { name: 'Send 1 message' }).click();
    await page.getByText('1 message accepted').waitFor();
    // One step back is the check, which tells what became of it.
    await page.goBack();
    await page.getByText('These messages were accepted').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send 1 message' }).count(), 0);
    // Two steps back is the form as it was typed, and it leads to the same check.
    await page.goBack();
    await page.getByRole('heading', { name: 'New message' }).waitFor();
    assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), 'Only once');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('These messages were accepted').waitFor();
    const { items } = await act<{ items: { text: string }[] }>(api, 'message list', { params: { username: 'acme' } });
    assert.equal(items.filter(({ text }) => text === 'Only once').length, 1);
  });

  inConsole('a hidden page asks for nothing; shown again, it asks at once', async ({ page, open, signIn }) => {
    await signIn({ username: 'acme' });
    await page.clock.install();
    await page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => !window.isShown })");
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/[?&]part=/.test(request.url())) asked.push(request.url());
    });
    await open('/console/inbox');
    await page.clock.runFor(600_000);
    assert.deepEqual(asked, []);
    const answered = page.waitForResponse(/part=rows/);
    await page.evaluate("window.isShown = true; document.dispatchEvent(new Event('visibilitychange'))");
    await page.clock.runFor(1_000);
    assert.equal((await answered).status(), 200);
  });

  inConsole('a cancelled message leaves the list of scheduled ones, and a chosen row stays', async (visit) => {
    const { page, open, signIn, api } = visit;
    const params = { username: 'acme' };
    await signIn(params);
    await page.clock.install();
    await open('/console/scheduled');
    const keys = "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.key)";
    const [first = '', second = ''] = await page.evaluate<string[]>(keys);
    await page.locator(`tr[data-key="${second}"] input`).check();
    await act(api, 'message cancel', { params: { ...params, id: first } });
    const answered = page.waitForResponse(/part=rows/);
    await page.clock.runFor(5_000);
    await answered;
    await page.locator(`tr[data-key="${first}"]`).waitFor({ state: 'detached' });
    assert.deepEqual(await page.evaluate(keys), [second]);
    assert.ok(await page.locator(`tr[data-key="${second}"] input`).isChecked());
  });

  inConsole(
    'another web site can neither act nor read: by a form, an image, or a fetch with and without credentials',
    async ({ page, signIn, open, api }) => {
      await signIn({ username: 'acme' });
      // Another site for the browser, although it is the same machine.
      const target = `${api.address}/console/templates`;
      const attacker = createServer((_, response) => {
        response.setHeader('Content-Type', 'text/html');
        response.end(`<form method="post" action="${target}"><input name="text" value="planted"><button>Win</button></form>
<img src="${api.address}/console/sign-out" alt="">`);
      });
      await new Promise<void>((resolve) => attacker.listen(0, 'localhost', resolve));
      try {
        const { port } = attacker.address() as AddressInfo;
        await page.goto(`http://localhost:${port}/`);
        const tried = await page.evaluate<string[]>(`Promise.all(['include', 'omit'].flatMap((credentials) => [
          fetch('${target}', { method: 'POST', credentials, body: new URLSearchParams({ text: 'planted' }) }),
          fetch('${target}', { credentials }),
        ].map((each) => each.then((reply) => 'read ' + reply.status, () => 'refused'))))`);
        assert.deepEqual(tried, Array(4).fill('refused'));
        await page.getByRole('button', { name: 'Win' }).click();
        await page
          .getByText('came from another web site')
          .or(page.getByRole('heading', { name: 'Sign in' }))
          .waitFor();
        await open('/console/templates');
        await page.getByRole('heading', { name: 'Templates' }).waitFor();
        assert.equal(await page.getByText('planted').count(), 0);
      } finally {
        attacker.close();
      }
    },
    { allowedErrors: /localhost|CORS|ERR_FAILED|ERR_BLOCKED|40[13]/ },
  );
});
