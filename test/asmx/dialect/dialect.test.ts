import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Dialect } from '../../../src/asmx/dialect/dialect.ts';
import { badArgument, denied, Problem } from '../../../src/base/problem.ts';
import { createTestEndpoint } from '../../support/endpoint.ts';
import { PROTOCOLS, requestOf } from '../../support/protocols.ts';

/** The face for old programs as a dialect has it. */

const AT = Date.UTC(2026, 9, 2, 10, 45, 30, 120);

const SENT = {
  id: 2002n,
  user_message_id: 'order-2',
  recipient: '+27825550202',
  message: 'Ready & waiting',
  delivery_status: 'DELIVERED',
  timestamp_sent: AT,
  timestamp_updated: AT + 60_000,
  marked: true,
};
const STATUS = {
  recipient: '+27825550202',
  user_message_id: 'order-2',
  delivery_status: 'UNDELIVERABLE',
  timestamp_updated: AT,
};
const CONTACT = { name: 'Ann', surname: null, id: '101', mobile: '', groupid: null };

async function answer(dialect: Dialect, group: string, operation: string, value: unknown): Promise<string> {
  const endpoint = createTestEndpoint(async () => value, 'UTC', dialect);
  const { text } = await endpoint.send(requestOf('get', group, operation, { user_id: 'u', max: 10, groupid: 1 }));
  return text;
}

describe('a DataSet of a dialect', () => {
  const dialect: Dialect = {
    dataSet: { name: 'Messages', table: 'Row', dates: { zone: 'offset', timeZone: 'Africa/Johannesburg' } },
    statusWords: { DELIVERED: ['Delivered', 'OK'] },
    columns: {
      'sent.FetchSentDS': [
        { name: 'MessageID', type: 'int', from: 'id' },
        { name: 'Status', type: 'string', from: 'delivery_status' },
        { name: 'DateSent', type: 'dateTime', from: 'timestamp_sent' },
        { name: 'Read', type: 'int', from: 'marked' },
        { name: 'Cost', type: 'decimal', constant: '1.00' },
        { name: 'Network', type: 'string', constant: 'A & B' },
        { name: 'Error', type: 'string' },
        { name: 'Reference', type: 'int', from: 'user_message_id' },
        { name: 'Body', type: 'string', from: 'message' },
      ],
    },
  };

  test('a DataSet of a dialect has its names, columns, types, constants and words', async () => {
    assert.equal(
      await answer(dialect, 'sent', 'FetchSentDS', [SENT]),
      `<?xml version="1.0" encoding="utf-8"?>
<DataSet xmlns="http://sms.example/api">
  <xs:schema id="Messages" xmlns="" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:msdata="urn:schemas-microsoft-com:xml-msdata">
    <xs:element name="Messages" msdata:IsDataSet="true" msdata:UseCurrentLocale="true">
      <xs:complexType>
        <xs:choice minOccurs="0" maxOccurs="unbounded">
          <xs:element name="Row">
            <xs:complexType>
              <xs:sequence>
                <xs:element name="MessageID" type="xs:int" minOccurs="0" />
                <xs:element name="Status" type="xs:string" minOccurs="0" />
                <xs:element name="DateSent" type="xs:dateTime" minOccurs="0" />
                <xs:element name="Read" type="xs:int" minOccurs="0" />
                <xs:element name="Cost" type="xs:decimal" minOccurs="0" />
                <xs:element name="Network" type="xs:string" minOccurs="0" />
                <xs:element name="Error" type="xs:string" minOccurs="0" />
                <xs:element name="Reference" type="xs:int" minOccurs="0" />
                <xs:element name="Body" type="xs:string" minOccurs="0" />
              </xs:sequence>
            </xs:complexType>
          </xs:element>
        </xs:choice>
      </xs:complexType>
    </xs:element>
  </xs:schema>
  <diffgr:diffgram xmlns:msdata="urn:schemas-microsoft-com:xml-msdata" xmlns:diffgr="urn:schemas-microsoft-com:xml-diffgram-v1">
    <Messages xmlns="">
      <Row diffgr:id="Row1" msdata:rowOrder="0">
        <MessageID>2002</MessageID>
        <Status>Delivered</Status>
        <DateSent>2026-10-02T12:45:30.12+02:00</DateSent>
        <Read>1</Read>
        <Cost>1.00</Cost>
        <Network>A &amp; B</Network>
        <Body>Ready &amp; waiting</Body>
      </Row>
    </Messages>
  </diffgr:diffgram>
</DataSet>`,
    );
  });

  test('a DataSet of a dialect without rows has an empty diffgram', async () => {
    const text = await answer(dialect, 'sent', 'FetchSentDS', []);
    assert.match(text, /<diffgr:diffgram [^>]*\/>\n<\/DataSet>$/);
  });

  test('a DataSet of a dialect leaves out a text that is not a number from a column of numbers', async () => {
    const numbered = await answer(dialect, 'sent', 'FetchSentDS', [{ ...SENT, user_message_id: '77' }]);
    assert.match(numbered, /<Reference>77<\/Reference>/);
    assert.doesNotMatch(await answer(dialect, 'sent', 'FetchSentDS', [SENT]), /<Reference>/);
  });

  test('a DataSet of one operation may have names of its own in a dialect', async () => {
    const names = { ...dialect, dataSets: { 'compose.FetchScheduledDS': { table: 'Scheduled' } } };
    const text = await answer(names, 'compose', 'FetchScheduledDS', []);
    assert.match(text, /<xs:element name="Messages" [\s\S]*<xs:element name="Scheduled">/);
  });

  test('a DataSet of a dialect declares the DateTimeMode that .NET needs to read its dates', async () => {
    const mode = async (zone: 'Z' | 'offset' | 'none') =>
      /msdata:DateTimeMode="(\w+)"/.exec(await answer({ dates: { zone } }, 'sent', 'FetchSentDS', []))?.[1];
    assert.deepEqual([await mode('Z'), await mode('none'), await mode('offset')], ['Utc', 'Unspecified', undefined]);
  });
});

