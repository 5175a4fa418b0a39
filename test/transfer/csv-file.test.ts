import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CONTACT_COLUMNS } from '../../src/transfer/contact-csv.ts';
import { openCsvFile } from '../../src/transfer/csv-file.ts';
import { freshPath } from '../support/command.ts';

describe('files of CSV', () => {
  const texts = async (content: Uint8Array | string, named: Readonly<Record<string, string>> = {}) => {
    const path = freshPath('csv');
    writeFileSync(path, content);
    const way = (name: string) => `--column ${name}="Header"`;
    const file = await openCsvFile(path, CONTACT_COLUMNS, { named: new Map(Object.entries(named)), way });
    const rows: [number, string | undefined][] = [];
    for await (const { line, cells } of file.rows) rows.push([line, cells.name?.text]);
    return { ...file, rows };
  };

  test('UTF-8, UTF-16 and Windows-1252 are recognised, in files of any size', async () => {
    const content = `mobile;name\n1;Jörg\n${'2;x\n'.repeat(20_000)}3;Ünal\n`;
    const utf16 = Buffer.from(`\ufeff${content}`, 'utf16le');
    const encoded = {
      'utf-8': [Buffer.from(content), Buffer.from(`\ufeff${content}`)],
      'utf-16le': [utf16, Buffer.from(content, 'utf16le')],
      'utf-16be': [Buffer.from(utf16).swap16()],
      'windows-1252': [Buffer.from(content, 'latin1')],
    };
    for (const [encoding, files] of Object.entries(encoded)) {
      for (const bytes of files) {
        const file = await texts(bytes);
        assert.deepEqual([file.encoding, file.delimiter], [encoding, ';']);
        assert.deepEqual(
          [file.rows[0], file.rows.at(-1)],
          [
            [2, 'Jörg'],
            [20_003, 'Ünal'],
          ],
        );
      }
    }
  });

  test('the line of a row counts lines in quotes, empty lines and the hint of a spreadsheet', async () => {
    const file = await texts('sep=;\r\nmobile;name\r\n1;"a\r\nb"\r\n\r\n2;c\r\n');
    assert.deepEqual(file.rows, [
      [3, 'a\r\nb'],
      [6, 'c'],
    ]);
  });

  test('a column that is missing is reported with the columns of the file and those that are needed', async () => {
    await assert.rejects(texts('Handy Nr;Vorname\n1;a\n'), {
      message:
        'columns: the first row names no column for mobile; choose one with --column mobile="Header". ' +
        'The first row has "Handy Nr", "Vorname". Needed: mobile',
    });
  });

  test('a column is left out by an empty header', async () => {
    const file = await texts('mobile,name\n1,a\n', { name: '' });
    assert.deepEqual(file.rows, [[2, undefined]]);
  });
});
