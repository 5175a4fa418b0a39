import assert from 'node:assert/strict';
import { python } from '../../test/support/peers.ts';
import { find, operationOf, type Row, readXml, rowsOfDiffgram } from './answers.ts';
import { makeWith, tagged } from './programs.ts';
import { type Call, runStories } from './stories.ts';

/** zeep, a client for Python, through both of its SOAP bindings. */
runStories({
  name: 'Python zeep',
  peer: python(),
  quirks: ['empty is null', 'absent is null', 'refuses incomplete calls'],
  argument: tagged,
  make: (calls, target) => makeWith('calls.py', calls, target, { responseOf, errorOf }),
  rowsOf,
});

/** zeep takes a value out of what holds nothing else: the Result out of the Response, the items out of a list. */
function responseOf({ group, operation }: Call, answer: unknown): Row {
  const { result } = operationOf(group, operation);
  return { [`${operation}Result`]: result.kind === 'list' && answer ? { [result.item.name]: answer } : answer };
}

function errorOf(detail: unknown): Row {
  return readXml((detail as { $xml: string }).$xml, (document) =>
    Object.fromEntries(find(document, '/*/t:error/*').map(({ name, content }) => [name, content])),
  );
}

/** It reads the rows with the schema that comes before them; without rows the diffgram stays as it was. */
function rowsOf(dataSet: unknown): Row[] {
  const { schema, _value_1: data } = dataSet as { schema: unknown; _value_1: Data };
  assert.deepEqual(schema, { $other: 'Schema' });
  return '$xml' in data ? rowsOfDiffgram(data.$xml) : data._value_1.map(({ Table }) => Table);
}

type Data = { readonly $xml: string } | { readonly _value_1: readonly { readonly Table: Row }[] };
