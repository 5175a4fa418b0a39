import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { envelope, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage, openConnection, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** What programs of twenty years ago send, which a server could refuse and ASMX served. */

const FIELDS = ['Host: sms.example', 'Connection: close'];

/** The bytes of a `message` in a query, one character a byte, and the text that was meant. */
const QUERIES: Readonly<Record<string, readonly [bytes: string, text: string]>> = {
  'UTF-8': ['Gr\xC3\xBC\xC3\x9Fe \xE6\x9D\x8E'.replace(' ', '+'), 'Grüße 李'],
  'Latin-1': ['Gr\xFC\xDFe', 'Grüße'],
  'Latin-1 as Windows has it': ['5\x80+\x93x\x94', '5€ “x”'],
  'UTF-8 of which some bytes are percent signs': ['Gr\xC3%BC%C3\x9Fe', 'Grüße'],
  'UTF-8 beside percent signs': ['\xC3\xBC%C3%9F%20x', 'üß x'],
  'Latin-1 beside percent signs of UTF-8': ['\xFC%C3%9F%20x', 'üß x'],
  'Latin-1 beside percent signs of Latin-1': ['\xFC%DF%20x', 'üß x'],
  'Latin-1 and %uXXXX': ['\xFC%u674E', 'ü李'],
  'percent signs that are no UTF-8, without other bytes, as ever': ['%FC', '\uFFFD'],
};

onOneEngine('old programs, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const bytesOf = (start: string, fields: readonly string[] = FIELDS) =>
    Buffer.from([start, ...fields, '', ''].join('\r\n'), 'latin1');
  const get = (target: string, fields: readonly string[] = FIELDS) =>
    exchangeMessage(address, bytesOf(`GET ${target} HTTP/1.1`, fields));
  const deleted = async (message: string) =>
    (await service.call('post', 'account', 'DeleteMessageTemplate', { user_id: ACME, message })).text;

  for (const [what, [bytes, text]] of Object.entries(QUERIES)) {
    test(`a query that was not percent-encoded is read as it was meant: ${what}`, async () => {
      const answer = await get(`/api/account.asmx/SaveMessageTemplate?user_id=${ACME}&message=${bytes}`);
      assert.equal(statusOf(answer), 200, textOf(answer));
      assert.match(await deleted(text), />true</);
    });
  }

  test('a parameter whose name is not ASCII is ignored, and a path that is not ASCII is refused', async () => {
    assert.equal(statusOf(await get(`/api/inbox.asmx/CountUnread?\xE9=\xE9&user_id=${ACME}`)), 200);
    assert.equal(statusOf(await get('/api/inbox.asmx?\xE9')), 200);
    assert.equal(statusOf(await get(`/api/\xE9nbox.asmx/CountUnread?user_id=${ACME}`)), 400);
  });

  for (const path of ['/api//inbox.asmx', '//api/inbox.asmx', '/api/inbox.asmx/', '///api////inbox.asmx']) {
    test(`an address with a slash too many is the one with a single slash: ${path}`, async () => {
      const query = `/CountUnread?user_id=${ACME}`;
      assert.match(textOf(await get(path + query)), />4<\/long>/);
      assert.match(textOf(await get(`http://sms.example${path}${query}`)), />4<\/long>/);
      if (path.endsWith('/')) return;
      const body = envelope('soap11', operationElement('CountUnread', { user_id: ACME }));
      const fields = [...FIELDS, 'Content-Type: text/xml; charset=utf-8'];
      const answer = await exchangeMessage(address, requestBytes(`POST ${path} HTTP/1.1`, fields, body));
      assert.match(textOf(answer), /<CountUnreadResult>4</);
      const [wsdl, single] = [await get(`${path}?WSDL`), await get('/api/inbox.asmx?WSDL')];
      assert.equal(textOf(wsdl), textOf(single));
    });
  }

  test('a slash too many does not lead past the path of a proxy, nor to another host', async () => {
    const behind = await startService(engine, 'sample', { baseUrl: 'https://sms.example/gate//way' });
    try {
      const there = await behind.app.start();
      const ask = (target: string) => exchangeMessage(there, bytesOf(`GET ${target} HTTP/1.1`));
      for (const path of ['/gate/way/api/inbox.asmx', '//gate//way//api//inbox.asmx', '/api//inbox.asmx']) {
        assert.match(textOf(await ask(`${path}/CountUnread?user_id=${ACME}`)), />4<\/long>/, path);
      }
      const moved = await ask('//gate//way');
      assert.deepEqual([statusOf(moved), moved.headers.location], [308, 'https://sms.example/gate//way/']);
      assert.equal(statusOf(await ask('//evil.example/')), 404);
    } finally {
      await behind.stop();
    }
  });

  test('a header field named constructor or __proto__ is just a header field', async () => {
    const strange = ['constructor', '__proto__', 'toString', 'hasOwnProperty'].flatMap((name) => [
      `${name}: x`,
      `${name}: y`,
    ]);
    const plain = await get(`/api/inbox.asmx/CountUnread?user_id=${ACME}`);
    const answer = await get(`/api/inbox.asmx/CountUnread?user_id=${ACME}`, [...FIELDS, ...strange]);
    assert.deepEqual([statusOf(answer), textOf(answer)], [statusOf(plain), textOf(plain)]);
  });

  test('a connection that was idle for seconds is still open, and Keep-Alive says for how long', async () => {
    const connection = await openConnection(address);
    for (let time = 0; time < 2; time += 1) {
      await connection.send(bytesOf(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`, ['Host: h']));
      const answer = await connection.receive();
      assert.match(textOf(answer), />4<\/long>/);
      assert.deepEqual([answer.headers.connection, answer.headers['keep-alive']], ['keep-alive', 'timeout=120']);
      if (time === 0) await new Promise((resolve) => setTimeout(resolve, 7_000));
    }
    connection.close();
  });
});
