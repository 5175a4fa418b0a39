import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { turnNumber } from '../../src/base/event-loop.ts';
import { Problem } from '../../src/base/problem.ts';
import {
  CSV_BYTES_MAX,
  CSV_LINES_MAX,
  CSV_ROWS_MAX,
  CSV_START,
  csvLine,
  guarded,
  PIECE_LINES_MAX,
  readCsv,
  readFirstCells,
} from '../../src/transfer/csv.ts';

const COLUMNS = [
  { name: 'mobile', required: true, aliases: ['cell'] },
  { name: 'name', required: false, aliases: ['first name'] },
];

async function rowsOf(file: string | Uint8Array, named: string | null = null): Promise<string[]> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file;
  const rows: string[] = [];
  for await (const { row, cells } of readCsv(bytes, COLUMNS, named)) {
    rows.push(`${row} ${cells.mobile?.text}${cells.mobile?.isText ? ' (text)' : ''} ${cells.name?.text}`);
  }
  return rows;
}

const EXPECTED = ['2 0825550201 Zoë', '3 0825550202 Bob'];
const file = (delimiter: string, end: string) =>
  ['Mobile,Name', '0825550201,Zoë', '0825550202,Bob', ''].join(end).replaceAll(',', delimiter);

describe('readCsv', () => {
  for (const [delimiter, name] of [
    [',', 'commas'],
    [';', 'semicolons'],
    ['\t', 'tabs'],
    ['|', 'vertical bars'],
  ] as const) {
    for (const [end, lines] of [
      ['\n', 'LF'],
      ['\r\n', 'CR LF'],
      ['\r', 'CR'],
    ] as const) {
      test(`a file with ${name} and ${lines} has the same rows`, async () => {
        assert.deepEqual(await rowsOf(file(delimiter, end)), EXPECTED);
      });
    }
  }

  const text = file(';', '\r\n');
  const utf16 = Buffer.from(text, 'utf16le');
  const ENCODED: Readonly<Record<string, Uint8Array>> = {
    'UTF-8 with a mark': Buffer.from(`\uFEFF${text}`),
    'Windows-1252': Buffer.from(text, 'latin1'),
    'UTF-16LE with a mark': Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]),
    'UTF-16BE with a mark': Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(utf16).swap16()]),
    'UTF-16LE without a mark': utf16,
    'UTF-16BE without a mark': Buffer.from(utf16).swap16(),
  };
  for (const [name, bytes] of Object.entries(ENCODED)) {
    test(`a file in ${name} has the same rows`, async () => assert.deepEqual(await rowsOf(bytes), EXPECTED));
  }

  test('rows have the numbers that a spreadsheet shows: empty rows count, lines within quotes do not', async () => {
    const given = 'mobile,name\n\n1,"two\nlines"\n,,\n2,b\n';
    assert.deepEqual(await rowsOf(given), ['3 1 two\nlines', '5 2 b']);
  });

  test('a line that names the delimiter is no row', async () => {
    assert.deepEqual(await rowsOf('sep=;\r\nname;mobile\r\na,b;1\r\n'), ['2 1 a,b']);
  });

  test('quotes within quotes are doubled, and a quote within a word is an ordinary character', async () => {
    assert.deepEqual(await rowsOf('mobile,name\n1,"say ""hi"", you"\n2,Jo "J" Doe\n'), [
      '2 1 say "hi", you',
      '3 2 Jo "J" Doe',
    ]);
  });

  test('columns are found by their alternative names, and by the names that are given', async () => {
    assert.deepEqual(await rowsOf('First Name,CELL\na,1\n'), ['2 1 a']);
    assert.deepEqual(await rowsOf('Who,No.\na,1\n', 'mobile:no., name: Who'), ['2 1 a']);
  });

  const REFUSED: Readonly<Record<string, [file: string, named: string | null, message: RegExp]>> = {
    'an empty file': ['', null, /^file: it is empty$/],
    'a file without a mobile column': ['name\na\n', null, /^columns: the first row names no column for mobile/],
    'two columns that may be the mobile': ['mobile,cell\n1,2\n', null, /^columns: several columns may be mobile/],
    'a column name that is not in the file': [
      'mobile\n1\n',
      'name:Who',
      /^columns: the first row names no column for name/,
    ],
    'columns that are no pairs': ['mobile\n1\n', 'Cell', /^columns: expected pairs/],
    'a quote that is not closed': ['mobile,name\n1,a\n2,"b\n', null, /^Row 3: a quote is not closed\.$/],
    'a row with more cells than the header': [
      'mobile,name\n0825550201,Ann\n0825550202,Smith, Bob,\n',
      null,
      /^Row 3: it has 4 cells, and the header has 2; a text that contains the separator must be in quotes\.$/,
    ],
    'a file without a header': [
      '+27 82 555 0201,Ann\n',
      null,
      /^columns: there is no header; .* such as mobile,name\. The first row has "\+27 82 555 0201", "Ann"/,
    ],
    'a workbook': ['PK\x03\x04\x14\0', null, /^file: it is an Excel workbook \(\.xlsx\).* save it as "CSV UTF-8"/],
    'a file with NUL bytes': ['\uFEFFmobile,name\r\n,\0\r\n', null, /^file: it contains NUL bytes/],
    'a file with one NUL byte and no byte order mark': [
      'mobile,name\n0825550301,A\0\n',
      null,
      /^file: it contains NUL bytes/,
    ],
    'a row that is too long': [`mobile,name\n1,${'x'.repeat(70_000)}\n`, null, /^Row 2: it is too long\.$/],
  };
  for (const [name, [given, named, message]] of Object.entries(REFUSED)) {
    test(`${name} is refused with the reason`, async () => {
      await assert.rejects(rowsOf(given, named), (thrown) => thrown instanceof Problem && message.test(thrown.message));
    });
  }

  test('a row of more than 64 KiB or 1,000 cells is refused before the rest of the file is read', async () => {
    const refusal = (text: string) => rowsOf(text).then(String, (thrown: Problem) => thrown.message);
    assert.equal(await refusal(','.repeat(CSV_BYTES_MAX)), 'Row 1: it is too long.');
    assert.equal(await refusal(`mobile\n1${';'.repeat(200_000)}\n`), 'Row 2: it is too long.');
    assert.equal(await refusal(`mobile\n1${','.repeat(1_000)}\n`), 'Row 2: it has more than 1000 cells.');
    assert.deepEqual(await rowsOf(`mobile,name\n1${','.repeat(999)}\n`), ['2 1 ']);
  });

  test('more than 10 MiB or 100,000 rows are refused', async () => {
    const tooLarge = (thrown: unknown) => thrown instanceof Problem && thrown.kind === 'too-large';
    await assert.rejects(rowsOf(new Uint8Array(CSV_BYTES_MAX + 1)), tooLarge);
    await assert.rejects(rowsOf(`mobile\n${'1\n'.repeat(CSV_ROWS_MAX + 1)}`), tooLarge);
    assert.equal((await rowsOf(`mobile\n${'1\n'.repeat(CSV_ROWS_MAX)}`)).length, CSV_ROWS_MAX);
  });
});

