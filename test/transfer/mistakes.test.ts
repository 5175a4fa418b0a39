import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { invalidUtf8 } from '../../src/transfer/import-source.ts';
import { jsonErrorAt, locationOf } from '../../src/transfer/json-error.ts';
import { runs } from '../property/arbitraries.ts';
import { columba, freshDatabase, freshPath } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';
import { account, document, exportText, importText, lines, withService } from '../support/import-files.ts';

/** What is wrong with a file, and where. */

describe('the place where a text is no JSON', () => {
  const CASES: [text: string, at: number][] = [
    ['', 0],
    ['{"a":1', 6],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['["a\nb"]', 3],
    ['["\\x"]', 2],
    ['["\\u12g4"]', 2],
    ['[01]', 2],
    ['[tru]', 1],
    ['[1]]', 3],
    ['1 2', 2],
    ['"abc', 4],
    ['[}', 1],
    ['{"a":}', 5],
  ];
  for (const [text, at] of CASES) test(JSON.stringify(text), () => assert.equal(jsonErrorAt(text), at));

  test('the place of a JSON syntax error is behind everything that JSON.parse takes, and before the end where it does not', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', ']', '"', ':', 'x', '\\', '\n', '0', '-'))
      .map(([text, at, piece]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + (at % 2));
      });
    const isJson = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(damaged, (text) => {
        const at = jsonErrorAt(text);
        if (isJson(text)) assert.equal(at, text.length);
        // A text up to there can be completed, so it is never wrong before its end.
        else assert.equal(jsonErrorAt(text.slice(0, at)), at);
      }),
      runs(1_000),
    );
  });

  test('lines and columns count from 1', () => {
    assert.deepEqual(locationOf('ab\ncd\n', 0), { line: 1, column: 1 });
    assert.deepEqual(locationOf('ab\ncd\n', 2), { line: 1, column: 3 });
    assert.deepEqual(locationOf('ab\ncd\n', 4), { line: 2, column: 2 });
    assert.deepEqual(locationOf('ab\ncd\n', 6), { line: 3, column: 1 });
  });
});

test('the place of the first byte that is not UTF-8 is right whatever stands before it', () => {
  const wrong = fc.constantFrom([0xe9], [0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xef, 0xbf]);
  const before = fc.array(fc.constantFrom('a', 'é', '😀', '\uFFFD', '\n'), { maxLength: 20 });
  fc.assert(
    fc.property(before, wrong, (pieces, bytes) => {
      const text = pieces.join('');
      const found = invalidUtf8(Buffer.concat([Buffer.from(text), Buffer.from(bytes), Buffer.from('"\n\uFFFD')]));
      assert.deepEqual(found, { byte: Buffer.byteLength(text), ...locationOf(text, text.length) });
    }),
    runs(300),
  );
});

