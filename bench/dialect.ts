import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { contract } from '../src/asmx/contract/contract.ts';
import type { Contract, ResultType } from '../src/asmx/contract/types.ts';
import { type Dialect, NO_DIALECT } from '../src/asmx/dialect/dialect.ts';
import { compact } from '../src/asmx/results/elements.ts';
import { resultForm } from '../src/asmx/results/result-form.ts';
import { resultWriter } from '../src/asmx/results/result-writer.ts';
import { heading, printTable } from './report.ts';
import { comparison, rounds } from './rounds.ts';

/**
 * Writing results: without a dialect against one that changes everything. With BEFORE=FOLDER, the
 * writers of another checkout are the first row.
 */
const ROWS = 50;
const CALLS = 2_000;
const START = Date.UTC(2026, 9, 1);

const DIALECT: Dialect = {
  dataSet: { name: 'SmsData', table: 'Row' },
  columns: {
    'sent.FetchSentDS': [
      { name: 'SmsID', type: 'int', from: 'id' },
      { name: 'ToNumber', type: 'string', from: 'recipient' },
      { name: 'Body', type: 'string', from: 'message' },
      { name: 'Status', type: 'string', from: 'delivery_status' },
      { name: 'ClientRef', type: 'string', from: 'user_message_id' },
      { name: 'SentOn', type: 'dateTime', from: 'timestamp_sent' },
      { name: 'UpdatedOn', type: 'dateTime', from: 'timestamp_updated' },
      { name: 'Seen', type: 'int', from: 'marked' },
    ],
  },
  statusWords: { DELIVERED: 'Delivered to handset', UNDELIVERABLE: 'Failed' },
  dates: { zone: 'offset', timeZone: 'Europe/Berlin', fractionDigits: 3 },
  groupId: 'zero',
  emptyStrings: 'empty',
};

const rows = (make: (index: number) => object): object[] => Array.from({ length: ROWS }, (_, index) => make(index));
const VALUES: Readonly<Record<string, object[]>> = {
  'inbox.Unread': rows((index) => ({
    id: BigInt(1_000 + index),
    sender: `+2782555${1_000 + index}`,
    message: 'Is the market open today, and until when?',
    short_code: '31000',
    timestamp: START + index * 61_123,
  })),
  'sent.FetchSentDS': rows((index) => ({
    id: BigInt(2_000 + index),
    user_message_id: `order-${index}`,
    recipient: `+2782555${1_000 + index}`,
    message: 'Your order is ready for collection.',
    delivery_status: 'DELIVERED',
    timestamp_sent: START + index * 61_123,
    timestamp_updated: START + index * 61_123 + 5_250,
    marked: index % 2 === 0,
  })),
  'account.FetchContacts': rows((index) => ({
    name: 'Anna',
    surname: index % 2 === 0 ? null : 'Müller',
    id: String(index),
    mobile: `+2782555${1_000 + index}`,
    groupid: index % 3 === 0 ? null : '1',
  })),
};

type Write = (value: unknown) => string;
type Compile = (type: ResultType, name: string) => Write;

const ours =
  (dialect: Dialect): Compile =>
  (type, name) =>
    resultWriter(type, 'Result', '', compact, 1, resultForm(dialect, name)).whole;

/** The writers of another checkout know no dialect. */
async function before(folder: string): Promise<Compile> {
  const path = join(resolve(folder), 'src/asmx/results/result-writer.ts');
  const other = (await import(pathToFileURL(path).href)) as { resultWriter: typeof resultWriter };
  return (type) => other.resultWriter(type, 'Result', '', compact, 1).whole;
}

const write = (compile: Compile) =>
  Object.fromEntries(
    Object.entries(VALUES).map(([name, values]) => {
      const [group = '', operation = ''] = name.split('.');
      const writeResult = compile((contract as Contract)[group]?.[operation]?.result as ResultType, name);
      return [
        `${operation}, µs`,
        async () => {
          const startedAt = process.cpuUsage();
          for (let call = 0; call < CALLS; call++) writeResult(values);
          const { user, system } = process.cpuUsage(startedAt);
          return (user + system) / CALLS;
        },
      ];
    }),
  );

const { BEFORE } = process.env;
const results = await rounds({
  ...(BEFORE && { 'before dialects': write(await before(BEFORE)) }),
  'no dialect': write(ours(NO_DIALECT)),
  'a dialect of every entry': write(ours(DIALECT)),
});
heading('Dialects', `Writing a result of ${ROWS} rows, ${CALLS} a round.`);
const { head, rows: lines } = comparison(results, BEFORE ? 'before dialects' : 'no dialect');
printTable(head, lines);
