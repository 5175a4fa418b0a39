import assert from 'node:assert/strict';
import { test } from 'node:test';

/** What the script needs of a browser, on a page that shows how many messages are unread. */
test('events ask for the unread messages once at a time, and not at all after the session has ended', async () => {
  const answers: ((reply: object) => void)[] = [];
  let happen = () => {};
  const elements: Readonly<Record<string, object[]>> = {
    '[data-counts]': [{ dataset: { counts: '/console/?part=unread' } }],
    '[data-events]': [{ dataset: { events: '/console/events.stream' } }],
  };
  const document = {
    hidden: false,
    body: { dataset: {} },
    querySelector: () => ({}),
    querySelectorAll: (selector: string) => elements[selector] ?? [],
    addEventListener: () => {},
  };
  class EventSource {
    addEventListener(name: string, listener: () => void) {
      if (name === 'message') happen = listener;
    }
  }
  const fetch = () => new Promise((resolve) => answers.push(resolve));
  Object.assign(globalThis, { document, EventSource, fetch, window: { EventSource, addEventListener: () => {} } });
  await import(new URL('../../src/console/assets/live.js', import.meta.url).href);
  happen();
  happen();
  assert.equal(answers.length, 1, 'a second event waits for the first answer');
  answers[0]?.({ status: 401 });
  await new Promise((resolve) => setImmediate(resolve));
  happen();
  assert.equal(answers.length, 1, 'the session has ended');
});