describe('records of a dialect', () => {
  test('records of a dialect have its dates and its words', async () => {
    const dialect: Dialect = {
      dates: { zone: 'none', timeZone: 'Europe/Berlin', fractionDigits: 0 },
      statusWords: { UNDELIVERABLE: 'Failed' },
    };
    const text = await answer(dialect, 'sent', 'FetchUnmarkedDeliveryStatus', [STATUS]);
    assert.match(text, /<delivery_status>Failed<\/delivery_status>/);
    assert.match(text, /<timestamp_updated>2026-10-02T12:45:30<\/timestamp_updated>/);
  });

  test('dates of DataSets may have another form than those of records', async () => {
    const dialect: Dialect = { dates: { zone: 'none' }, dataSet: { dates: { zone: 'Z', fractionDigits: 3 } } };
    assert.match(await answer(dialect, 'sent', 'FetchSentDS', [SENT]), /<timestamp_sent>2026-10-02T10:45:30.120Z</);
    assert.match(
      await answer(dialect, 'sent', 'FetchUnmarkedDeliveryStatus', [STATUS]),
      /<timestamp_updated>2026-10-02T10:45:30.12</,
    );
  });

  for (const [groupId, expected] of [
    ['absent', undefined],
    ['empty', '<groupid />'],
    ['zero', '<groupid>0</groupid>'],
  ] as const) {
    test(`a contact without a group has a groupid that is ${groupId}`, async () => {
      for (const operation of ['FetchContacts', 'FetchContactsDS']) {
        const text = await answer({ groupId }, 'account', operation, [CONTACT]);
        assert.equal(/<groupid.*$/m.exec(text)?.[0], expected, operation);
        const grouped = await answer({ groupId }, 'account', operation, [{ ...CONTACT, groupid: '7' }]);
        assert.match(grouped, /<groupid>7<\/groupid>/);
      }
    });
  }

  test('empty strings are absent or empty as the dialect says, whether they are null or not', async () => {
    const strings = async (emptyStrings?: 'absent' | 'empty') => {
      const text = await answer(emptyStrings ? { emptyStrings } : {}, 'account', 'FetchContacts', [CONTACT]);
      return [/<surname.*$/m, /<mobile.*$/m, /<groupid.*$/m].map((pattern) => pattern.exec(text)?.[0]);
    };
    assert.deepEqual(await strings(), [undefined, '<mobile />', undefined]);
    assert.deepEqual(await strings('absent'), [undefined, undefined, undefined]);
    assert.deepEqual(await strings('empty'), ['<surname />', '<mobile />', '<groupid />']);
  });

  test('a dialect with groupId and emptyStrings writes a missing groupid as groupId says', async () => {
    const text = await answer({ groupId: 'absent', emptyStrings: 'empty' }, 'account', 'FetchContacts', [CONTACT]);
    assert.doesNotMatch(text, /<groupid/);
  });
});