describe('files of short rows', () => {
  test('one turn of the event loop parses at most 500 rows, however short they are', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const turns = new Map<number, number>();
      let rows = 0;
      for await (const { row, cell } of readFirstCells(Buffer.from(`0${end}`.repeat(5_000)))) {
        rows += 1;
        assert.deepEqual([row, cell.text], [rows, '0']);
        turns.set(turnNumber(), (turns.get(turnNumber()) ?? 0) + 1);
      }
      assert.equal(rows, 5_000);
      assert.ok(Math.max(...turns.values()) <= 2 * PIECE_LINES_MAX, JSON.stringify([...turns.values()]));
    }
  });

  test('empty rows are counted too, so that line ends alone are refused', async () => {
    const read = async (text: string) => {
      let rows = 0;
      for await (const _ of readFirstCells(Buffer.from(text))) rows += 1;
      return rows;
    };
    assert.equal(await read(`1${'\n'.repeat(1_000)}`), 1);
    const tooLarge = (thrown: unknown) => thrown instanceof Problem && thrown.kind === 'too-large';
    await assert.rejects(read('\n'.repeat(CSV_LINES_MAX + 1)), tooLarge);
  });
});

describe('csvLine', () => {
  test('cells that a spreadsheet would run or change begin with an apostrophe', () => {
    for (const cell of [
      '=1+1',
      '+27825550201',
      '-1',
      '@SUM(A1)',
      '\t=1',
      '0825550201',
      '1E10',
      '＝1+1',
      '＋1',
      '－1',
      '＠SUM(A1)',
    ]) {
      assert.equal(guarded(cell), `'${cell}`);
    }
    for (const cell of ['', 'Ann', '3M', 'a=b', '2026-11-15T12:00:00Z']) assert.equal(guarded(cell), cell);
  });

  test('amounts are written as numbers, so that a spreadsheet can sum them', () => {
    assert.equal(csvLine(['grant', 12n, -3n, '12', '-3']), "grant,12,-3,'12,'-3\r\n");
  });

  test('bytes after the mark of UTF-8 that are not UTF-8 are refused, and not read as another character', async () => {
    const bytes = Buffer.concat([Buffer.from(`${CSV_START}mobile,name\r\n1,Zo`), Buffer.from([0xeb, 0x0d, 0x0a])]);
    await assert.rejects(rowsOf(bytes), /^Problem: file: some of its bytes are not UTF-8; open it in a spreadsheet/);
  });

  test('empty cells beyond the header are allowed, because spreadsheets write them', async () => {
    assert.deepEqual(await rowsOf('mobile,name\n1,a,,\n'), ['2 1 a']);
  });

  test('any table that is written as CSV is read as the same table', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.stringMatching(/^['=+@-]{0,3}[\d .,;"'\t]{0,12}$/),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }), async (given) => {
        const rows = given
          .map(([mobile, name]) => [mobile.replace(/[\r\0]/g, ''), name.replace(/[\r\0]/g, '')] as const)
          .filter((row) => row.some((each) => each.trim() !== ''));
        const written = [['mobile', 'name'], ...rows].map((row) => csvLine(row)).join('');
        const read: string[][] = [];
        for await (const { cells } of readCsv(Buffer.from(CSV_START + written), COLUMNS, null)) {
          read.push([cells.mobile?.text ?? '', cells.name?.text ?? '']);
        }
        const wellFormed = rows.map((row) => row.map((each) => Buffer.from(each).toString()));
        assert.deepEqual(read, wellFormed);
      }),
      { numRuns: 200 },
    );
  });
});
