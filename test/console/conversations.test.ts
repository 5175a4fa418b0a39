import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

const params = { username: 'practice' };

onEveryEngine('conversations of the console', (engine) => {
  test('the list shows names and unread counts, a reply is sent in place once, and old messages are reached', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    await act(api, 'contact add', { params, body: { mobile: '0825550201', name: 'Thandi', surname: 'Mokoena' } });
    for (let number = 1; number <= 60; number += 1) {
      await act(api, 'inbox receive', { params, body: { text: `line ${number}`, sender: '+27825550201' } });
    }
    const client = await signedIn(api, params);
    const list = await client.get('/console/conversations');
    assert.match(list.text, /<bdi>Thandi Mokoena<\/bdi>.*line 60.*<span class="badge">60/s);
    const found = await client.get('/console/search?q=mokoena');
    assert.match(found.text, /href="\/console\/conversation\?with=0825550201"/);
    const path = '/console/conversation?with=0825550201';
    const thread = await client.get(path);
    assert.match(thread.text, /<bdi>line 60<\/bdi>/);
    assert.doesNotMatch(thread.text, /<bdi>line 5<\/bdi>/);
    const [, earlier = ''] = /href="([^"]+until=[^"]+)">Show earlier/.exec(thread.text) ?? [];
    assert.match((await client.get(earlier.replaceAll('&#38;', '&'))).text, /<bdi>line 5<\/bdi>/);
    const [, key = ''] = /name="key" value="(\w+)"/.exec(thread.text) ?? [];
    const form = { with: '0825550201', key, text: 'See you at 14:30' };
    for (let times = 0; times < 2; times += 1) {
      const { status, location } = await client.post('/console/conversation', form);
      assert.equal(status, 303);
      assert.match(location ?? '', /\/console\/conversation\?with=0825550201&notice=sent/);
    }
    const after = (await client.get(path)).text;
    assert.equal(after.split('<bdi>See you at 14:30</bdi></p>').length - 1, 1, 'it was sent once');
    assert.doesNotMatch((await client.get('/console/conversations')).text, /class="fresh"/, 'a reply marks as read');
  });

  test('a reply that is refused says why and keeps the text', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '0' } });
    const client = await signedIn(api, params);
    const form = { with: '+27825550201', key: 'k', text: 'What I typed' };
    const { status, text } = await client.post('/console/conversation', form);
    assert.equal(status, 400);
    assert.match(text, /role="alert".*What I typed/s);
  });

  test('the stream of events ends by itself, and its page names it', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA' } });
    const client = await signedIn(api, params);
    assert.match(
      (await client.get('/console/conversations')).text,
      /data-events="\/console\/events\.stream\?part=events"/,
    );
    const { status, text } = await client.get('/console/events.stream?part=events');
    assert.equal(status, 200);
    assert.match(text, /^retry: 1000/);
  });
});
