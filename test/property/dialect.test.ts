import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Contract, Fields, ScalarName } from '../../src/asmx/contract/types.ts';
import { COLUMN_TYPES, type Dialect, SHOWN_AS, statusOfWord, statusWord } from '../../src/asmx/dialect/dialect.ts';
import { parseDialect } from '../../src/asmx/dialect/dialect-file.ts';
import { DELIVERY_STATUSES } from '../../src/domain/messages/statuses.ts';
import { readAnswer } from '../../src/migration/old-server/answer.ts';
import { createTestEndpoint } from '../support/endpoint.ts';
import { PROTOCOLS, requestOf } from '../support/protocols.ts';
import { carried, runs, xmlText } from './arbitraries.ts';

/** Any dialect: what it writes is read back through it as the same values. */

const name = fc.string({ unit: fc.constantFrom(...'abcXYZ_'), minLength: 1, maxLength: 8 });
const dateForm = fc.record(
  {
    zone: fc.constantFrom('Z' as const, 'offset' as const, 'none' as const),
    // Without clock changes, because a repeated hour has no zone to tell it apart.
    timeZone: fc.constantFrom('UTC', '+02:00', 'Africa/Johannesburg', 'Asia/Kathmandu'),
    fractionDigits: fc.constantFrom('trimmed' as const, 3, 7),
  },
  { requiredKeys: ['zone', 'timeZone'] },
);
const words = fc
  .uniqueArray(name, { minLength: 10, maxLength: 10 })
  .map((theirs) => Object.fromEntries(DELIVERY_STATUSES.map((ours, index) => [ours, theirs[index] as string])));

const DATASETS = Object.entries(contract as Contract).flatMap(([group, operations]) =>
  Object.entries(operations).flatMap(([operation, { result }]) =>
    result.kind === 'dataSet' ? [{ group, operation, columns: result.columns }] : [],
  ),
);

/** Each of our columns once, in any order, as any type that keeps its value. */
const columnsFor = (columns: Fields) =>
  fc
    .tuple(
      fc.shuffledSubarray(Object.keys(columns), { minLength: Object.keys(columns).length }),
      fc.uniqueArray(name, { minLength: 10, maxLength: 10 }),
      fc.nat(),
    )
    .map(([order, names, choice]) => [
      ...order.map((from, index) => {
        const ours = columns[from]?.name as ScalarName;
        const types = ours === 'string' ? ['string' as const] : SHOWN_AS[ours];
        return { name: names[index] as string, type: types[choice % types.length] as (typeof types)[number], from };
      }),
      { name: names[9] as string, type: 'string' as const, constant: 'x' },
    ]);

const anyValue: Record<ScalarName, fc.Arbitrary<unknown>> = {
  string: fc.option(
    xmlText(50)
      .map(carried)
      .filter((text) => text !== ''),
  ),
  int: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  long: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  boolean: fc.boolean(),
  dateTime: fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2090, 0, 1) }),
};
const fieldOf = (field: string, type: ScalarName): fc.Arbitrary<unknown> => {
  if (field === 'delivery_status') return fc.constantFrom(...DELIVERY_STATUSES);
  return field === 'groupid' ? fc.option(fc.integer({ min: 1 }).map(String)) : anyValue[type];
};
const rowOf = (columns: Fields) =>
  fc.record(Object.fromEntries(Object.entries(columns).map(([field, type]) => [field, fieldOf(field, type.name)])));

const exchange = fc.constantFrom(...DATASETS).chain((dataSet) =>
  fc.record({
    dataSet: fc.constant(dataSet),
    protocol: fc.constantFrom(...PROTOCOLS),
    rows: fc.array(rowOf(dataSet.columns), { maxLength: 3 }),
    dialect: fc.record<Dialect>(
      {
        dataSet: fc
          .record({ name, table: name, dates: dateForm }, { requiredKeys: [] })
          .filter((each) => (each.name ?? 'NewDataSet') !== (each.table ?? 'Table')),
        columns: columnsFor(dataSet.columns).map((columns) => ({ [`${dataSet.group}.${dataSet.operation}`]: columns })),
        statusWords: words,
        dates: dateForm,
        groupId: fc.constantFrom('absent', 'empty', 'zero'),
        emptyStrings: fc.constantFrom('absent', 'empty'),
        booleanWords: fc.constantFrom(
          { true: 'Y', false: 'N' },
          { true: ['oui', 'o'], false: 'non' },
          { false: 'never' },
        ),
      },
      { requiredKeys: [] },
    ),
  }),
);

describe('writing and reading with a dialect', () => {
  test('a DataSet of any dialect is read back through it as the same values', async () => {
    await fc.assert(
      fc.asyncProperty(exchange, async ({ dataSet: { group, operation, columns }, protocol, rows, dialect }) => {
        parseDialect(dialect);
        const endpoint = createTestEndpoint(async () => rows, 'UTC', dialect);
        const given = { user_id: 'u', max: 9, max_count: 9, groupid: 1 };
        const answer = await endpoint.send(requestOf(protocol, group, operation, given));
        const read = readAnswer(
          group,
          operation,
          protocol,
          {
            status: answer.status,
            contentType: String(answer.headers['Content-Type']),
            body: Buffer.from(answer.text),
          },
          dialect,
        );
        assert.equal(read.kind, 'value', answer.text);
        const value = read.kind === 'value' ? read.value : undefined;
        const ordered = rows.map((row) =>
          Object.fromEntries(Object.keys(columns).map((column) => [column, row[column]])),
        );
        assert.deepEqual(value, ordered);
      }),
      runs(300),
    );
  });

  test('a status is read back from its word, whatever words a dialect has', () => {
    fc.assert(
      fc.property(words, fc.constantFrom(...DELIVERY_STATUSES), (statusWords, ours) => {
        const dialect: Dialect = { statusWords };
        assert.equal(statusOfWord(dialect, statusWord(dialect, ours), DELIVERY_STATUSES), ours);
      }),
      runs(300),
    );
  });

  test('of several words the first is written and each is read; an unknown word is no status', () => {
    const dialect: Dialect = { statusWords: { DELIVERED: ['OK', 'Sent'], QUEUED: 'Pending', SUBMITTED: 'Pending' } };
    const read = (word: string) => statusOfWord(dialect, word, DELIVERY_STATUSES);
    assert.equal(statusWord(dialect, 'DELIVERED'), 'OK');
    assert.deepEqual(['OK', 'Sent'].map(read), ['DELIVERED', 'DELIVERED']);
    assert.equal(read('Pending'), 'QUEUED');
    assert.equal(read('EXPIRED'), 'EXPIRED');
    assert.equal(read('DELIVERED'), undefined);
    assert.equal(read('toString'), undefined);
    assert.equal(statusWord(dialect, 'toString'), 'toString');
  });

  test('every type that a column can be shown as is a type of a column', () => {
    for (const types of Object.values(SHOWN_AS)) for (const type of types) assert.ok(COLUMN_TYPES.includes(type));
  });
});