onOneEngine('an import with mistakes', (engine) => {
  test('an import reports all mistakes of an account, not only the first, and one mistake for a value that is no object', () =>
    withService(engine, async ({ app }) => {
      const wrong = account('bad', {
        credits: 'many',
        region: 'za',
        colour: 'red',
        shape: 1,
        userID: '',
        datetimeCreated: undefined,
        contacts: [5, { id: 'x', groupid: 9 }, { id: 1 }, { id: 1 }],
        groups: {},
        inbox: [{}],
      });
      const { mistakes, refused, mistakesLeftOut } = await importText(app, lines(wrong));
      assert.deepEqual([refused, mistakesLeftOut], [1, 0]);
      assert.deepEqual(
        mistakes.map((mistake) => mistake.replace('line 1 (bad): ', '')).sort(),
        [
          'datetimeCreated: missing',
          'region: expected a country code such as ZA',
          'userID: expected 1 to 128 characters',
          'credits: expected a whole number of 64 bits',
          'contacts[0]: expected an object',
          'contacts[1].id: expected a whole number of 64 bits',
          'inbox[0].id: missing',
          'inbox[0].timestamp: missing',
          'inbox[0].read: missing',
          'groups: expected a list',
          'contacts[3].id: the same as in contacts[2]',
          'contacts[1].groupid: there is no such group',
          'colour: there is no such field',
          'shape: there is no such field',
        ].sort(),
      );
    }));

  test('an import reports at most 100 mistakes and counts the others', () =>
    withService(engine, async ({ app }) => {
      const many = (name: string) => account(name, { inbox: Array.from({ length: 150 }, () => ({ colour: 1 })) });
      for (const text of [document(many('a')), lines(...['a', 'b', 'c'].map(many))]) {
        const { mistakes, mistakesLeftOut, refused } = await importText(app, text);
        assert.equal(mistakes.length, 100);
        assert.equal(mistakesLeftOut, refused * 150 * 4 - 100);
      }
    }));

  test('a mistake of an import is reported in one line of bounded length, whatever the names of fields are', () =>
    withService(engine, async ({ app }) => {
      const { mistakes } = await importText(app, lines(account('a', { [`\u001b[2J\n${'x'.repeat(10_000)}`]: 1 })));
      assert.match(mistakes.join(), /^line 1 \(a\): …\[2J…x+$/);
      assert.ok((mistakes[0] as string).length <= 300);
    }));

  test('bytes that are not UTF-8 are refused with their place, and never become U+FFFD', () =>
    withService(engine, async ({ app }) => {
      const latin1 = (text: string) => Buffer.from(text, 'latin1');
      const text = lines(account('good'), account('bad', { company: 'Caf\u00e9' }), account('also good'));
      const { accounts, mistakes } = await importText(app, latin1(text));
      assert.equal(accounts, 2);
      const at = text.indexOf('\u00e9');
      const column = at - text.lastIndexOf('\n', at);
      assert.deepEqual(mistakes, [
        `line 2: not UTF-8 at byte ${at} (column ${column}); save the file as UTF-8, or name its encoding, such as windows-1252`,
      ]);
      const json = `{"accounts": [\n${JSON.stringify(account('bad', { company: 'Caf\u00e9' }))}]}`;
      const place = json.indexOf('\u00e9');
      await assert.rejects(importText(app, latin1(json)), ({ message }: Error) => {
        assert.match(message, new RegExp(`: not UTF-8 at byte ${place} \\(line 2, column ${place - 14}\\); `));
        return true;
      });
      assert.doesNotMatch(await exportText(app, true), /\uFFFD/);
    }));

  test('a replacement character that the file itself holds is kept', () =>
    withService(engine, async ({ app }) => {
      assert.deepEqual((await importText(app, lines(account('a', { company: '\uFFFD' })))).mistakes, []);
      assert.equal(JSON.parse(await exportText(app, true)).company, '\uFFFD');
    }));
});

describe('columba import --encoding', () => {
  const text = document(account('a', { company: 'Café ’quoted’ €' }));
  const ENCODED: [name: string, bytes: Buffer][] = [
    ['windows-1252', Buffer.from(text.replaceAll('’', '\x92').replaceAll('€', '\x80'), 'latin1')],
    ['latin1', Buffer.from(text.replaceAll('’', '\x92').replaceAll('€', '\x80'), 'latin1')],
    ['utf-16le', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['utf-8', Buffer.from(`\uFEFF${text}`)],
  ];
  for (const [encoding, bytes] of ENCODED) {
    test(`${encoding} is read as it is meant`, async () => {
      const [file, database] = [freshPath('json'), freshDatabase()];
      writeFileSync(file, bytes);
      const { code, stderr } = await columba(['import', file, '--encoding', encoding, '--database', database]);
      assert.deepEqual([code, stderr], [0, '']);
      const { stdout } = await columba(['export', '--database', database]);
      assert.equal(JSON.parse(stdout).accounts[0].company, 'Café ’quoted’ €');
    });
  }

  test('bytes that are not of the encoding are refused', async () => {
    const file = freshPath('json');
    writeFileSync(file, Buffer.from([...Buffer.from('{"accounts":[]}', 'utf16le'), 0x00, 0xd8, 0x00]));
    const { code, stderr } = await columba(['import', file, '--encoding=utf-16le', '--database', freshDatabase()]);
    assert.deepEqual([code, stderr], [1, `columba: ${file}: the file is not utf-16le\n`]);
  });

  test('an unknown encoding is a usage error', async () => {
    const { code, stderr } = await columba(['import', 'x', '--encoding', 'klingon', '--database', freshDatabase()]);
    assert.equal(code, 2);
    assert.match(stderr, /^columba: option '--encoding <NAME>' argument 'klingon' is invalid\. [^\n]+\n$/);
  });

  test('no more than 100 mistakes are printed, and how many more there are', async () => {
    const file = freshPath('ndjson');
    writeFileSync(file, lines(...Array.from({ length: 1_234 }, () => 5)));
    const { code, stdout, stderr } = await columba(['import', file, '--database', freshDatabase()]);
    assert.deepEqual([code, stdout], [1, 'Imported 0 accounts with 0 messages. Refused: 1,234.\n']);
    const told = stderr.trimEnd().split('\n');
    assert.deepEqual(
      [told.length, told.at(-2), told.at(-1)],
      [101, 'line 100: expected an object', '… and 1,134 more'],
    );
  });
});
