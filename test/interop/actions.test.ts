import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { envelope, NAMESPACE, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';
import type { Version } from './phrasing.ts';

/** The SOAP action, over a socket: a header field in 1.1, a parameter of the Content-Type in 1.2. The Body decides. */
const ACTION = `${NAMESPACE}/CountUnread`;

const SERVED_11: Record<string, string[]> = {
  'in quotes': [`SOAPAction: "${ACTION}"`],
  'without quotes': [`SOAPAction: ${ACTION}`],
  'in single quotes': [`SOAPAction: '${ACTION}'`],
  'with nothing in the quotes': ['SOAPAction: ""'],
  'with nothing at all': ['SOAPAction:'],
  absent: [],
  'with blanks around it': [`SOAPAction:   "${ACTION}"  `],
  'with percent signs': [`SOAPAction: "${ACTION.replace('//', '%2F%2F')}"`],
  'twice, with equal values': [`SOAPAction: "${ACTION}"`, `SOAPAction: "${ACTION}"`],
  'twice, as a proxy joins them': [`SOAPAction: "${ACTION}", "${ACTION}"`],
  'in a field spelled Soapaction': [`Soapaction: "${ACTION}"`],
  'in a field spelled SoapAction': [`SoapAction: "${ACTION}"`],
  'in a field spelled soapaction': [`soapaction: "${ACTION}"`],
  'in a field spelled SOAPACTION': [`SOAPACTION: "${ACTION}"`],
};

const REFUSED_11: Record<string, string> = {
  'that names another operation': `"${NAMESPACE}/CountRead"`,
  'that names another operation, unquoted': `${NAMESPACE}/CountRead`,
  'twice, with different values': `"${ACTION}"\r\nSOAPAction: "${NAMESPACE}/CountRead"`,
  'twice, with and without quotes': `"${ACTION}"\r\nSOAPAction: ${ACTION}`,
  'that names an operation of another group': `"${NAMESPACE}/Profile"`,
  'in another case': `"${NAMESPACE}/countunread"`,
  'with its namespace in another case': `"${ACTION.replace('sms', 'SMS')}"`,
  'with a slash after it': `"${ACTION}/"`,
  'that is the bare name': '"CountUnread"',
  'with half of its quotes': `"${ACTION}`,
  'with a blank in its quotes': `" ${ACTION}"`,
  'of something else': '"urn:something#else"',
};

const SERVED_12: Record<string, string[]> = {
  'in quotes': [`Content-Type: application/soap+xml; charset=utf-8; action="${ACTION}"`],
  'in quotes, without blanks': [`Content-Type: application/soap+xml;charset=utf-8;action="${ACTION}"`],
  'without quotes': [`Content-Type: application/soap+xml; charset=utf-8; action=${ACTION}`],
  'without quotes and blanks': [`Content-Type: application/soap+xml;charset=utf-8;action=${ACTION}`],
  'before the charset': [`Content-Type: application/soap+xml; action="${ACTION}"; charset=utf-8`],
  'under a name in capitals': [`Content-Type: application/soap+xml; charset=utf-8; ACTION="${ACTION}"`],
  'with nothing in the quotes': ['Content-Type: application/soap+xml; charset=utf-8; action=""'],
  absent: ['Content-Type: application/soap+xml; charset=utf-8'],
  'of something else': ['Content-Type: application/soap+xml; charset=utf-8; action="urn:something#else"'],
  'in both places': [
    `Content-Type: application/soap+xml; charset=utf-8; action="${ACTION}"`,
    `SOAPAction: "${ACTION}"`,
  ],
  'in the field of SOAP 1.1 only, unquoted': [
    'Content-Type: application/soap+xml; charset=utf-8',
    `SOAPAction: ${ACTION}`,
  ],
  'right, and wrong in the field of SOAP 1.1': [
    `Content-Type: application/soap+xml; charset=utf-8; action="${ACTION}"`,
    `SOAPAction: "${NAMESPACE}/CountRead"`,
  ],
};

const REFUSED_12: Record<string, string> = {
  'that names another operation': `action="${NAMESPACE}/CountRead"`,
  'that names another operation, unquoted': `action=${NAMESPACE}/CountRead`,
  'that names another operation, before the charset': `action="${NAMESPACE}/DeleteAllMessages"; charset=utf-8`,
};

onOneEngine('the SOAP action, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const send = (version: Version, fields: readonly string[]) => {
    const body = envelope(version, operationElement('CountUnread', { user_id: ACME }));
    const lines = ['Host: sms.example', 'Connection: close', ...fields];
    return exchangeMessage(address, requestBytes('POST /api/inbox.asmx HTTP/1.1', lines, body));
  };
  const served = async (version: Version, fields: readonly string[]) => {
    const answer = await send(version, fields);
    assert.equal(statusOf(answer), 200, textOf(answer));
    assert.match(textOf(answer), /<CountUnreadResult>4<\/CountUnreadResult>/);
  };
  const refused = async (version: Version, fields: readonly string[]) => {
    const answer = await send(version, fields);
    assert.equal(statusOf(answer), 500);
    assert.match(textOf(answer), /<code>unknown-operation<\/code>/);
    assert.match(textOf(answer), version === 'soap11' ? />soap:Client</ : />soap:Sender</);
  };

  for (const [how, fields] of Object.entries(SERVED_11)) {
    test(`an action ${how} is served (soap11)`, () =>
      served('soap11', ['Content-Type: text/xml; charset=utf-8', ...fields]));
  }
  for (const [how, value] of Object.entries(REFUSED_11)) {
    test(`an action ${how} is refused (soap11)`, () =>
      refused('soap11', ['Content-Type: text/xml; charset=utf-8', `SOAPAction: ${value}`]));
  }
  for (const [how, fields] of Object.entries(SERVED_12)) {
    test(`an action ${how} is served (soap12)`, () => served('soap12', fields));
  }
  for (const [how, parameters] of Object.entries(REFUSED_12)) {
    test(`an action ${how} is refused (soap12)`, () =>
      refused('soap12', [`Content-Type: application/soap+xml; ${parameters}`]));
  }

  test('a call whose action names another operation than the Body is refused, and does nothing', async () => {
    const body = envelope('soap11', operationElement('DeleteAllMessages', { user_id: ACME }));
    const fields = ['Host: h', 'Connection: close', 'Content-Type: text/xml', `SOAPAction: "${ACTION}"`];
    const answer = await exchangeMessage(address, requestBytes('POST /api/inbox.asmx HTTP/1.1', fields, body));
    assert.equal(statusOf(answer), 500);
    await served('soap12', ['Content-Type: application/soap+xml']);
  });
});
