import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

/** Every row of docs/CONFORMANCE.md names a test that exists and is about it, and every such test has its row. */

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Row {
  readonly file: string;
  /** R and T numbers; none for a case of our own. */
  readonly numbers: readonly string[];
  readonly stand: string;
  readonly test: string;
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The head of a table says in which file its tests are. */
function rowsOf(text: string): Row[] {
  let file = '';
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('|') || /^\|[-| ]+$/.test(line)) return [];
    const head = /test in `(test\/interop\/[\w.-]+)`/.exec(line);
    if (head) {
      file = head[1] as string;
      return [];
    }
    const cells = cellsOf(line);
    const numbers = (cells[0] as string).match(/[RT]\d+/g) ?? [];
    return [{ file, numbers, stand: cells.at(-2) as string, test: cells.at(-1) as string }];
  });
}

const rows = rowsOf(read('docs/CONFORMANCE.md'));
const files = ['test/interop/wsi.test.ts', 'test/interop/wsi-description.test.ts', 'test/interop/soap12.test.ts'];

/** What is registered as a test: the first argument of a call, or the name of a case. */
const namesIn = (source: string): string[] =>
  [...source.matchAll(/(?:\b(?:test|describes)\(\s*|\bname: )'([^']+)'/g)].map((match) => match[1] as string);

describe('docs/CONFORMANCE.md', () => {
  test('docs/CONFORMANCE.md has both tables: WS-I Basic Profile with messages, HTTP and description, and the SOAP 1.2 collection', () => {
    assert.deepEqual([...new Set(rows.map(({ file }) => file))], files);
    assert.ok(rows.length > 90, `${rows.length} rows`);
  });

  test('every row names a test that exists, and has its numbers in its name', () => {
    const names = new Map(files.map((file) => [file, namesIn(read(file))]));
    const wrong = rows.filter(
      ({ file, numbers, test: name }) =>
        !names.get(file)?.includes(name) ||
        (name.match(/\b[RT]\d+/g) ?? []).sort().join() !== [...numbers].sort().join(),
    );
    assert.deepEqual(wrong, []);
  });

  test('docs/CONFORMANCE.md has one row for every test', () => {
    for (const file of files) {
      const cited = rows.filter((row) => row.file === file).map((row) => row.test);
      assert.deepEqual(cited.toSorted(), namesIn(read(file)).toSorted(), file);
    }
  });

  test('every row says whether the rule holds, and the rows that differ by design are the agreed ones', () => {
    for (const { stand, test: name } of rows) assert.ok(stand.length > 0, name);
    const differing = rows.filter(({ stand }) => stand.includes('differs by design')).flatMap(({ numbers }) => numbers);
    assert.deepEqual(differing, [
      'R1015',
      'R2102',
      'R2110',
      'R2112',
      'R2401',
      'R2711',
      'R2740',
      'T14',
      'T25',
      'T26',
      'T28',
      'T39',
      'T64',
      'T65',
      'T69',
      'T70',
      'T71',
      'T72',
      'T80',
    ]);
  });
});
