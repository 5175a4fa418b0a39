import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { startOperatorApi } from '../support/operator-api.ts';

const forgetConversations = sql('delete from conversation', { affects: 'none' });
const params = { username: 'practice' };

onOneEngine('conversations of the console', (engine) => {
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

  test('the tabs of the list show unread, unanswered and failed conversations, and a button marks one as read', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    const receive = (sender: string, text: string) => act(api, 'inbox receive', { params, body: { sender, text } });
    const record = (recipient: string, status: string) =>
      act(api, 'message record', { params, body: { recipient, text: `it is ${status}`, status } });
    await receive('+27825550201', 'first question');
    await receive('+27825550202', 'answered');
    await record('+27825550202', 'DELIVERED');
    await record('+27825550203', 'UNDELIVERABLE');
    const client = await signedIn(api, params);
    const shown = async (show: string) => {
      const { text } = await client.get(`/console/conversations?show=${show}`);
      return [...text.matchAll(/<li data-key="\+2782555020(\d)"/g)].map((match) => match[1]).sort();
    };
    assert.deepEqual(await shown('unread'), ['1', '2']);
    assert.deepEqual(await shown('unanswered'), ['1']);
    assert.deepEqual(await shown('failed'), ['3']);
    assert.deepEqual(await shown(''), ['1', '2', '3']);
    const path = '/console/conversation?with=%2B27825550201';
    assert.match((await client.get(path)).text, /<span class="badge">1 new<\/span>.*Mark as read.*first question/s);
    assert.deepEqual(await shown('unread'), ['1', '2'], 'a look changes nothing');
    await client.post('/console/conversation', { with: '+27825550201', act: 'read' });
    assert.deepEqual(await shown('unread'), ['2']);
    assert.doesNotMatch((await client.get(path)).text, /Mark as read/);
    assert.match(
      (await client.get('/console/conversations?show=failed&list=0.x')).text,
      /No conversation ends with a message that failed/,
    );
  });

  test('a number is grouped for people, and its digits alone are copied, linked and compared', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    const client = await signedIn(api, params);
    await act(api, 'inbox receive', { params, body: { text: 'hello', sender: '+27825550288' } });
    const { text } = await client.get('/console/conversations');
    const number = '<bdi class="tel">+27<span>82</span><span>555</span><span>0288</span></bdi>';
    const row = text.slice(text.indexOf('data-key="+27825550288"'));
    assert.match(row, /^data-key="\+27825550288"><a href="\/console\/conversation\?with=%2B27825550288"/);
    assert.ok(row.slice(0, row.indexOf('</li>')).includes(number), row.slice(0, 800));
    const thread = (await client.get('/console/conversation?with=%2B27825550288')).text;
    assert.ok(thread.includes(number));
    assert.match(thread, /<span hidden data-copy>\+27825550288<\/span>/);
    assert.match(thread, /name="with" value="\+27825550288"/);
  });

  test('unread messages without a number are in the inbox, and those of a number that is not indexed yet are listed', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    const client = await signedIn(api, params);
    const unread = async () => (await client.get('/console/conversations?show=unread')).text;
    assert.match(await unread(), /Everything is read/);
    await act(api, 'inbox receive', { params, body: { sender: ' ', text: 'from nobody' } });
    const text = await unread();
    assert.doesNotMatch(text, /Everything is read/);
    assert.match(text, /No conversation has unread messages.*href="\/console\/inbox\?state=unread"/s);
    assert.match((await client.get('/console/inbox?state=unread')).text, /from nobody/);
    await act(api, 'inbox receive', { params, body: { sender: '082 555 0201', text: 'first question' } });
    await unread();
    await api.services.database.run(forgetConversations, {});
    assert.match(await unread(), /data-key="\+27825550201".*first question.*<span class="badge">1/s);
  });

  test('contacts show when the last message was, whether it did not arrive, and who opted out', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    for (const [name, mobile] of [
      ['Failed', '082 555 0201'],
      ['Gone', '0825550202'],
      ['Quiet', '+27825550203'],
    ]) {
      await act(api, 'contact add', { params, body: { mobile, name } });
    }
    const record = (recipient: string, status: string) =>
      act(api, 'message record', { params, body: { recipient, text: 'hello', status } });
    await record('+27825550201', 'UNDELIVERABLE');
    await record('+27825550202', 'UNDELIVERABLE');
    await act(api, 'blacklist add', { params, body: { number: '+27 82 555 0202' } });
    const client = await signedIn(api, params);
    const { text } = await client.get('/console/contacts');
    const [, failed = '', gone = '', quiet = ''] = text.slice(text.indexOf('<tbody')).split('<tr');
    assert.match(failed, /Failed.*<time.*class="chip bad".*Last one not delivered/s);
    assert.match(gone, /Gone.*<time.*class="chip off".*Opted out/s);
    assert.match(quiet, /Quiet/);
    assert.doesNotMatch(quiet, /<time|class="chip/);
    assert.match((await client.get('/console/contacts?q=0202')).text, /Gone.*Opted out/s);
  });

  test('beside a conversation stand the group, what is scheduled next, and whether the number is on the blacklist', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    const { id: groupId } = await act<{ id: string }>(api, 'group add', { params, body: { name: 'Patients' } });
    await act(api, 'contact add', { params, body: { mobile: '0825550201', name: 'Thandi', groupId } });
    const later = { recipients: ['+27825550201'], text: 'See you tomorrow', sendAt: '2031-01-01T10:00:00Z' };
    await act(api, 'message send', { params, body: later });
    await act(api, 'inbox receive', { params, body: { sender: '+27825550201', text: 'hello' } });
    const client = await signedIn(api, params);
    const path = '/console/conversation?with=%2B27825550201';
    const { text } = await client.get(path);
    assert.match(text, /<bdi>Patients<\/bdi>.*See you tomorrow.*1 Jan 2031.*1 scheduled message would be cancelled/s);
    assert.match(text, /id="reply-form"/);
    await act(api, 'blacklist add', { params, body: { number: '082 555 0201' } });
    const blocked = (await client.get(path)).text;
    assert.doesNotMatch(blocked, /id="reply-form"/);
    assert.match(blocked, /This number is on the blacklist, so nothing is sent to it/);
    assert.doesNotMatch(blocked, /See you tomorrow/);
    assert.match((await client.get('/console/blacklist')).text, /<bdi>Thandi<\/bdi>/);
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
