import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDate, parseGeneralDate, parseSchemaDate } from '../../../src/asmx/contract/dates.ts';
import { createTestEndpoint, NOW } from '../../support/endpoint.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { PROTOCOLS, requestOf } from '../../support/protocols.ts';
import { ACME, startService } from '../../support/service.ts';

const MESSAGE_AT = '2026-10-02T10:45:30Z'; // when message 1003 of the sample came
const NO = null;

/** A text, the instant that SOAP takes it for, and the one that GET and POST take it for; null: refused. NOW is 2026-11-15T12:00:00Z. */
type Row = readonly [text: string, soap: string | null, http: string | null];
const both = (text: string, instant: string | null): Row => [text, instant, instant];
const onlyHttp = (text: string, instant: string): Row => [text, NO, instant];

const ROWS: readonly Row[] = [
  both('2026-10-02T10:45:30', MESSAGE_AT),
  both('2026-10-02T10:45:30Z', MESSAGE_AT),
  both('2026-10-02T10:45:30z', MESSAGE_AT),
  both('2026-10-02T12:45:30+02:00', MESSAGE_AT),
  both('2026-10-02T05:15:30-05:30', MESSAGE_AT),
  both('2026-10-02T10:45:30+00:00', MESSAGE_AT),
  both('2026-10-02T10:45:30-00:00', MESSAGE_AT),
  both('2026-10-03T00:45:30+14:00', MESSAGE_AT),
  both('2026-10-01T20:45:30-14:00', MESSAGE_AT),
  ['2026-10-03T01:45:30+15:00', MESSAGE_AT, NO],
  both('2026-10-02T10:45:30+02:60', NO),
  both('2026-10-02T10:45:30+2', NO),

  // fractions are kept to the millisecond: the rest is cut, never rounded into the next one
  both('2026-10-02T10:45:30.5Z', '2026-10-02T10:45:30.500Z'),
  both('2026-10-02T10:45:30.25Z', '2026-10-02T10:45:30.250Z'),
  both('2026-10-02T10:45:30.123Z', '2026-10-02T10:45:30.123Z'),
  both('2026-10-02T10:45:30.0004Z', MESSAGE_AT),
  both('2026-10-02T10:45:30.12399Z', '2026-10-02T10:45:30.123Z'),
  both('2026-10-02T10:45:30.123999Z', '2026-10-02T10:45:30.123Z'),
  both('2026-10-02T10:45:30.1239999Z', '2026-10-02T10:45:30.123Z'),
  both('2026-10-02T10:45:30.12399999Z', '2026-10-02T10:45:30.123Z'),
  both('2026-10-02T10:45:30.999999999Z', '2026-10-02T10:45:30.999Z'),
  both('2026-10-02T10:45:30.999999999+02:00', '2026-10-02T08:45:30.999Z'),
  both('2026-10-02T10:45:30.', NO),
  both('2026-10-02T10:45:30.Z', NO),

  // parts of a date
  onlyHttp('2026-10-02T10:45', '2026-10-02T10:45:00Z'),
  both('2026-10-02', '2026-10-02T00:00:00Z'),
  both('2026-10-02Z', '2026-10-02T00:00:00Z'),
  both('2026-10-02+02:00', '2026-10-01T22:00:00Z'),
  both('2026-10', '2026-10-01T00:00:00Z'),
  ['2026', '2026-01-01T00:00:00Z', NO],
  both('10:45:30', '2026-11-15T10:45:30Z'),

  // the general forms of .NET
  onlyHttp('2026-10-02 10:45:30', MESSAGE_AT),
  onlyHttp('2026/10/02 10:45:30', MESSAGE_AT),
  onlyHttp('2026-10-02 10:45', '2026-10-02T10:45:00Z'),
  onlyHttp('10/02/2026', '2026-10-02T00:00:00Z'),
  onlyHttp('10/2/2026 10:45:30 AM', MESSAGE_AT),
  onlyHttp('10/2/2026 10:45:30 PM', '2026-10-02T22:45:30Z'),
  onlyHttp('10/2/2026 12:45:30 AM', '2026-10-02T00:45:30Z'),
  onlyHttp('10/2/2026 12:45:30 PM', '2026-10-02T12:45:30Z'),
  onlyHttp('2 Oct 2026', '2026-10-02T00:00:00Z'),
  onlyHttp('2 October 2026', '2026-10-02T00:00:00Z'),
  onlyHttp('Oct 2, 2026 10:45', '2026-10-02T10:45:00Z'),
  onlyHttp('2026-1-2', '2026-01-02T00:00:00Z'),
  onlyHttp('Fri, 02 Oct 2026 10:45:30 GMT', MESSAGE_AT),
  onlyHttp('2026-10-02T12:45:30+0200', MESSAGE_AT),
  both('Thu, 02 Oct 2026 10:45:30 GMT', NO), // it was a Friday

  // more of them, as VB, Oracle, JavaScript, PostgreSQL and Japanese systems write them
  onlyHttp('10/2/26 10:45:30 AM', MESSAGE_AT),
  onlyHttp('10/2/26', '2026-10-02T00:00:00Z'),
  onlyHttp('10-02-26', '2026-10-02T00:00:00Z'),
  onlyHttp('02-Oct-26', '2026-10-02T00:00:00Z'),
  onlyHttp('02-OCT-26', '2026-10-02T00:00:00Z'),
  onlyHttp('2 Oct 26 10:45:30', MESSAGE_AT),
  onlyHttp('Oct 2, 26', '2026-10-02T00:00:00Z'),
  onlyHttp('Friday, 02-Oct-26 10:45:30 GMT', MESSAGE_AT),
  onlyHttp('10/2/2026, 10:45:30 AM', MESSAGE_AT),
  onlyHttp('10/2/2026, 10:45:30\u202fAM', MESSAGE_AT),
  onlyHttp('2026-10-02, 10:45:30', MESSAGE_AT),
  onlyHttp('2026-10-02T12:45:30+02', MESSAGE_AT),
  onlyHttp('2026-10-02 05:45:30-05', MESSAGE_AT),
  onlyHttp('2026.10.02', '2026-10-02T00:00:00Z'),
  onlyHttp('2026.10.02 10:45:30', MESSAGE_AT),
  onlyHttp('10/2/2026 22:45:30 PM', '2026-10-02T22:45:30Z'),
  onlyHttp('22:45:30 PM', '2026-11-15T22:45:30Z'),
  onlyHttp('10/2/2026 00:45:30 AM', '2026-10-02T00:45:30Z'),
  onlyHttp('10/2/2026 00:45:30 PM', '2026-10-02T12:45:30Z'),
  both('10/2/2026 13:45:30 AM', NO),
  both('10/2/2026 24:45:30 PM', NO),
  both('2026-10-02-05', NO),
  both('2026-10-02T10:45:30+15', NO),
  both('02.10.2026', NO),
  both('02.10.26', NO),
  both('2026.10-02', NO),
  both('13/10/26', NO),
  both('10/2/226', NO),
  both('10/2/2026,10:45:30 AM', NO),
  // two digits are a year from 1930 to 2029
  onlyHttp('12/31/29', '2029-12-31T00:00:00Z'),
  onlyHttp('1/1/30', '1930-01-01T00:00:00Z'),
  onlyHttp('1-Jan-00', '2000-01-01T00:00:00Z'),
  onlyHttp('1-Jan-99', '1999-01-01T00:00:00Z'),

  // white space around
  both('  2026-10-02T10:45:30Z  ', MESSAGE_AT),
  both('\r\n\t2026-10-02T10:45:30Z\r\n', MESSAGE_AT),

  // days that there are, and days that there are not
  both('2028-02-29', '2028-02-29T00:00:00Z'),
  both('0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'),
  both('0099-01-01T00:00:00Z', '0099-01-01T00:00:00Z'),
  both('9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'),
  both('2026-02-29', NO),
  both('2026-04-31T00:00:00Z', NO),
  both('2026-13-01', NO),
  both('2026-00-01', NO),
  both('2026-10-00', NO),
  both('0000-01-01T00:00:00Z', NO),

  both('13/10/2026', NO),
  both('20261002T104530Z', NO),
  both('2026-10-02T24:00:00Z', NO),
  both('2026-10-02T23:59:60Z', NO),
  both('2026-10-02T10:60:00Z', NO),
  both('10000-01-01T00:00:00Z', NO),
  both('-2026-10-02T10:45:30Z', NO),
  both('today', NO),
  both('1790938000', NO),
  both('', NO),
  both(' ', NO),
  both('2026-10-02T10:45:30Z 2026-10-02T10:45:30Z', NO),
  both('٢٠٢٦-10-02', NO),
];

