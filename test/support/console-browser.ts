import assert from 'node:assert/strict';
import { after } from 'node:test';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium as launcher, type Page } from 'playwright-core';
import { linkFor } from './console-client.ts';
import { engines } from './engines.ts';
import { launchFirefox } from './firefox.ts';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { chromium, firefox, testWith } from './peers.ts';

/** The console in a real browser. No page reports an error or asks another server. */

const sqlite = engines[0] as (typeof engines)[number];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
];

const BROWSERS = {
  Chromium: { peer: chromium(), launch: (executablePath: string) => launcher.launch({ executablePath, args: FLAGS }) },
  Firefox: { peer: firefox(), launch: launchFirefox },
} as const;
type BrowserName = keyof typeof BROWSERS;

const launched = new Map<string, Promise<Browser>>();
after(async () => {
  for (const browser of launched.values()) await (await browser).close();
});

/** A browser for all tests with these colours. Only Chromium can change them while it runs. */
function browserOf(name: BrowserName, executablePath: string, isDark: boolean): Promise<Browser> {
  const key = name === 'Firefox' && isDark ? 'dark Firefox' : name;
  const browser = launched.get(key) ?? BROWSERS[name].launch(executablePath, isDark);
  launched.set(key, browser);
  return browser;
}

export interface Visit {
  readonly api: OperatorApi;
  readonly page: Page;
  open(path: string): Promise<void>;
  signIn(owner: { username: string } | { operator: string }): Promise<void>;
}

interface VisitOptions extends BrowserContextOptions {
  readonly allowedErrors?: RegExp;
}
type Work = (visit: Visit) => Promise<void>;

export const inConsole = (behaviour: string, work: Work, options?: VisitOptions): void =>
  inOne('Chromium', behaviour, work, options);

export function inEachBrowser(behaviour: string, work: Work, options?: VisitOptions): void {
  for (const name of ['Chromium', 'Firefox'] as const) inOne(name, behaviour, work, options);
}

export function inOne(
  browser: BrowserName,
  behaviour: string,
  work: Work,
  { allowedErrors, ...options }: VisitOptions = {},
): void {
  testWith(BROWSERS[browser].peer, `${browser}: ${behaviour}`, async (executablePath) => {
    const api = await startOperatorApi(sqlite);
    const context = await (await browserOf(browser, executablePath, options.colorScheme === 'dark')).newContext(
      options,
    );
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
