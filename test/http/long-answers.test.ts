import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import type { Database } from '../../src/store/database.ts';
import { onOneEngine } from '../support/engines.ts';
import { load, manyOf } from '../support/long-lists.ts';
import { openReceiver, type Received, textOf } from '../support/received-bytes.ts';
import { type Serving, serve } from '../support/serving.ts';

/** Long lists of the whole service, as they come over a connection. */
const COUNT = 5_000;
const PAGES = COUNT / 200;
/** Pages before and after 1 MiB has been made. */
const [EARLY, LATE] = [5, PAGES];
const PATH = `/api/inbox.asmx/InboxDS?user_id=many&max_count=${COUNT}`;
const SHORTER = `/api/inbox.asmx/InboxDS?user_id=many&max_count=1000`;
const COUNTING = '/api/inbox.asmx/CountUnread?user_id=many';

const request = (start: string, ...fields: string[]) => [start, 'Host: h', ...fields, '', ''].join('\r\n');
const get = (path: string, ...fields: string[]) => request(`GET ${path} HTTP/1.1`, ...fields);

onOneEngine('long answers, over a socket', (engine) => {
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

  /** The same bytes as the endpoint's own, which proof/lists/long-lists.test.ts holds against one piece. */
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

  for (const [how, start, ...fields] of [
    ['HTTP/1.1', `GET ${SHORTER} HTTP/1.1`],
    ['HTTP/1.1 in gzip', `GET ${SHORTER} HTTP/1.1`, 'Accept-Encoding: gzip'],
    ['HTTP/1.0', `GET ${SHORTER} HTTP/1.0`, 'Connection: keep-alive'],
  ] as const) {
    test(`a list of more than 500 that is no longer than 1 MiB tells its Content-Length (${how})`, async () => {
      const client = openReceiver(address);
      client.send(request(start, ...fields) + get(COUNTING, 'Connection: close'));
      const [answer, next] = await client.ended();
      assert.equal(textOf(answer as Received).match(/<Table /g)?.length, 1_000);
      const { 'transfer-encoding': coding, 'content-length': length } = answer?.headers ?? {};
      assert.deepEqual([coding, length], [undefined, String(answer?.body.length)]);
      assert.match(textOf(next as Received), />5000<\/long>/);
    });
  }

  test('HTTP/1.1 gets a response above 1 MiB in chunks, without a Content-Length', async () => {
    const answer = await alone(get(PATH, 'Connection: close'));
    isExpected(answer);
    assert.equal(answer.isWhole, true);
    assert.ok(answer.body.length > 1_048_576);
    const { 'transfer-encoding': coding, 'content-length': length, vary } = answer.headers;
    assert.deepEqual([coding, length, vary], ['chunked', undefined, 'Accept-Encoding']);
    assert.equal(answer.headers['content-type'], 'text/xml; charset=utf-8');
  });

  for (const fields of [[], ['Connection: keep-alive']]) {
    test(`HTTP/1.0 gets a response above 1 MiB unchunked, ended by the end of the connection (${fields[0] ?? 'no field'})`, async () => {
      const answer = await alone(request(`GET ${PATH} HTTP/1.0`, ...fields));
      isExpected(answer);
      const { 'transfer-encoding': coding, 'content-length': length, connection } = answer.headers;
      assert.deepEqual([coding, length, connection], [undefined, undefined, 'close']);
    });
  }

  test('a long response in gzip is smaller and has the same content', async () => {
    const answer = await alone(get(PATH, 'Connection: close', 'Accept-Encoding: gzip'));
    isExpected(answer);
    const { 'content-encoding': coding, 'content-length': length } = answer.headers;
    assert.deepEqual([coding, length], ['gzip', String(answer.body.length)]);
    assert.equal(answer.headers.vary, 'Accept-Encoding');
    assert.ok(answer.body.length < expected.length / 4);
  });

  test('a pipelined request is answered after the long response before it', async () => {
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

  test('other calls are answered while a long answer is being sent', async () => {
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

  /** One line in the log since then, and of that kind. */
  const isTold = (before: number, thrown: Error) =>
    assert.deepEqual(
      serving.logged.slice(before).map((line) => [JSON.parse(line).level, JSON.parse(line).kind]),
      [[50, thrown instanceof Problem ? thrown.kind : 'internal']],
    );

  for (const [what, thrown] of Object.entries({
    'a bug': new Error('a page that cannot be read'),
    'a database that does not answer': new Problem('unavailable', 'The database does not answer.'),
  })) {
    test(`${what} at the end of a long answer cuts the connection off, and the service continues`, async () => {
      Object.assign(pages, { read: 0, failsAt: LATE, thrown });
      const before = serving.logged.length;
      const answer = await alone(get(PATH));
      pages.failsAt = Number.POSITIVE_INFINITY;
      assert.deepEqual([answer.status, answer.isWhole], [200, false]);
      assert.equal(pages.read, LATE);
      isTold(before, thrown);
      isExpected(await alone(get(PATH, 'Connection: close')));
    });

    for (const fields of [[], ['Accept-Encoding: gzip']]) {
      const how = fields.length > 0 ? 'in gzip' : 'plain';
      test(`${what} before the first 1 MiB was made is an error like any other, and logged (${how})`, async () => {
        Object.assign(pages, { read: 0, failsAt: EARLY, thrown });
        const before = serving.logged.length;
        const answer = await alone(get(PATH, 'Connection: close', ...fields));
        pages.failsAt = Number.POSITIVE_INFINITY;
        assert.deepEqual([answer.status, answer.isWhole], [thrown instanceof Problem ? 503 : 500, true]);
        assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
        assert.match(
          textOf(answer),
          thrown instanceof Problem ? /^The database does not/ : /^Internal error\. Reference: /,
        );
        isTold(before, thrown);
        isExpected(await alone(get(PATH, 'Connection: close', ...fields)));
      });
    }
  }

  test('without a length, an interrupted answer to HTTP/1.0 is not a well-formed document', async () => {
    Object.assign(pages, { read: 0, failsAt: LATE });
    const answer = await alone(request(`GET ${PATH} HTTP/1.0`));
    pages.failsAt = Number.POSITIVE_INFINITY;
    assert.doesNotMatch(textOf(answer), /<\/DataSet>\s*$/);
  });
});
