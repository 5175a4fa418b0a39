import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestEndpoint } from '../../support/endpoint.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { type Arguments, PROTOCOLS, requestOf } from '../../support/protocols.ts';
import { ACME, startService } from '../../support/service.ts';

interface Row {
  readonly text: string;
  readonly value: number | bigint;
}

const WHOLE = 'a whole number from';
const INT = `${WHOLE} -2147483648 to 2147483647`;
const LONG = `${WHOLE} -9223372036854775808 to 9223372036854775807`;

/** Texts of small numbers that int and long take alike. */
const ACCEPTED: readonly (readonly [string, number])[] = [
  ['2', 2],
  ['+2', 2],
  ['-2', -2],
  ['002', 2],
  ['+002', 2],
  ['-002', -2],
  ['0', 0],
  ['-0', 0],
  ['+0', 0],
  ['000', 0],
  [' 2 ', 2],
  ['\t\n 2\n\t', 2],
  ['\r\n2\r\n', 2],
  [`${'0'.repeat(50)}7`, 7],
  ['2147483647', 2147483647],
  ['-2147483648', -2147483648],
];

const INTS: readonly Row[] = ACCEPTED.map(([text, value]) => ({ text, value }));

const LONGS: readonly Row[] = [
  ...ACCEPTED.map(([text, value]) => ({ text, value: BigInt(value) })),
  { text: '2147483648', value: 2147483648n },
  { text: '9007199254740993', value: 9007199254740993n },
  { text: '-9007199254740993', value: -9007199254740993n },
  { text: '9223372036854775807', value: 9223372036854775807n },
  { text: '+9223372036854775807', value: 9223372036854775807n },
  { text: '-9223372036854775808', value: -9223372036854775808n },
  { text: `00${'9223372036854775807'}`, value: 9223372036854775807n },
];

const REFUSED = [
  '',
  ' ',
  '+',
  '-',
  '1.0',
  '1.',
  '.5',
  '1e2',
  '0x1',
  '1,0',
  '1,000',
  '1 000',
  '1_000',
  '+ 2',
  '- 2',
  '--2',
  '+-2',
  '2-',
  '(2)',
  '2L',
  '2n',
  'abc',
  'NaN',
  'Infinity',
  'true',
  '\u0662', // an Arabic-Indic two
  '\uFF12', // a full-width two
  '\u22122', // a minus sign that is not the hyphen
  '\u00A02', // a no-break space is no white space to .NET's parser
  '99999999999999999999999999',
];
const INT_OVERFLOWS = ['2147483648', '-2147483649', '4294967298', '9223372036854775807'];
const LONG_OVERFLOWS = ['9223372036854775808', '-9223372036854775809', '18446744073709551618'];

const SCALARS = [
  {
    type: 'int',
    group: 'account',
    operation: 'FetchContactsByGroupId',
    name: 'groupid',
    accepted: INTS,
    refused: [...REFUSED, ...INT_OVERFLOWS],
    expected: INT,
  },
  {
    type: 'long',
    group: 'sent',
    operation: 'MarkMessageAsRead',
    name: 'id',
    accepted: LONGS,
    refused: [...REFUSED, ...LONG_OVERFLOWS],
    expected: LONG,
  },
] as const;

describe('numbers', () => {
  for (const { type, group, operation, name, accepted, refused, expected } of SCALARS) {
    for (const protocol of PROTOCOLS) {
      const endpoint = createTestEndpoint();
      const given = (args: Arguments) => requestOf(protocol, group, operation, { user_id: ACME, ...args });

      for (const { text, value } of accepted) {
        test(`${type} in ${protocol}: ${JSON.stringify(text)} is ${value}`, async () => {
          assert.deepEqual(await endpoint.receive(given({ [name]: text })), {
            group,
            operation,
            arguments: { user_id: ACME, [name]: value },
          });
        });
      }

      for (const text of refused) {
        test(`${type} in ${protocol}: ${JSON.stringify(text)} is a bad argument`, async () => {
          assertProblem(
            protocol,
            await endpoint.send(given({ [name]: text })),
            'bad-argument',
            `${name}: expected ${expected}`,
          );
        });
      }

      test(`${type} in ${protocol}: a missing number is a bad argument, not 0`, async () => {
        assertProblem(protocol, await endpoint.send(given({})), 'bad-argument', `${name}: missing`);
      });
    }
  }
});

