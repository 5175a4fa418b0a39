import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';

/** Gives the script globals of a browser, until the test ends: other files run in the same process. */
function pretend(t: TestContext, globals: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(globals)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    t.after(() => {
      if (before) Object.defineProperty(globalThis, name, before);
      else Reflect.deleteProperty(globalThis, name);
    });
  }
}

const note = { textContent: '', className: '' };
const badge = { querySelector: () => null, cloneNode: () => ({}) };

/** What the script needs of a browser, on a page that shows how many messages are unread. */
async function open(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answers: ((reply: object) => void)[] = [];
  let happen = () => {};
  const elements: Readonly<Record<string, object[]>> = {
    '[data-counts]': [{ dataset: { counts: '/console/?part=unread' } }],
    '[data-events]': [{ dataset: { events: '/console/events.stream' } }],
  };
  const document = {
    title: 'Overview',
    hidden: false,
    body: { dataset: { saySignedOut: 'You were signed out.' } },
    createElement: () => ({ content: badge }),
    querySelector: (selector: string) => (selector === '#live' ? note : {}),
    querySelectorAll: (selector: string) => elements[selector] ?? [],
    addEventListener: () => {},
  };
  class EventSource {
    addEventListener(name: string, listener: () => void) {
      if (name === 'message') happen = listener;
    }
  }
  const fetch = () => new Promise((resolve) => answers.push(resolve));
  pretend(t, { document, EventSource, fetch, window: { EventSource, addEventListener: () => {} } });
  // Each page runs the script anew.
  await import(new URL(`../../src/console/assets/live.js?${t.name}`, import.meta.url).href);
  return {
    happen: () => happen(),
    asked: () => answers.length,
    async answer(reply: object) {
      answers.at(-1)?.({ status: 200, ok: true, headers: new Headers({ ETag: 'x' }), text: async () => '', ...reply });
      await new Promise((resolve) => setImmediate(resolve));
    },
    pass: (ms: number) => t.mock.timers.tick(ms),
  };
}

describe('the page that stays up to date', () => {
  test('events ask for the unread messages once at a time; when the session has ended, the page says so without any list', async (t) => {
    const page = await open(t);
    page.happen();
    page.happen();
    assert.equal(page.asked(), 1, 'a second event waits for the first answer');
    await page.answer({ status: 401 });
    page.happen();
    page.pass(600_000);
    assert.equal(page.asked(), 1, 'the session has ended');
    assert.deepEqual(note, { textContent: 'You were signed out.', className: 'note bad' });
  });

  test('an event that comes during a request is asked about half a second after its answer', async (t) => {
    const page = await open(t);
    page.happen();
    page.happen();
    await page.answer({});
    page.pass(500);
    assert.equal(page.asked(), 2);
  });

  test('a count that breaks off on its way is asked for again', async (t) => {
    const page = await open(t);
    page.happen();
    await page.answer({ text: () => Promise.reject(new TypeError('network error')) });
    page.pass(10_000);
    assert.equal(page.asked(), 2);
  });
});