const instant = (text: string | null) => (text === null ? null : new Date(text).getTime());
const shown = (at: number | null) => (at === null ? null : new Date(at).toISOString());

describe('dateTime text', () => {
  const context = { now: NOW, zone: 'UTC' };
  for (const [text, soap, http] of ROWS) {
    test(`${JSON.stringify(text)} is ${soap ?? 'refused'} in SOAP and ${http ?? 'refused'} in GET and POST`, () => {
      assert.equal(shown(parseSchemaDate(text, context)), shown(instant(soap)));
      assert.equal(shown(parseGeneralDate(text, context)), shown(instant(http)));
    });
  }

  // Johannesburg keeps UTC+2 all year; Berlin and New York change the clock on other days, on either side of Greenwich.
  const ZONED: readonly (readonly [zone: string, text: string, instant: string])[] = [
    ['Africa/Johannesburg', '2026-10-02T12:45:30', MESSAGE_AT],
    ['Africa/Johannesburg', '2026-01-02T12:45:30', '2026-01-02T10:45:30Z'],
    ['Africa/Johannesburg', '2026-10-02', '2026-10-01T22:00:00Z'],
    ['Africa/Johannesburg', '2026-10', '2026-09-30T22:00:00Z'],
    ['Africa/Johannesburg', '2026-10-02T10:45:30Z', MESSAGE_AT],
    ['Africa/Johannesburg', '2026-10-02T10:45:30+00:00', MESSAGE_AT],
    ['Africa/Johannesburg', '2026-10-02T05:45:30-05:00', MESSAGE_AT],
    ['Africa/Johannesburg', '10:45:30', '2026-11-15T08:45:30Z'],
    ['+05:30', '2026-10-02T16:15:30', MESSAGE_AT],
    ['Europe/Berlin', '2026-07-01T12:00:00', '2026-07-01T10:00:00Z'],
    ['Europe/Berlin', '2026-12-01T12:00:00', '2026-12-01T11:00:00Z'],
    ['Europe/Berlin', '2026-03-29T01:59:59', '2026-03-29T00:59:59Z'],
    ['Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T01:30:00Z'], // skipped, so it is read in standard time
    ['Europe/Berlin', '2026-03-29T03:00:00', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-10-25T01:59:59', '2026-10-24T23:59:59Z'],
    ['Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T01:30:00Z'], // twice there, and read in standard time
    ['Europe/Berlin', '2026-10-25T03:00:00', '2026-10-25T02:00:00Z'],
    ['America/New_York', '2026-03-08T01:59:59', '2026-03-08T06:59:59Z'],
    ['America/New_York', '2026-03-08T03:00:00', '2026-03-08T07:00:00Z'],
    ['America/New_York', '2026-11-01T00:59:59', '2026-11-01T04:59:59Z'],
    ['America/New_York', '2026-11-01T02:00:00', '2026-11-01T07:00:00Z'],
  ];
  for (const [zone, text, expected] of ZONED) {
    test(`${text} is ${expected} where the default zone is ${zone}`, () => {
      const context = { now: NOW, zone };
      assert.equal(shown(parseSchemaDate(text, context)), shown(instant(expected)));
      assert.equal(shown(parseGeneralDate(text, context)), shown(instant(expected)));
    });
  }

  test('a time alone is on the current day of the default zone, or of its own zone', () => {
    const context = { now: Date.UTC(2026, 10, 15, 23), zone: 'Africa/Johannesburg' };
    for (const parse of [parseSchemaDate, parseGeneralDate]) {
      assert.equal(shown(parse('10:45:30', context)), '2026-11-16T08:45:30.000Z');
      assert.equal(shown(parse('10:45:30Z', context)), '2026-11-15T10:45:30.000Z');
    }
  });
});

test('a dateTime is written in UTC, with as many digits of a second as it needs', () => {
  for (const text of [
    ...['2026-10-02T10:45:30Z', '2026-10-02T10:45:30.5Z', '2026-10-02T10:45:30.25Z', '2026-10-02T10:45:30.123Z'],
    ...['2026-10-02T10:45:30.001Z', '2026-10-02T10:45:30.01Z', '2026-10-02T10:40:00Z', '2026-10-02T00:00:00Z'],
    ...['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ]) {
    assert.equal(formatDate(new Date(text).getTime()), text);
  }
});

describe('dateTime arguments', () => {
  for (const protocol of PROTOCOLS) {
    const endpoint = createTestEndpoint();
    const read = (from: string | null) =>
      requestOf(protocol, 'inbox', 'Read', { user_id: ACME, from, to: MESSAGE_AT, max_count: 1 });

    test(`${protocol} reads every text of the table as the table says`, async () => {
      for (const [text, soap, http] of ROWS) {
        const expected = instant(protocol.startsWith('soap') ? soap : http);
        if (expected === null) {
          const message = 'from: expected a date and time such as 2026-10-02T10:45:30Z';
          assertProblem(protocol, await endpoint.send(read(text)), 'bad-argument', message);
        } else {
          const args = { user_id: ACME, from: expected, to: instant(MESSAGE_AT), max_count: 1 };
          assert.deepEqual(
            await endpoint.receive(read(text)),
            { group: 'inbox', operation: 'Read', arguments: args },
            text,
          );
        }
      }
    });

    test(`${protocol}: a missing dateTime is a bad argument, not the year 1`, async () => {
      assertProblem(protocol, await endpoint.send(read(null)), 'bad-argument', 'from: missing');
    });
  }
});

onOneEngine('dateTime arguments of inbox.Read', (engine) => {
  const ids = (text: string) => [...text.matchAll(/<id>(\d+)<\/id>/g)].map(([, id]) => id);
  /** `from` and `to` that both hit message 1003 in the second it came, and no other. */
  const HITS: readonly (readonly [from: string, to: string, forms: 'all' | 'http'])[] = [
    [MESSAGE_AT, MESSAGE_AT, 'all'],
    ['2026-10-02T12:45:30+02:00', '2026-10-02T05:15:30-05:30', 'all'],
    ['2026-10-02T10:45:30', '2026-10-02T10:45:30.0009999', 'all'],
    ['2026-10-02', '2026-10-03', 'all'],
    ['2026-10-02 10:45:30', '10/02/2026 10:45:31', 'http'],
    ['2 Oct 2026', 'Fri, 02 Oct 2026 10:45:30 GMT', 'http'],
  ];

  for (const protocol of PROTOCOLS) {
    test(`${protocol}: from and to mean the instants that their texts say, both included`, async () => {
      const service = await startService(engine);
      const read = async (from: string, to: string) =>
        ids((await service.call(protocol, 'inbox', 'Read', { user_id: ACME, from, to, max_count: 10 })).text);
      try {
        for (const [from, to, forms] of HITS) {
          if (forms === 'http' && protocol.startsWith('soap')) continue;
          assert.deepEqual(await read(from, to), ['1003'], `${from} to ${to}`);
        }
        assert.deepEqual(await read('2026-10-02T10:45:30.001Z', '2026-10-03Z'), []);
        assert.deepEqual(await read('2026-10-02Z', '2026-10-02T10:45:29.999Z'), []);
        // 1002 came at 09:30:00.250: more digits than the store keeps do not lose it
        assert.deepEqual(await read('2026-10-01T09:30:00.2509999Z', '2026-10-01T10:00:00Z'), ['1002']);
      } finally {
        await service.stop();
      }
    });

    test(`${protocol}: COLUMBA_TIME_ZONE changes the meaning of texts without a zone, and of no others`, async () => {
      for (const [timeZone, local] of [
        ['Africa/Johannesburg', '2026-10-02T12:45:30'],
        ['America/New_York', '2026-10-02T06:45:30'],
      ] as const) {
        const service = await startService(engine, 'sample', { timeZone });
        const read = async (at: string) => {
          const { text } = await service.call(protocol, 'inbox', 'Read', {
            user_id: ACME,
            from: at,
            to: at,
            max_count: 10,
          });
          return { ids: ids(text), timestamp: /<timestamp>(.*?)</.exec(text)?.[1] };
        };
        try {
          // answers stay in UTC
          assert.deepEqual(await read(local), { ids: ['1003'], timestamp: MESSAGE_AT });
          assert.deepEqual(await read(MESSAGE_AT), { ids: ['1003'], timestamp: MESSAGE_AT });
          assert.deepEqual((await read('2026-10-02T10:45:30')).ids, []);
        } finally {
          await service.stop();
        }
      }
    });
  }
});