describe('the namespace of a dialect', () => {
  const dialect: Dialect = { namespace: 'urn:old:sms' };
  test('the namespace of a dialect is that of answers, faults and the WSDL, and requests need it', async () => {
    const endpoint = createTestEndpoint(async () => 3n, 'UTC', dialect);
    const request = requestOf('soap11', 'inbox', 'CountRead', { user_id: 'u' });
    const { soapaction: _, ...headers } = request.headers;
    const theirs = { ...request, headers, bytes: request.bytes.replace('http://sms.example/api', 'urn:old:sms') };
    assert.match((await endpoint.send(theirs)).text, /<CountReadResponse xmlns="urn:old:sms"><CountReadResult>3</);
    assert.equal((await endpoint.send(request)).status, 500);
    const wsdl = await endpoint.send({ path: '/api/inbox.asmx', query: 'WSDL' });
    assert.match(wsdl.text, /targetNamespace="urn:old:sms"/);
    assert.match(wsdl.text, /soapAction="urn:old:sms\/CountRead"/);
    assert.doesNotMatch(wsdl.text, /sms\.example/);
  });
});

describe('errors of a dialect', () => {
  const statuses = async (errorStatus: Dialect['errorStatus'], thrown: Problem) => {
    const dialect: Dialect = errorStatus ? { errorStatus } : {};
    const endpoint = createTestEndpoint(async () => Promise.reject(thrown), 'UTC', dialect);
    const answers = PROTOCOLS.map((protocol) =>
      endpoint.send(requestOf(protocol, 'inbox', 'CountRead', { user_id: 'u' })),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };

  test('errors of GET and POST have status 500 if the dialect says so, as in ASMX; SOAP always has it', async () => {
    assert.deepEqual(await statuses(undefined, denied()), [500, 500, 403, 403]);
    assert.deepEqual(await statuses('http', denied()), [500, 500, 403, 403]);
    assert.deepEqual(await statuses('asmx', denied()), [500, 500, 500, 500]);
    assert.deepEqual(await statuses('asmx', badArgument('max', 'x')), [500, 500, 500, 500]);
  });

  test('an error with Retry-After keeps its status, because old servers had none', async () => {
    const many = new Problem('too-many', 'Too many calls.', { retryAfterSeconds: 3 });
    assert.deepEqual(await statuses('asmx', many), [429, 429, 429, 429]);
  });

  test('an unknown operation has status 500 in GET and POST if the dialect says so', async () => {
    const endpoint = createTestEndpoint(async () => 1n, 'UTC', { errorStatus: 'asmx' });
    assert.equal((await endpoint.send({ path: '/api/inbox.asmx/Nope', query: '' })).status, 500);
    assert.equal((await endpoint.send({ path: '/api/nope.asmx', query: '' })).status, 404);
  });
});

describe('fault codes of a dialect', () => {
  const codeOf = async (dialect: Dialect, protocol: 'soap11' | 'soap12') => {
    const endpoint = createTestEndpoint(async () => Promise.reject(denied()), 'UTC', dialect);
    const { text } = await endpoint.send(requestOf(protocol, 'inbox', 'CountRead', { user_id: 'u' }));
    return /soap:(Client|Server|Sender|Receiver)</.exec(text)?.[1];
  };

  test('a mistake of the caller has the fault code Server if the dialect says so', async () => {
    assert.deepEqual([await codeOf({}, 'soap11'), await codeOf({}, 'soap12')], ['Client', 'Sender']);
    const dialect: Dialect = { faultCode: 'server' };
    assert.deepEqual([await codeOf(dialect, 'soap11'), await codeOf(dialect, 'soap12')], ['Server', 'Receiver']);
  });
});

describe('booleans of a dialect', () => {
  test('results and columns of strings have the words of the dialect, and columns of other types stay what .NET reads', async () => {
    const dialect: Dialect = {
      booleanWords: { true: ['Y', 'yes'], false: 'N' },
      columns: {
        'sent.FetchSentDS': [
          { name: 'Seen', type: 'string', from: 'marked' },
          { name: 'Id', type: 'long', from: 'id' },
        ],
      },
    };
    const marked = await answer(dialect, 'sent', 'FetchSentDS', [SENT, { ...SENT, marked: false }]);
    assert.deepEqual(
      [...marked.matchAll(/<Seen>(\w+)</g)].map(([, word]) => word),
      ['Y', 'N'],
    );
    for (const [value, word] of [
      [true, 'Y'],
      [false, 'N'],
    ] as const) {
      for (const protocol of PROTOCOLS) {
        const endpoint = createTestEndpoint(async () => value, 'UTC', dialect);
        const args = { user_id: 'u', message: 'Hello' };
        const { text } = await endpoint.send(requestOf(protocol, 'account', 'SaveMessageTemplate', args));
        assert.match(text, new RegExp(`>${word}</`));
      }
    }
    const { columns: _, ...plain } = dialect;
    assert.match(await answer(plain, 'sent', 'FetchSentDS', [SENT]), /<marked>true</);
  });
});

describe('arguments of a dialect', () => {
  test('a call that Columba answers without a dialect is the same call with any dialect', async () => {
    const dialect: Dialect = { emptyStrings: 'absent', groupId: 'zero', errorStatus: 'asmx' };
    for (const protocol of PROTOCOLS) {
      const request = requestOf(protocol, 'account', 'FetchContactsByGroupId', { user_id: 'u', groupid: 7 });
      assert.deepEqual(
        await createTestEndpoint(async () => [], 'UTC', dialect).receive(request),
        await createTestEndpoint(async () => []).receive(request),
      );
    }
  });
});

describe('pages of a dialect', () => {
  const dialect: Dialect = {
    dataSet: { table: 'Row' },
    columns: {
      'sent.FetchSentDS': [
        { name: 'Status', type: 'string', from: 'delivery_status' },
        { name: 'Sent', type: 'dateTime', from: 'timestamp_sent' },
        { name: 'Cost', type: 'decimal', constant: '1.00' },
      ],
    },
    dates: { zone: 'none', timeZone: 'Europe/Berlin' },
    statusWords: { DELIVERED: 'Arrived' },
    groupId: 'zero',
    orders: { 'inbox.Unread': '-timestamp', 'account.FetchGroups': '-id' },
    caps: { 'inbox.Unread': 50 },
    readReturnsReadOnly: true,
    errorStatus: 'asmx',
  };
  const page = async (group: string, query: string) =>
    (await createTestEndpoint(async () => [], 'UTC', dialect).send({ path: `/api/${group}.asmx`, query })).text;

  test('the page of an operation shows columns, words, dates and errors', async () => {
    const whole = await page('sent', 'op=FetchSentDS');
    const text = whole.slice(whole.indexOf('<main'));
    assert.match(text, /one table, Row/);
    assert.match(text, /<dt class="mono">Status: string<\/dt><dd>QUEUED, SUBMITTED, ENROUTE, Arrived, /);
    assert.match(text, /Sent: dateTime<\/dt><dd>When it was sent, in Europe\/Berlin, without a zone\./);
    assert.match(text, /Cost: decimal<\/dt><dd>Always “1\.00”\./);
    assert.match(text, /&#60;Sent&#62;2026-10-02T12:45:30&#60;\/Sent&#62;/);
    assert.match(text, /500 in GET and POST, 500 Client in SOAP 1\.1/);
    assert.match(text, /500 in GET and POST, 415 in SOAP/);
    assert.match(text, /answer\.Tables\[&#34;Row&#34;\]/);
    assert.match(text, /DateTime Sent = row\.Field&#60;DateTime&#62;\(&#34;Sent&#34;\)/);
    assert.doesNotMatch(text, /timestamp_sent/);
  });

  test('summaries name orders, caps and what Read returns', async () => {
    const inbox = await page('inbox', '');
    assert.match(inbox, /Unread messages, by timestamp, descending\. At most 50\./);
    assert.match(inbox, /Received messages of a time range, only those marked as read, oldest first\./);
    assert.match(await page('account', 'op=FetchContacts'), /0 where it is in none/);
    assert.match(await page('account', ''), /All contact groups, by id, descending, with the number/);
  });
});
