import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type BrowserContextOptions, chromium as launcher, type Page } from 'playwright-core';

/**
 * Takes the pictures of docs/ from the demo: `node bin/node.cjs proof/browser/screenshots.ts
 * [CHROMIUM]`. The fonts of Noto must be installed, or names in other scripts become boxes: see
 * proof/packages.ts.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const [, , executablePath = '/usr/bin/chromium'] = process.argv;

const demo = spawn(`${ROOT}columba`, ['serve', '--demo', '--port', '0', '--web-port', '0'], {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(demo, 'exit');
let shown = '';
for await (const chunk of demo.stdout.iterator({ destroyOnReturn: false })) {
  shown += chunk;
  if (shown.includes('Ctrl-C')) break;
}
const [customer = '', operator = ''] = shown.match(/http:\S+\/console\/sign-in\/\S+/g) ?? [];
const { origin } = new URL(customer);
const browser = await launcher.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

const WIDE = { viewport: { width: 1280, height: 800 }, locale: 'en-GB' } as const;
const PHONE = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 } as const;

type Context = Awaited<ReturnType<typeof signedIn>>;
async function signedIn(link: string) {
  const context = await browser.newContext(WIDE);
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { page, state: await context.storageState() };
}

const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(`${origin}/console/${path}`, { waitUntil: 'networkidle' }).catch(() => {}); // live pages are never idle
};
const shot = (page: Page, name: string): Promise<Buffer> =>
  page.screenshot({ path: `${ROOT}docs/console-${name}.png` });

/** In another window with the same session. */
async function otherLook(
  { state }: Context,
  options: BrowserContextOptions,
  path: string,
  name: string,
): Promise<void> {
  const context = await browser.newContext({ ...WIDE, ...options, storageState: state });
  const page = await context.newPage();
  await page.goto(`${origin}/console/${path}`);
  await page.waitForLoadState();
  await shot(page, name);
  await context.close();
}

async function ofCustomer(): Promise<void> {
  const signed = await signedIn(customer);
  const { page } = signed;
  await page.setViewportSize({ width: 1280, height: 900 }); // down to the days of the chart
  await shot(page, 'overview');
  await page.setViewportSize(WIDE.viewport);
  await page.goto(`${origin}/console/conversations`);
  await otherLook(signed, PHONE, 'conversations', 'phone');
  await page
    .getByRole('link', { name: /Thandi Mokoena/ })
    .first()
    .click();
  await page.getByText('Do I need to bring the old X-rays?').last().waitFor();
  await shot(page, 'conversation');
  await otherLook(signed, { colorScheme: 'dark' }, new URL(page.url()).href.split('/console/')[1] ?? '', 'dark');
  for (const name of ['sent', 'scheduled']) {
    await page.goto(`${origin}/console/${name}`);
    await shot(page, name);
  }
  await page.goto(`${origin}/console/compose`);
  await page.setViewportSize({ width: 1280, height: 920 }); // down to what the text costs
  await page.getByLabel('To', { exact: true }).fill('Thandi Mokoena\n082 555 0163\n12');
  const text = 'Your crown is back from the lab. It’s ready whenever you are, and we are open from 8 to 5.';
  await page.getByLabel('Text', { exact: true }).fill(text);
  await page.getByText('Unicode alphabet').waitFor();
  await shot(page, 'compose');
  await page.setViewportSize(WIDE.viewport);
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('messages will go').waitFor();
  await shot(page, 'check');
  await page.goto(`${origin}/console/import`);
  const rows = [
    'Handy;Vorname;Nachname',
    '825550304;Naledi;Jacobs',
    '2.78355E+10;Johan;Steyn',
    '0835550192;Peter;Louw',
  ];
  const file = { name: 'november-patients.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) };
  await page.locator('#file').setInputFiles(file);
  await page.getByRole('button', { name: 'Read the file' }).click();
  await page.getByText('Rows to be mended').first().waitFor();
  await shot(page, 'import');
}

async function ofOperator(): Promise<void> {
  const { page } = await signedIn(operator);
  await shot(page, 'operator');
  await page.setViewportSize({ width: 1280, height: 1100 }); // down to the rules of the verdict
  await open(page, 'migration');
  await shot(page, 'migration');
}

try {
  await ofCustomer();
  await ofOperator();
} finally {
  await browser.close();
  demo.kill('SIGTERM');
  await ended;
}
