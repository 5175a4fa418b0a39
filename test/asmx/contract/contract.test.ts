import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  AccountDetail,
  Contact,
  contract,
  DeliveryStatus,
  Group,
  ReceivedMessage,
} from '../../../src/asmx/contract/contract.ts';
import type { Fields, Operation, ParameterType, RecordType, ResultType } from '../../../src/asmx/contract/types.ts';
import { wsdl } from '../../../src/asmx/pages/wsdl.ts';
import { rootName } from '../../../src/asmx/results/result-writer.ts';
import { onOneEngine } from '../../support/engines.ts';
import { startService } from '../../support/service.ts';

/** Holds the table against tables.md: both are written as rows of text, and the rows must be the same in the same order. */
type Rows = string[][];

const TABLES = readTables(readFileSync(new URL('tables.md', import.meta.url), 'utf8'));
const RECORDS: readonly RecordType[] = [AccountDetail, Contact, Group, ReceivedMessage, DeliveryStatus];
const GROUPS: [string, Readonly<Record<string, Operation>>][] = Object.entries(contract);

/** By the title of the part and the title of the table; without the head and the line under it. */
function readTables(text: string): Map<string, Map<string, Rows>> {
  const parts = text.split(/^## /m).slice(1);
  return new Map(parts.map((part) => [titleOf(part), new Map(part.split(/^### /m).slice(1).map(readTable))]));
}

function titleOf(part: string): string {
  return part.split('\n', 1)[0] as string;
}

function readTable(part: string): [string, Rows] {
  const lines = part.split('\n').filter((line) => line.startsWith('|'));
  const rows = lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return [titleOf(part), rows];
}

function part(title: string): [string, Rows][] {
  const tables = TABLES.get(title);
  assert.ok(tables, `tables.md has no part ${title}`);
  return [...tables];
}

const fieldRows = (fields: Fields): Rows => Object.entries(fields).map(([name, type]) => [name, type.name]);

const typeText = (type: ParameterType): string => (type.kind === 'list' ? `list of ${type.item.name}` : type.name);

/** One account has one profile; of contacts there are many, and the tables say that it is one of them. */
function resultText(type: ResultType): string {
  if (type.kind === 'dataSet') return 'DataSet';
  if (type.kind === 'list') return `list of ${type.item.name}`;
  return type === Contact ? `one ${type.name}` : type.name;
}

const pairsText = (types: Readonly<Record<string, ParameterType>>): string =>
  Object.entries(types)
    .map(([name, type]) => `${name}: ${typeText(type)}`)
    .join('; ');

const operationRows = (group: Readonly<Record<string, Operation>>): Rows =>
  Object.entries(group).map(([name, { parameters, result }]) => [
    name,
    pairsText(parameters),
    resultText(result),
    rootName(result),
  ]);

describe('the contract', () => {
  test('tables.md has 5 records, 4 groups with 16, 8, 5 and 3 operations, and 5 DataSets', () => {
    assert.deepEqual(
      part('Records').map(([name, rows]) => `${name} ${rows.length}`),
      ['AccountDetail 17', 'Contact 5', 'Group 3', 'ReceivedMessage 5', 'DeliveryStatus 4'],
    );
    assert.deepEqual(
      part('Operations').map(([path, rows]) => `${path} ${rows.length}`),
      ['/api/account.asmx 16', '/api/inbox.asmx 8', '/api/sent.asmx 5', '/api/compose.asmx 3'],
    );
    assert.equal(part('DataSets')[0]?.[1].length, 5);
  });

  for (const [name, rows] of part('Records')) {
    test(`${name} has the fields of the tables, with their types, in their order`, () => {
      const found = RECORDS.find((candidate) => candidate.name === name);
      assert.ok(found, `there is no record ${name}`);
      assert.deepEqual(
        fieldRows(found.fields),
        rows.map(([field, type]) => [field, type]),
      );
    });
  }

  test('there are no records besides those of the tables, and every record of a result is one of them', () => {
    const used = GROUPS.flatMap(([, group]) => Object.values(group)).flatMap(({ result }) => {
      const type = result.kind === 'list' ? result.item : result;
      return type.kind === 'record' ? [type] : [];
    });
    assert.deepEqual(new Set(used), new Set(RECORDS));
    assert.deepEqual(
      RECORDS.map(({ name }) => name),
      part('Records').map(([name]) => name),
    );
  });

  for (const [path, rows] of part('Operations')) {
    const name = path.replace(/^\/api\/(.*)\.asmx$/, '$1');
    test(`${name} has the operations of the tables: names, parameters, results and roots, in their order`, () => {
      const group = GROUPS.find(([candidate]) => candidate === name)?.[1];
      assert.ok(group, `there is no group ${name}`);
      assert.deepEqual(operationRows(group), rows);
    });
  }

  test('there are no groups besides those of the tables, and they are in the same order', () => {
    assert.deepEqual(
      GROUPS.map(([name]) => `/api/${name}.asmx`),
      part('Operations').map(([path]) => path),
    );
  });

  test('the DataSets have the columns of the tables, with their types, in their order', () => {
    const found = GROUPS.flatMap(([, group]) =>
      Object.entries(group).flatMap(([name, { result }]) =>
        result.kind === 'dataSet' ? [[name, pairsText(result.columns)]] : [],
      ),
    );
    assert.deepEqual(found, part('DataSets')[0]?.[1]);
  });

  test('an operation returns a DataSet exactly where its name ends in DS', () => {
    for (const [name, { result }] of GROUPS.flatMap(([, group]) => Object.entries(group))) {
      assert.equal(result.kind === 'dataSet', name.endsWith('DS'), name);
    }
  });

  test('every operation takes user_id first, as a string, and says what it does in one line', () => {
    for (const [name, { parameters, summary }] of GROUPS.flatMap(([, group]) => Object.entries(group))) {
      assert.equal(pairsText(parameters).split('; ')[0], 'user_id: string', name);
      assert.match(summary, /^[A-Z][^\n]+\.$/, name);
    }
  });

  test('the WSDL says which fields of a received message may be absent', () => {
    const text = wsdl('inbox', contract.inbox, 'http://sms.example/api')('http://localhost');
    const type = /<s:complexType name="ReceivedMessage">([\s\S]*?)<\/s:complexType>/.exec(text)?.[1] ?? '';
    const found = [...type.matchAll(/minOccurs="(\d)" maxOccurs="1" name="(\w+)" type="s:(\w+)"/g)];
    const rows = part('Records').find(([name]) => name === 'ReceivedMessage')?.[1];
    assert.deepEqual(
      found.map(([, least, name, type]) => [name, type, least === '1' ? 'yes' : 'no']),
      rows,
    );
  });

  test('the WSDL says that the inbox needs from, to and max_count, and neither user_id nor message_id', () => {
    const text = wsdl('inbox', contract.inbox, 'http://sms.example/api')('http://localhost');
    const needed: Record<string, string> = { user_id: '0', message_id: '0', from: '1', to: '1', max_count: '1' };
    const names = Object.values(contract.inbox).flatMap(({ parameters }) => Object.keys(parameters));
    assert.deepEqual(new Set(names), new Set(Object.keys(needed)));
    for (const [name, least] of Object.entries(needed)) {
      const said = [...text.matchAll(new RegExp(`minOccurs="(\\d)" maxOccurs="1" name="${name}"`, 'g'))];
      assert.deepEqual(new Set(said.map((match) => match[1])), new Set([least]), name);
    }
  });
});

onOneEngine('the addresses of the contract', (engine) => {
  test('every group answers at its path with a WSDL that has its operations, and no other path answers', async () => {
    const service = await startService(engine);
    try {
      for (const [path, rows] of part('Operations')) {
        const { status, text } = await service.send({ path, query: 'wsdl' });
        assert.equal(status, 200, path);
        const port = /<wsdl:portType name="\w+Soap">([\s\S]*?)<\/wsdl:portType>/.exec(text)?.[1] ?? '';
        assert.deepEqual(
          [...port.matchAll(/<wsdl:operation name="(\w+)"/g)].map((match) => match[1]),
          rows.map(([name]) => name),
        );
        assert.match(text, new RegExp(`location="http://127\\.0\\.0\\.1:18080${path.replaceAll('.', '\\.')}"`));
      }
      for (const path of ['/api/contacts.asmx', '/api/accounts.asmx', '/account.asmx', '/api/account', '/api/']) {
        assert.equal((await service.send({ path, query: 'wsdl' })).status, 404, path);
      }
    } finally {
      await service.stop();
    }
  });
});
