import { createRequire, registerHooks } from 'node:module';
import type { Browser } from 'playwright-core';

/**
 * Debian's Firefox, which playwright-core drives by WebDriver BiDi. It asks for one command that
 * this Firefox does not have yet, for the colours of a page; a command that changes nothing stands
 * in for it, and the colours are a preference of the browser.
 */

const MISSING = '"emulation.setMediaFeaturesOverride"';
const HARMLESS = '"session.status"';

const require = createRequire(import.meta.url);

function playwrightForFirefox(): typeof import('playwright-core') {
  // Another instance than that of Chromium, which other tests of the process may have loaded.
  const loaded = Object.keys(require.cache).filter((path) => path.includes('/playwright-core/'));
  for (const path of loaded) delete require.cache[path];
  const hooks = registerHooks({
    load(url, context, next) {
      const file = next(url, context);
      if (!url.endsWith('/playwright-core/lib/coreBundle.js')) return file;
      return { ...file, source: String(file.source).replaceAll(MISSING, HARMLESS) };
    },
  });
  try {
    return require('playwright-core');
  } finally {
    hooks.deregister();
  }
}

let playwright: typeof import('playwright-core') | undefined;

export function launchFirefox(executablePath: string, isDark: boolean): Promise<Browser> {
  playwright ??= playwrightForFirefox();
  return playwright.firefox.launch({
    channel: 'moz-firefox',
    executablePath,
    firefoxUserPrefs: { 'layout.css.prefers-color-scheme.content-override': isDark ? 0 : 1 },
  });
}
