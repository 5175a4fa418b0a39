import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium as launcher } from 'playwright-core';
import { act, linkFor } from '../../test/support/console-client.ts';
import { engines } from '../../test/support/engines.ts';
import { addClients, addFigures } from '../../test/support/migration-counts.ts';
import { startOperatorApi } from '../../test/support/operator-api.ts';

/** Makes the pictures of docs/: `node bin/node.cjs proof/browser/screenshots.ts [CHROMIUM]`. */

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));
const [, , executablePath = '/usr/bin/chromium'] = process.argv;
const api = await startOperatorApi(engines[0] as (typeof engines)[number]);
const browser = await launcher.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(120_000);
mkdirSync(DOCS, { recursive: true });
const shot = (name: string) => page.screenshot({ path: `${DOCS}console-${name}.png` });

const params = { username: 'acme' };
await addFigures(api);
await addClients(api);
await act(api, 'migrate stage', { params, body: { stage: 'compare' } });
await act(api, 'connector put', { params: { name: 'carrier' }, body: { kind: 'loopback', isDefault: true } });
await act(api, 'account change', { params, body: { timeZone: 'Africa/Johannesburg' } });
await page.goto(api.address + (await linkFor(api, params)));
await page.getByRole('button', { name: 'Sign in' }).click();
await shot('overview');
for (const name of ['inbox', 'sent']) {
  await page.goto(`${api.address}/console/${name}`);
  await shot(name);
}
await page.goto(`${api.address}/console/compose`);
await page.getByLabel('To', { exact: true }).fill('+27825550201\n082 555 0202\n12');
await page
  .getByLabel('Text', { exact: true })
  .fill('Your order is ready. It’s at the counter until Friday, and we are open from 8 to 6.');
await page.getByText('Unicode alphabet').waitFor();
await shot('compose');
await page.getByRole('button', { name: 'Check' }).click();
await page.getByText('messages will go').waitFor();
await shot('check');
await page.goto(`${api.address}/console/sign-in`);
await page.context().clearCookies();
await page.goto(api.address + (await linkFor(api, { operator: 'ann' })));
await page.getByRole('button', { name: 'Sign in' }).click();
await shot('operator');
await page.setViewportSize({ width: 1280, height: 1280 }); // down to the rules of the verdict
await page.goto(`${api.address}/console/migration`);
await shot('migration');
await browser.close();
await api.stop();
