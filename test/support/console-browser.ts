import assert from 'node:assert/strict';
import { after } from 'node:test';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium as launcher, type Page } from 'playwright-core';
import { linkFor } from './console-client.ts';
import { engines } from './engines.ts';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { chromium, testWith } from './peers.ts';

/** The console in a real browser. No page reports an error or asks another server. */

const sqlite = engines[0] as (typeof engines)[number];
const peer = chromium();
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
];

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());

export interface Visit {
  readonly api: OperatorApi;
  readonly page: Page;
  open(path: string): Promise<void>;
  signIn(owner: { username: string } | { operator: string }): Promise<void>;
}

export function inConsole(
  behaviour: string,
  work: (visit: Visit) => Promise<void>,
  options: BrowserContextOptions & { allowedErrors?: RegExp } = {},
): void {
  testWith(peer, behaviour, async (executablePath) => {
    const { allowedErrors, ...contextOptions } = options;
    launched ??= launcher.launch({ executablePath, args: FLAGS });
    const api = await startOperatorApi(sqlite);
    const context = await (await launched).newContext(contextOptions);
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (line) => {
        if (line.type() === 'error' || /Content Security Policy/.test(line.text())) errors.push(line.text());
      });
      page.on('request', (request) => {
        if (!/^data:/.test(request.url()) && !request.url().startsWith(`${api.address}/`)) errors.push(request.url());
      });
      const open = async (path: string) => void (await page.goto(api.address + path));
      const signIn: Visit['signIn'] = async (owner) => {
        await open(await linkFor(api, owner));
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
      };
      await work({ api, page, open, signIn });
      assert.deepEqual(
        errors.filter((error) => !allowedErrors?.test(error)),
        [],
      );
    } finally {
      await context.close();
      await api.stop();
    }
  });
}

/** What a check for accessibility finds wrong; with `rules` only by these. */
export async function barriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], preload: false, ...(rules ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate<{
    violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[];
  }>(`axe.run(${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}

/** By how many pixels a page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
