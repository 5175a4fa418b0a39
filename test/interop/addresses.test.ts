import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { ENVELOPES, envelope, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';
import type { Version } from './phrasing.ts';

/** Which requests are calls at all, over a socket: addresses, content types, and envelopes under the other's content type. */

const body = (version: Version) => envelope(version, operationElement('CountUnread', { user_id: ACME }));
const PAIRS = `user_id=${ACME}`;

const UNSUPPORTED: Record<string, string[]> = {
  'MTOM of SOAP 1.1': [
    'Content-Type: multipart/related; type="application/xop+xml"; start="<a>"; start-info="text/xml"; boundary="b"',
  ],
  'SOAP with attachments': ['Content-Type: multipart/related; type="text/xml"; boundary=b'],
  'DIME, an old way of attachments': ['Content-Type: application/dime'],
  'application/xml': ['Content-Type: application/xml; charset=utf-8'],
  'application/json': ['Content-Type: application/json'],
  'text/plain': ['Content-Type: text/plain; charset=utf-8'],
  'a form at the address of SOAP': ['Content-Type: application/x-www-form-urlencoded'],
  'a media type that only starts like one of ours': ['Content-Type: text/xml-external-parsed-entity'],
  'a content type with nothing in it': ['Content-Type:'],
  'no content type': [],
};

const SAME_PLACE = ['/api/inbox.asmx', '/API/Inbox.ASMX', '/Api/INBOX.asmx', '/api/inbox.asmx?anything=1'];

onOneEngine('addresses and content types, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const send = (start: string, fields: readonly string[], content = '') =>
    exchangeMessage(address, requestBytes(start, ['Host: sms.example', 'Connection: close', ...fields], content));

  for (const [what, fields] of Object.entries(UNSUPPORTED)) {
    for (const action of [[], ['SOAPAction: "http://sms.example/api/CountUnread"']]) {
      test(`${what} is refused with 415 and one line (${action.length > 0 ? 'with' : 'without'} SOAPAction)`, async () => {
        const answer = await send('POST /api/inbox.asmx HTTP/1.1', [...fields, ...action], body('soap11'));
        assert.equal(statusOf(answer), 415);
        assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
        assert.match(textOf(answer), /^[^\n]*text\/xml[^\n]*\n$/);
      });
    }
  }

  for (const type of ['text/xml', 'application/json', 'multipart/form-data; boundary=b', 'text/plain']) {
    test(`${type} at the address of a form is refused with 415`, async () => {
      const answer = await send('POST /api/inbox.asmx/CountUnread HTTP/1.1', [`Content-Type: ${type}`], PAIRS);
      assert.equal(statusOf(answer), 415);
    });
  }
  test('a form without a Content-Type is refused with 415', async () => {
    assert.equal(statusOf(await send('POST /api/inbox.asmx/CountUnread HTTP/1.1', [], PAIRS)), 415);
  });

  for (const [version, type] of [
    ['soap12', 'text/xml; charset=utf-8'],
    ['soap11', 'application/soap+xml; charset=utf-8'],
  ] as const) {
    for (const action of [[], ['SOAPAction: "http://sms.example/api/CountUnread"']]) {
      const how = action.length > 0 ? 'with' : 'without';
      test(`an envelope of ${version} under ${type} is answered in ${version} (${how} SOAPAction)`, async () => {
        const answer = await send('POST /api/inbox.asmx HTTP/1.1', [`Content-Type: ${type}`, ...action], body(version));
        assert.equal(statusOf(answer), 200, textOf(answer));
        assert.ok(textOf(answer).includes(`<soap:Envelope xmlns:soap="${ENVELOPES[version]}"`));
        const own = version === 'soap11' ? 'text/xml; charset=utf-8' : 'application/soap+xml; charset=utf-8';
        assert.equal(answer.headers['content-type'], own);
      });
    }
    test(`a fault for ${version} under ${type} is a fault of ${version}`, async () => {
      const wrong = envelope(version, operationElement('CountUnread', { user_id: 'nobody' }));
      const answer = await send('POST /api/inbox.asmx HTTP/1.1', [`Content-Type: ${type}`], wrong);
      assert.equal(statusOf(answer), 500);
      assert.match(textOf(answer), version === 'soap11' ? /<faultcode>soap:Client</ : /<soap:Value>soap:Sender</);
    });
  }

  for (const path of SAME_PLACE) {
    test(`POST ${path} is served as SOAP`, async () => {
      const answer = await send(`POST ${path} HTTP/1.1`, ['Content-Type: text/xml'], body('soap11'));
      assert.equal(statusOf(answer), 200, textOf(answer));
    });
  }
  test('the path of a group may be in another letter case, and the name of an operation may not', async () => {
    assert.equal(statusOf(await send(`GET /API/Inbox.ASMX/CountUnread?${PAIRS} HTTP/1.1`, [])), 200);
    for (const name of ['countunread', 'COUNTUNREAD', 'CountUnread/', 'CountUnread/x', '']) {
      const answer = await send(`GET /api/inbox.asmx/${name}?${PAIRS} HTTP/1.1`, []);
      assert.equal(statusOf(answer), 404, name);
    }
  });
  test('names of parameters may be in another letter case', async () => {
    const answer = await send(`GET /api/inbox.asmx/Unread?USER_ID=${ACME}&Max_Count=1 HTTP/1.1`, []);
    assert.match(textOf(answer), /<id>1003<\/id>/);
  });

  for (const target of ['http://sms.example', 'HTTP://sms.example:80', `http://127.0.0.1`]) {
    test(`the target ${target}/… is served as the path in it`, async () => {
      const soap = await send(`POST ${target}/api/inbox.asmx HTTP/1.1`, ['Content-Type: text/xml'], body('soap11'));
      assert.match(textOf(soap), /<CountUnreadResult>4</);
      const get = await send(`GET ${target}/api/inbox.asmx/CountUnread?${PAIRS} HTTP/1.1`, []);
      assert.match(textOf(get), />4<\/long>/);
    });
  }
  test('the host of an absolute target is the one in the WSDL, whatever the Host field says', async () => {
    // RFC 9112 §3.2.2: the server must ignore the Host field of such a request.
    const answer = await send('GET http://api.example:81/api/inbox.asmx?WSDL HTTP/1.1', []);
    const location = /<soap:address location="([^"]*)"/.exec(textOf(answer))?.[1];
    assert.equal(location, 'http://api.example:81/api/inbox.asmx');
  });
});
