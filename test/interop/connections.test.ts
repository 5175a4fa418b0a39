import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { HttpMessage } from '../support/cases.ts';
import { onOneEngine } from '../support/engines.ts';
import { envelope, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import {
  type Connection,
  chunked,
  exchangeMessage,
  openConnection,
  requestBytes,
  statusOf,
  textOf,
} from '../support/socket.ts';

/** How requests come over a connection: in pieces, in chunks, after asking, one behind the other, in the HTTP of 1996. */

const START = 'POST /api/inbox.asmx HTTP/1.1';
const FIELDS = ['Host: sms.example', 'Content-Type: text/xml; charset=utf-8'];
const unread = (count: number) => envelope('soap11', operationElement('Unread', { user_id: ACME, max_count: count }));
const countOf = (answer: HttpMessage) => {
  assert.equal(statusOf(answer), 200, textOf(answer));
  return textOf(answer).match(/<ReceivedMessage>/g)?.length ?? 0;
};

onOneEngine('connections, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const connected = (work: (connection: Connection) => Promise<void>) => async () => {
    const connection = await openConnection(address);
    try {
      await work(connection);
    } finally {
      connection.close();
    }
  };
  const once = (bytes: Uint8Array) => exchangeMessage(address, bytes);

  test(
    'Expect: 100-continue is answered with 100 before the body comes, and with 200 after it',
    connected(async (connection) => {
      for (const count of [1, 2]) {
        const whole = requestBytes(START, [...FIELDS, 'Expect: 100-continue'], unread(count));
        const end = whole.indexOf('\r\n\r\n') + 4;
        await connection.send(whole.subarray(0, end));
        assert.equal((await connection.receive()).start, 'HTTP/1.1 100 Continue');
        await connection.send(whole.subarray(end));
        assert.equal(countOf(await connection.receive()), count);
      }
    }),
  );

  test(
    'a client that does not wait for 100 Continue is served, too',
    connected(async (connection) => {
      await connection.send(requestBytes(START, [...FIELDS, 'Expect: 100-continue'], unread(2)));
      assert.equal(statusOf(await connection.receive()), 100);
      assert.equal(countOf(await connection.receive()), 2);
    }),
  );

  test(
    'head and body may come in two packets',
    connected(async (connection) => {
      const whole = requestBytes(START, FIELDS, unread(2));
      const end = whole.indexOf('\r\n\r\n') + 4;
      await connection.send(whole.subarray(0, end));
      await connection.send(whole.subarray(end));
      assert.equal(countOf(await connection.receive()), 2);
    }),
  );

  test(
    'a request may come byte by byte',
    connected(async (connection) => {
      for (const byte of requestBytes(START, FIELDS, unread(2))) await connection.send(Uint8Array.of(byte));
      assert.equal(countOf(await connection.receive()), 2);
    }),
  );

  for (const [size, extension] of [
    [1, ''],
    [7, ''],
    [100_000, ''],
    [3, ';name="value"'],
  ] as const) {
    const how = `chunks of ${size} ${extension && 'with extensions'}`.trim();
    test(
      `a body in ${how} is read whole`,
      connected(async (connection) => {
        await connection.send(requestBytes(START, [...FIELDS, 'Transfer-Encoding: chunked']));
        await connection.send(chunked(unread(2), size, extension));
        assert.equal(countOf(await connection.receive()), 2);
        // And nothing of it is left in the way of the next request.
        await connection.send(requestBytes(START, FIELDS, unread(1)));
        assert.equal(countOf(await connection.receive()), 1);
      }),
    );
  }

  test(
    'tiny chunks in packets of their own are read whole',
    connected(async (connection) => {
      await connection.send(requestBytes(START, [...FIELDS, 'Transfer-Encoding: Chunked']));
      for (const line of chunked(unread(3), 5)
        .toString('latin1')
        .split(/(?<=\r\n)/)) {
        await connection.send(Buffer.from(line, 'latin1'));
      }
      assert.equal(countOf(await connection.receive()), 3);
    }),
  );

  test('a SOAP request without body is malformed, whether it says that it has none or not', async () => {
    for (const length of [[], ['Content-Length: 0']]) {
      const answer = await once(requestBytes(START, [...FIELDS, 'Connection: close', ...length]));
      assert.equal(statusOf(answer), 400);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
    }
  });

  test('a form without body has no parameters', async () => {
    const fields = ['Host: h', 'Connection: close', 'Content-Type: application/x-www-form-urlencoded'];
    assert.equal(statusOf(await once(requestBytes('POST /api/inbox.asmx/CountUnread HTTP/1.1', fields))), 403);
  });

  for (const host of [['Host: sms.example'], []]) {
    const how = host.length > 0 ? 'with' : 'without';
    test(`HTTP/1.0 ${how} Host is answered whole, with its length, and the connection closed`, async () => {
      const start = 'POST /api/inbox.asmx HTTP/1.0';
      const answer = await once(requestBytes(start, [...host, FIELDS[1] as string], unread(2)));
      assert.equal(countOf(answer), 2);
      assert.equal(answer.headers['transfer-encoding'], undefined);
      assert.equal(answer.headers.connection, 'close');
      assert.equal(Number(answer.headers['content-length']), answer.body.length);

      const get = await once(requestBytes(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.0`, host));
      assert.match(textOf(get), />4<\/long>/);
      const wsdl = await once(requestBytes('GET /api/inbox.asmx?WSDL HTTP/1.0', host));
      const at = host.length > 0 ? 'http://sms.example' : address;
      assert.ok(textOf(wsdl).includes(`<soap:address location="${at}/api/inbox.asmx" />`));
    });
  }

  test(
    'an HTTP/1.0 client that asks for it may keep the connection',
    connected(async (connection) => {
      for (const count of [1, 2]) {
        const start = 'POST /api/inbox.asmx HTTP/1.0';
        await connection.send(requestBytes(start, [...FIELDS, 'Connection: keep-alive'], unread(count)));
        const answer = await connection.receive();
        assert.equal(countOf(answer), count);
        assert.match(answer.headers.connection ?? '', /keep-alive/i);
      }
    }),
  );

  test(
    'two calls on one connection are both answered, also after a fault and after a refusal',
    connected(async (connection) => {
      const bodies = [unread(1), unread(-1), 'no XML', unread(2)];
      const statuses: number[] = [];
      for (const body of bodies) {
        await connection.send(requestBytes(START, FIELDS, body));
        const answer = await connection.receive();
        statuses.push(statusOf(answer));
        assert.notEqual(answer.headers.connection, 'close');
      }
      assert.deepEqual(statuses, [200, 500, 400, 200]);
    }),
  );

  test(
    'a line end that a client sends after its body is no request',
    connected(async (connection) => {
      await connection.send(Buffer.concat([requestBytes(START, FIELDS, unread(1)), Buffer.from('\r\n')]));
      assert.equal(countOf(await connection.receive()), 1);
      await connection.send(requestBytes(START, FIELDS, unread(2)));
      assert.equal(countOf(await connection.receive()), 2);
    }),
  );

  test(
    'calls that are sent at once are answered in their order',
    connected(async (connection) => {
      const get = requestBytes(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`, ['Host: h']);
      const calls = [3, 1, 2].map((count) => requestBytes(START, FIELDS, unread(count)));
      await connection.send(Buffer.concat([...calls, get]));
      for (const count of [3, 1, 2]) assert.equal(countOf(await connection.receive()), count);
      assert.match(textOf(await connection.receive()), />4<\/long>/);
    }),
  );

  for (const field of ['Connection: close', 'Connection: Close', 'Connection: TE, close']) {
    test(
      `${field} is answered with close, and the connection ends`,
      connected(async (connection) => {
        await connection.send(requestBytes(START, [...FIELDS, 'TE: deflate,gzip;q=0.3', field], unread(2)));
        const answer = await connection.receive();
        assert.equal(countOf(answer), 2);
        assert.equal(answer.headers.connection, 'close');
        assert.equal((await connection.ended()).length, 0);
      }),
    );
  }

  for (const field of ['Connection: close, keep-alive', 'Connection: keep-alive, close']) {
    test(
      `HTTP/1.0 with ${field} is answered with close, and the connection ends`,
      connected(async (connection) => {
        await connection.send(requestBytes(START.replace('1.1', '1.0'), [...FIELDS, field], unread(2)));
        const answer = await connection.receive();
        assert.equal(countOf(answer), 2);
        assert.equal(answer.headers.connection, 'close');
        assert.equal((await connection.ended()).length, 0);
      }),
    );
  }

  test(
    'a connection that breaks within a request harms nobody',
    connected(async (connection) => {
      const broken = await openConnection(address);
      await broken.send(requestBytes(START, [...FIELDS, 'Content-Length: 5000'], unread(1)));
      broken.close();
      await connection.send(requestBytes(START, FIELDS, unread(2)));
      assert.equal(countOf(await connection.receive()), 2);
      assert.deepEqual(
        service.logged.filter((line) => JSON.parse(line).level >= 50),
        [],
      );
    }),
  );
});
