import assert from 'node:assert/strict';
import { php } from '../../test/support/peers.ts';
import { rowsOfDiffgram } from './answers.ts';
import { makeWith, tagged } from './programs.ts';
import { runStories } from './stories.ts';

/** SoapClient of PHP, from the WSDL. */
runStories({
  name: 'PHP SoapClient',
  peer: php(),
  quirks: ['dateTime is text', 'columns are texts', 'refuses incomplete calls'],
  argument: tagged,
  make: (calls, target) =>
    makeWith('calls.php', calls, target, {
      responseOf: (_, answer) => answer as Readonly<Record<string, unknown>>,
      errorOf: (detail) => (detail as { error: unknown }).error,
    }),
  rowsOf(dataSet) {
    const { schema, any } = dataSet as { schema: string; any: string };
    assert.match(schema, /^<xs:schema [\s\S]*<\/xs:schema>$/);
    return rowsOfDiffgram(any);
  },
});
