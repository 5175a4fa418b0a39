import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { guessColumns } from '../../src/transfer/contact-columns.ts';
import { type Mend, mended, readContactRows } from '../../src/transfer/contact-csv.ts';
import { readWorkbook } from '../../src/transfer/workbook.ts';

/** A zip archive as spreadsheets write it. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let start = 0;
  for (const [name, text] of Object.entries(files)) {
    const packed = deflateRawSync(Buffer.from(text));
    const head = Buffer.alloc(30 + name.length);
    head.writeUInt32LE(0x04034b50);
    head.writeUInt16LE(8, 8);
    head.writeUInt16LE(name.length, 26);
    head.write(name, 30);
    const entry = Buffer.alloc(46 + name.length);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(start, 42);
    entry.write(name, 46);
    local.push(head, packed);
    directory.push(entry);
    start += head.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(start, 16);
  return Buffer.concat([...local, ...directory, end]);
}

const workbook = (rows: string, shared = '') =>
  zip({
    'xl/workbook.xml': `<workbook xmlns="urn:m" xmlns:r="urn:r"><sheets><sheet name="Old" state="hidden" r:id="rId1"/><sheet name="Patients" r:id="rId2"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="worksheets/sheet2.xml"/></Relationships>`,
    'xl/sharedStrings.xml': `<sst>${shared}</sst>`,
    'xl/worksheets/sheet2.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  });

describe('an Excel workbook', () => {
  test('the first visible sheet is read as CSV: shared, inline and computed texts, numbers with all digits, and gaps', async () => {
    const file = workbook(
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Vor</t><t>name</t></is></c></row>' +
        '<row r="3"><c r="A3"><v>2.7825550201E10</v></c><c r="C3" t="str"><f>A1</f><v>An"na, x</v></c></row>' +
        '<row r="4"><c r="A4" s="1"/></row><row r="5"><c><v>825550304</v></c><c t="b"><v>1</v></c></row>',
      '<si><r><t>Han</t></r><r><t>dy</t></r><rPh><t>x</t></rPh></si>',
    );
    const { name, csv } = (await readWorkbook(file)) ?? assert.fail();
    assert.equal(name, 'Patients');
    assert.equal(Buffer.from(csv).toString(), 'Handy,,Vorname\r\n\r\n27825550201,,"An""na, x"\r\n\r\n825550304,1\r\n');
    const rows = await readContactRows(csv, 'mobile:Handy,name:#3');
    assert.deepEqual(
      rows.map(({ row, mobile, name: first }) => [row, mobile, first]),
      [
        [3, '27825550201', 'An"na, x'],
        [5, '825550304', ''],
      ],
    );
  });

  test('what is no workbook is left to the reader of CSV', async () => {
    assert.equal(await readWorkbook(Buffer.from('mobile\n1\n')), null);
    assert.equal(await readWorkbook(zip({ 'content.xml': '<x/>' })), null);
  });

  test('a damaged, an empty and an exploding workbook are refused in words', async () => {
    const whole = workbook('<row r="1"><c r="A1"><v>1</v></c></row>');
    for (const [file, words] of [
      [whole.subarray(0, whole.length - 30), /damaged/],
      [workbook('<row r="1"><c r="A1">'), /damaged/],
      [workbook('<row r="1"><c r="A1"><v>&boom;</v></c></row>'), /damaged/],
      [workbook(''), /first sheet is empty/],
      [workbook('<row r="300000"><c r="A1"><v>1</v></c></row>'), /rows, including empty ones/],
      [workbook('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'), /more than 1000 columns/],
      [workbook(' '.repeat(65 * 1_048_576)), /at most 67108864 bytes/],
      [workbook(' '.repeat(40 * 1_048_576), ' '.repeat(40 * 1_048_576)), /at most 67108864 bytes/],
      [workbook('<a>'.repeat(1_000_000)), /damaged/],
      [workbook(`<row ${Array.from({ length: 300 }, (_, index) => `a${index}="1"`).join(' ')}/>`), /damaged/],
      // One long text, to which every cell of a row refers.
      [
        workbook(`<row r="1">${'<c t="s"><v>0</v></c>'.repeat(1_000)}</row>`, `<si><t>${'x'.repeat(500_000)}</t></si>`),
        /at most \d+ bytes/,
      ],
    ] as const) {
      await assert.rejects(readWorkbook(file), (thrown: Error) => words.test(thrown.message));
    }
  });
});

describe('columns of contacts', () => {
  for (const [language, headers, expected] of [
    ['English', ['Title', 'First name', 'Surname', 'Mobile number'], { name: 1, surname: 2, mobile: 3 }],
    ['German', ['Vorname', 'Name', 'Telefon', 'Handy', 'Gruppe'], { name: 0, surname: 1, mobile: 3, group: 4 }],
    ['French', ['Nom', 'Prénom', 'Téléphone portable'], { surname: 0, name: 1, mobile: 2 }],
    ['Spanish', ['Nombre', 'Apellidos', 'Teléfono móvil'], { name: 0, surname: 1, mobile: 2 }],
    ['Portuguese', ['Nome', 'Sobrenome', 'Celular', 'Grupo'], { name: 0, surname: 1, mobile: 2, group: 3 }],
    ['Afrikaans', ['Naam', 'Van', 'Selfoonnommer'], { name: 0, surname: 1, mobile: 2 }],
    ['nothing that is known', ['a', 'b'], {}],
  ] as const) {
    test(`headers are recognised: ${language}`, () => {
      assert.deepEqual(guessColumns(headers), expected);
    });
  }

  test('a mended file keeps the numbers of its rows, whatever its encoding and separator', async () => {
    const file = Buffer.from('Cell;Name\n\n1;"a;b"\n2;c\n', 'latin1');
    const mends = new Map<number, Mend>([
      [3, new Map([[0, '+27825550201']])],
      [4, 'left-out'],
    ]);
    const rows = await readContactRows(await mended(file, mends), 'mobile:Cell,name:Name');
    assert.deepEqual(
      rows.map(({ row, mobile, name }) => [row, mobile, name]),
      [[3, '+27825550201', 'a;b']],
    );
  });
});
