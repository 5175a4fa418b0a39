import assert from 'node:assert/strict';
import { after } from 'node:test';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium as launcher, type Page } from 'playwright-core';
import type { PageSettings } from '../../src/asmx/pages/pages.ts';
import type { Engine } from './engines.ts';
import { chromium, testWith } from './peers.ts';
import { type Service, startService } from './service.ts';

/** A real browser in front of a real service, with the sample data. */
export interface Visit {
  readonly page: Page;
  readonly service: Service;
  /** Opens an address of the service. */
  open(path: string): Promise<void>;
  /** Fills in the form of Unread and presses its button. */
  call(userId: string, maxCount: string): Promise<void>;
  /** Opens whatever can be opened on the page. */
  unfold(): Promise<void>;
  /** The answer has come, by the text it shows under which status. */
  answered(): Promise<{ status: string; text: string }>;
  /** What a check for accessibility finds wrong. */
  barriers(): Promise<string[]>;
}

const peer = chromium();
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];

let launched: Promise<Browser> | undefined;
const browser = (executablePath: string): Promise<Browser> => {
  launched ??= launcher.launch({ executablePath, args: [...FLAGS, '--no-first-run'] });
  return launched;
};
after(async () => (await launched)?.close());

/**
 * One test in a window of its own. Whatever it does, the page must report no error, and must ask no other server for
 * anything; `allowedErrors` are those that the browser itself writes about a refused call.
 */
export function inBrowser(
  engine: Engine,
  behaviour: string,
  work: (visit: Visit) => Promise<void>,
  {
    allowedErrors = [],
    pages,
    ...options
  }: BrowserContextOptions & { allowedErrors?: string[]; pages?: PageSettings } = {},
): void {
  testWith(peer, behaviour, async (command) => {
    const service = await startService(engine, 'sample', {}, pages);
    const context = await (await browser(command)).newContext(options);
    try {
      const address = await service.app.start();
      const page = await context.newPage();
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (line) => {
        // For an answer in XML, which names no icon, the browser asks for one.
        if (line.type() === 'error' && !line.location().url.endsWith('/favicon.ico')) errors.push(line.text());
      });
      page.on('request', (request) => {
        if (!/^data:/.test(request.url()) && !request.url().startsWith(`${address}/`)) errors.push(request.url());
      });
      await work({
        page,
        service,
        open: async (path) => void (await page.goto(address + path)),
        call: (userId, maxCount) => callUnread(page, userId, maxCount),
        unfold: () => page.evaluate(UNFOLD),
        answered: () => answerOf(page),
        barriers: () => barriersOf(page),
      });
      assert.deepEqual(
        errors.filter((error) => !allowedErrors.includes(error)),
        [],
      );
    } finally {
      await context.close();
      await service.stop();
    }
  });
}

/** Those of one name would close one another. */
const UNFOLD = `for (const each of document.querySelectorAll('details')) {
  each.removeAttribute('name');
  each.open = true;
}`;

async function callUnread(page: Page, userId: string, maxCount: string): Promise<void> {
  await page.getByLabel('user_id').fill(userId);
  await page.getByLabel('max_count').fill(maxCount);
  await page.getByRole('button', { name: 'Call Unread' }).click();
}

async function answerOf(page: Page): Promise<{ status: string; text: string }> {
  await page.locator('#answer strong', { hasText: /^\d{3} / }).waitFor();
  return {
    status: (await page.locator('#answer strong').textContent()) ?? '',
    text: (await page.locator('#answer > pre').textContent()) ?? '',
  };
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

async function barriersOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate<{ violations: Violation[]; passes: Violation[] }>('axe.run()');
  assert.ok(passes.some(({ id }) => id === 'color-contrast')); // it has looked
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}
