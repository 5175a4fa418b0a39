import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Problem } from '../../src/problem.ts';
import type { Database } from '../../src/store/database.ts';
import { type Serving, serve } from '../durability/serving.ts';
import { onEveryEngine } from '../support/engines.ts';
import { load, manyOf } from '../wire/long-lists.ts';
import { openReceiver, type Received, textOf } from './receiving.ts';

/** Long lists of the whole service, as they come over a connection. */
const COUNT = 5_000;
const PAGES = COUNT / 200;
const PATH = `/api/inbox.asmx/InboxDS?user_id=many&max_count=${COUNT}`;
const COUNTING = '/api/inbox.asmx/CountUnread?user_id=many';

const request = (start: string, ...fields: string[]) => [start, 'Host: h', ...fields, '', ''].join('\r\n');
const get = (path: string, ...fields: string[]) => request(`GET ${path} HTTP/1.1`, ...fields);

onEveryEngine('long answers, over a socket', (engine) => {
  let serving: Serving;
  let address: string;
  let expected: string;
  /** Pages of the inbox that were read, and the one that cannot be. */
  const pages = { read: 0, failsAt: Number.POSITIVE_INFINITY, thrown: new Error('a page that cannot be read') };
  const counting = (opened: Database): Database => ({
    ...opened,
    async all(statement, parameters) {
      if (statement.name === 'inbox.newest' && ++pages.read === pages.failsAt) throw pages.thrown;
      return opened.all(statement, parameters);
    },
  });
  before(async () => {
    serving = await serve(await engine.fresh('empty'), { database: counting });
    await load(serving.app, { ...manyOf('many', COUNT), sent: [], scheduled: [], contacts: [] });
    address = await serving.app.start();
    expected = await serving.ask('inbox', 'InboxDS', { user_id: 'many', max_count: COUNT });
  });
  after(() => serving.app.stop());

  /** The same bytes as the endpoint's own, which test/wire/long-lists.test.ts holds against one piece. */
  const isExpected = (answer: Received | undefined) => {
    assert.equal(answer?.status, 200);
    assert.ok(textOf(answer).replace(/^<\?xml[^>]*>\s*/, '') === expected);
  };
  async function alone(bytes: string): Promise<Received> {
    const client = openReceiver(address);
    client.send(bytes);
    const [answer] = await client.ended();
    return answer as Received;
  }

  test('HTTP/1.1 gets chunks, and no length', async () => {
    const answer = await alone(get(PATH, 'Connection: close'));
    isExpected(answer);
    assert.equal(answer.isWhole, true);
    const { 'transfer-encoding': coding, 'content-length': length, vary } = answer.headers;
    assert.deepEqual([coding, length, vary], ['chunked', undefined, 'Accept-Encoding']);
    assert.equal(answer.headers['content-type'], 'text/xml; charset=utf-8');
  });

  for (const fields of [[], ['Connection: keep-alive'], ['Accept-Encoding: gzip']]) {
    test(`HTTP/1.0 gets it as it is, up to the end of the connection (${fields[0] ?? 'no field'})`, async () => {
      const answer = await alone(request(`GET ${PATH} HTTP/1.0`, ...fields));
      isExpected(answer);
      const { 'transfer-encoding': coding, 'content-length': length, connection } = answer.headers;
      assert.deepEqual([coding, length, connection], [undefined, undefined, 'close']);
    });
  }

  test('in gzip it is smaller, and the same', async () => {
    const answer = await alone(get(PATH, 'Connection: close', 'Accept-Encoding: gzip'));
    isExpected(answer);
    assert.deepEqual([answer.headers['content-encoding'], answer.headers['transfer-encoding']], ['gzip', 'chunked']);
    assert.equal(answer.headers.vary, 'Accept-Encoding');
    assert.ok(answer.body.length < expected.length / 4);
  });

  test('what is asked behind it on the same connection is answered behind it', async () => {
    const client = openReceiver(address, ['GET', 'HEAD', 'GET', 'GET', 'GET']);
    const head = request('HEAD /api/inbox.asmx?WSDL HTTP/1.1');
    client.send(get(PATH) + head + get(COUNTING) + get(PATH, 'Accept-Encoding: gzip') + get(COUNTING));
    const [first, second, third, fourth, fifth] = await client.answers(5);
    isExpected(first);
    assert.equal(second?.status, 200);
    assert.ok(Number(second?.headers['content-length']) > 1_000);
    for (const answer of [third, fifth]) assert.match(textOf(answer as Received), />5000<\/long>/);
    isExpected(fourth);
    client.send(get(PATH));
    isExpected((await client.answers(6))[5]);
    client.leave();
  });

  test('others are answered while it is under way', async () => {
    const [client, other] = [openReceiver(address), openReceiver(address)];
    other.send(get('/health/live'));
    await other.answers(1);
    const events: string[] = [];
    pages.read = 0;
    client.send(get(PATH));
    await client.started();
    const read = pages.read;
    other.send(get('/health/live'));
    const [long] = await Promise.all([
      client.answers(1).then(([answer]) => {
        events.push('the long answer has come');
        return answer;
      }),
      other.answers(2).then(() => events.push('the other one has come')),
    ]);
    isExpected(long);
    assert.ok(read < PAGES, `${read} pages were read before anything had come`);
    assert.deepEqual(events, ['the other one has come', 'the long answer has come']);
    client.leave();
    other.leave();
  });

  for (const [what, thrown] of Object.entries({
    'a bug': new Error('a page that cannot be read'),
    'a database that does not answer': new Problem('unavailable', 'The database does not answer.'),
  })) {
    for (const fields of [[], ['Accept-Encoding: gzip']]) {
      const how = fields.length > 0 ? 'in gzip' : 'plain';
      test(`${what} in the middle of it ends the connection without an end, and the service goes on (${how})`, async () => {
        Object.assign(pages, { read: 0, failsAt: 12, thrown });
        const answer = await alone(get(PATH, ...fields));
        pages.failsAt = Number.POSITIVE_INFINITY;
        assert.deepEqual([answer.status, answer.isWhole], [200, false]);
        assert.equal(pages.read, 12);
        isExpected(await alone(get(PATH, 'Connection: close', ...fields)));
      });
    }

    test(`${what} in the middle of it is told to the log`, async () => {
      Object.assign(pages, { read: 0, failsAt: 12, thrown });
      const before = serving.logged.length;
      await alone(get(PATH));
      pages.failsAt = Number.POSITIVE_INFINITY;
      const lines = serving.logged.slice(before).map((line) => JSON.parse(line));
      assert.deepEqual(
        lines.map(({ level, kind }) => [level, kind]),
        [[50, thrown instanceof Problem ? thrown.kind : 'internal']],
      );
    });
  }

  test('without the length, what HTTP/1.0 gets of an answer that broke off is no document', async () => {
    Object.assign(pages, { read: 0, failsAt: 12 });
    const answer = await alone(request(`GET ${PATH} HTTP/1.0`));
    pages.failsAt = Number.POSITIVE_INFINITY;
    assert.doesNotMatch(textOf(answer), /<\/DataSet>\s*$/);
  });
});
