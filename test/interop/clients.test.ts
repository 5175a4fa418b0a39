import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpMessage } from '../support/cases.ts';
import { onOneEngine } from '../support/engines.ts';
import { ENVELOPES, NAMESPACE } from '../support/protocols.ts';
import { ACME, startService } from '../support/service.ts';
import { type Connection, openConnection, statusOf, textOf } from '../support/socket.ts';
import { CLIENTS } from './clients.ts';
import type { Call, Client } from './phrasing.ts';

/** Calls that between them have a parameter of every type. What is asserted is what the client gets to see. */
const TEXT = 'Grüße & <alles> "Gute" 😀 ]]>';
const user = ['user_id', 'string', ACME] as const;
const CALLS: readonly { call: Call; answer: RegExp }[] = [
  {
    call: { group: 'inbox', operation: 'Unread', parameters: [user, ['max_count', 'int', '2']] },
    answer: /^<ReceivedMessage><id>1003<\/id>.*<ReceivedMessage><id>1004<\/id>(?!.*<ReceivedMessage>)/s,
  },
  {
    call: {
      group: 'inbox',
      operation: 'Read',
      parameters: [
        user,
        ['from', 'dateTime', Date.UTC(2026, 9, 2, 10, 45, 30)],
        ['to', 'dateTime', Date.UTC(2026, 9, 2, 10, 45, 30)],
        ['max_count', 'int', '10'],
      ],
    },
    answer: /^<ReceivedMessage><id>1003<\/id>(?!.*<ReceivedMessage>)/s,
  },
  {
    call: { group: 'sent', operation: 'MarkMessageAsRead', parameters: [user, ['id', 'long', '2002']] },
    answer: /^true$/,
  },
  {
    call: {
      group: 'account',
      operation: 'MoveContactToNewGroup',
      parameters: [user, ['contact_id', 'string', ['101', '102']], ['group_id', 'string', '3']],
    },
    answer: /^true$/,
  },
  {
    call: { group: 'account', operation: 'FetchContactsByGroupId', parameters: [user, ['groupid', 'int', '3']] },
    answer: /^<Contact>.*<id>101<\/id>.*<\/Contact><Contact>.*<id>102<\/id>.*<\/Contact>$/s,
  },
  {
    call: { group: 'account', operation: 'SaveMessageTemplate', parameters: [user, ['message', 'string', TEXT]] },
    answer: /^true$/,
  },
  {
    call: { group: 'account', operation: 'FetchSavedMessages', parameters: [user] },
    answer: /<string>Grüße &amp; &lt;alles&gt; "Gute" 😀 \]\]&gt;<\/string>$/,
  },
];
const STRANGER: Call = { group: 'inbox', operation: 'CountUnread', parameters: [['user_id', 'string', 'nobody']] };

/** The client's calls as it makes them: each on a connection of its own, or all on one. */
async function converse(client: Client, address: string, calls: readonly Call[]): Promise<HttpMessage[]> {
  const answers: HttpMessage[] = [];
  let connection: Connection | undefined;
  for (const call of calls) {
    connection ??= await openConnection(address);
    const { pieces, waits } = client.request(call, new URL(address).host);
    for (const [index, piece] of pieces.entries()) {
      await connection.send(piece);
      if (waits && index === 0) assert.match((await connection.receive()).start, /^HTTP\/1\.1 100 /);
    }
    const answer = await connection.receive();
    answers.push(answer);
    if (client.closes) {
      assert.equal(answer.headers.connection, 'close', 'the client is told that the connection ends');
      assert.equal((await connection.ended()).length, 0);
      connection = undefined;
    }
  }
  connection?.close();
  return answers;
}

onOneEngine('requests as toolkits phrase them, over a socket', (engine) => {
  for (const client of CLIENTS) {
    test(`${client.name} calls, is answered in its version, and reads a fault`, async () => {
      const service = await startService(engine);
      try {
        const address = await service.app.start();
        const answers = await converse(client, address, [...CALLS.map(({ call }) => call), STRANGER]);
        const refusal = answers.pop() as HttpMessage;
        const type = client.version === 'soap11' ? 'text/xml' : 'application/soap+xml';
        for (const [index, answer] of answers.entries()) {
          const { call, answer: expected } = CALLS[index] as (typeof CALLS)[number];
          assert.equal(statusOf(answer), 200, textOf(answer));
          assert.equal(answer.headers['content-type'], `${type}; charset=utf-8`);
          if (!client.gzip) assert.equal(answer.headers['content-encoding'], undefined);
          assert.match(resultOf(client, call, textOf(answer)), expected);
        }
        assert.equal(statusOf(refusal), 500);
        assert.equal(refusal.headers['content-type'], `${type}; charset=utf-8`);
        assert.match(textOf(refusal), /<soap:Fault>.*<code>denied<\/code>/);
      } finally {
        await service.stop();
      }
    });
  }

  test('the table has every toolkit, in the versions that it speaks', () => {
    const names = new Set(CLIENTS.map(({ name }) => name));
    assert.equal(names.size, CLIENTS.length);
    assert.equal(CLIENTS.filter(({ version }) => version === 'soap11').length, 13);
    assert.equal(CLIENTS.filter(({ version }) => version === 'soap12').length, 10);
  });
});

function resultOf({ version }: Client, { operation }: Call, text: string): string {
  const start = `<soap:Envelope xmlns:soap="${ENVELOPES[version]}" `;
  assert.ok(text.includes(start), text);
  const pattern = new RegExp(
    `<soap:Body><${operation}Response xmlns="${NAMESPACE}"><${operation}Result>(.*)</${operation}Result></${operation}Response></soap:Body></soap:Envelope>$`,
    's',
  );
  return pattern.exec(text)?.[1] ?? assert.fail(text);
}