describe('text', () => {
  const TEXTS = [
    '',
    ' ',
    '  padded  ',
    'two\nlines',
    'tab\tand\r\nreturn',
    '&<>"\'',
    '%41+%2B',
    'é 二 😀',
    '\uFEFFmark',
    'a,b',
  ];
  for (const protocol of PROTOCOLS) {
    const endpoint = createTestEndpoint();
    for (const text of TEXTS) {
      test(`string in ${protocol}: ${JSON.stringify(text)} arrives as it is`, async () => {
        const request = requestOf(protocol, 'account', 'FetchContact', { user_id: ACME, mobile: text });
        assert.deepEqual(await endpoint.receive(request), {
          group: 'account',
          operation: 'FetchContact',
          arguments: { user_id: ACME, mobile: text },
        });
      });
    }

    test(`string in ${protocol}: a missing string is null, which is not the empty string`, async () => {
      const request = requestOf(protocol, 'account', 'FetchContact', { user_id: ACME });
      assert.deepEqual(await endpoint.receive(request), {
        group: 'account',
        operation: 'FetchContact',
        arguments: { user_id: ACME, mobile: null },
      });
    });
  }
});

onOneEngine('numbers', (engine) => {
  const ids = (text: string) => [...text.matchAll(/<id>(\d+)<\/id>/g)].map(([, id]) => id);
  const bools = (text: string) => />(true|false)</.exec(text)?.[1];

  for (const protocol of PROTOCOLS) {
    test(`${protocol}: a group is found under any notation of its number`, async () => {
      const service = await startService(engine);
      try {
        for (const groupid of ['2', ' 2 ', '+2', '002', '\n+0002\t']) {
          const answer = await service.call(protocol, 'account', 'FetchContactsByGroupId', { user_id: ACME, groupid });
          assert.deepEqual(ids(answer.text), ['104', '105'], groupid);
        }
        for (const groupid of ['-2', '2147483647', '-2147483648']) {
          const answer = await service.call(protocol, 'account', 'FetchContactsByGroupId', { user_id: ACME, groupid });
          assert.equal(answer.status, 200);
          assert.deepEqual(ids(answer.text), [], groupid);
        }
      } finally {
        await service.stop();
      }
    });

    test(`${protocol}: ids are exact over all 64 bits`, async () => {
      const service = await startService(engine);
      const mark = async (id: string) =>
        bools((await service.call(protocol, 'sent', 'MarkMessageAsRead', { user_id: ACME, id })).text);
      const markInbox = async (message_id: string) =>
        bools((await service.call(protocol, 'inbox', 'MarkMessageAsRead', { user_id: ACME, message_id })).text);
      try {
        assert.equal(await mark(' +002002 '), 'true');
        for (const id of ['9223372036854775807', '-9223372036854775808', '-2002'])
          assert.equal(await mark(id), 'false', id);
        // 2^53 + 1 is in the inbox; a double would make one of its neighbours of it
        assert.equal(await markInbox('9007199254740992'), 'false');
        assert.equal(await markInbox('9007199254740994'), 'false');
        assert.equal(await markInbox('9007199254740993'), 'true');
      } finally {
        await service.stop();
      }
    });

    test(`${protocol}: a message_id that is no number names nothing`, async () => {
      const service = await startService(engine);
      try {
        for (const message_id of ['', 'abc', '1003.0', '9223372036854775808', '1003 1004', null]) {
          const answer = await service.call(protocol, 'inbox', 'DeleteMessage', { user_id: ACME, message_id });
          assert.equal(answer.status, 200);
          assert.equal(bools(answer.text), 'false', String(message_id));
        }
      } finally {
        await service.stop();
      }
    });
  }
});
