import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';

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

/** What the script needs of a browser, on a page that shows how many messages are unread. */
test('events ask for the unread messages once at a time; when the session has ended, the page says so without any list', async (t) => {
  const answers: ((reply: object) => void)[] = [];
  let happen = () => {};
  const note = { textContent: '', className: '' };
  const elements: Readonly<Record<string, object[]>> = {
    '[data-counts]': [{ dataset: { counts: '/console/?part=unread' } }],
    '[data-events]': [{ dataset: { events: '/console/events.stream' } }],
  };
  const document = {
    hidden: false,
    body: { dataset: { saySignedOut: 'You were signed out.' } },
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
  await import(new URL('../../src/console/assets/live.js', import.meta.url).href);
  happen();
  happen();
  assert.equal(answers.length, 1, 'a second event waits for the first answer');
  answers[0]?.({ status: 401 });
  await new Promise((resolve) => setImmediate(resolve));
  happen();
  assert.equal(answers.length, 1, 'the session has ended');
  assert.deepEqual(note, { textContent: 'You were signed out.', className: 'note bad' });
});
