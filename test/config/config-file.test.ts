import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseConfigFile } from '../../src/config/config-file.ts';
import { readConfig } from '../../src/config/settings.ts';

const PATH = '/etc/columba/columba.conf';
const parse = (text: string) => parseConfigFile(PATH, Buffer.from(text));
const valuesOf = (text: string) => Object.fromEntries([...parse(text).lines].map(([key, { value }]) => [key, value]));

describe('a file of settings', () => {
  test('a file of settings is read as systemd reads an EnvironmentFile: comments, quotes, and no # inside of a value', () => {
    const text = [
      '\uFEFF# a comment',
      '; another',
      '   ',
      'A=plain value # with this ',
      ' B = no',
      'B="quoted \\"value\\" \\\\ \\$"',
      'C=\'single "quoted" \\ value\'',
      'D=',
      'E=a=b\r',
    ].join('\n');
    assert.deepEqual(valuesOf(text), {
      A: 'plain value # with this',
      B: 'quoted "value" \\ $',
      C: 'single "quoted" \\ value',
      D: '',
      E: 'a=b',
    });
    assert.deepEqual(parse(text).mistakes, [`${PATH}:5: expected KEY=value on one line`]);
  });

  test('mistakes are reported with file and line, all at once, and never with a secret', () => {
    const file = parse(
      [
        'COLUMBA_PORT=70000',
        'COLUMBA_PROT=1',
        'PGPASSWORD=SECRET',
        'SECRET',
        'COLUMBA_LOG_KEY="SECRET',
        'COLUMBA_DATABASE=mysql://u:SEC@RET/SECRET@h/d',
        'COLUMBA_REGION=za',
        'COLUMBA_REGION=ZA',
      ].join('\n'),
    );
    assert.throws(
      () => readConfig({}, {}, file),
      ({ message }: Error) => {
        const lines = message.split('\n').map((line) => line.replace(`${PATH}:`, ''));
        assert.deepEqual(
          lines.map((line) => line.split(/: (?:expected|there)/)[0]).sort(),
          [
            '1: COLUMBA_PORT',
            '2: COLUMBA_PROT',
            '3: PGPASSWORD',
            '4',
            '5',
            '6: COLUMBA_DATABASE',
            '7: COLUMBA_REGION',
          ].concat('8: COLUMBA_REGION is also in line 7'),
        );
        assert.doesNotMatch(message, /SEC|RET/);
        return true;
      },
    );
  });

  test('a relative path in a file of settings is relative to its folder, and one of an option or a variable is not changed', () => {
    const file = parse('COLUMBA_DATABASE=sqlite:data/own.db');
    assert.equal(readConfig({}, {}, file).database, 'sqlite:/etc/columba/data/own.db');
    assert.equal(readConfig({}, {}, parse('')).database, 'sqlite:/etc/columba/data/columba.db');
    assert.equal(readConfig({ COLUMBA_DATABASE: 'sqlite:x.db' }, {}, file).database, 'sqlite:x.db');
    assert.equal(readConfig({}, { database: 'sqlite:y.db' }, file).database, 'sqlite:y.db');
    assert.equal(readConfig({}).database, 'sqlite:data/columba.db');
    const absolute = parse('COLUMBA_DATABASE=sqlite:/var/lib/columba/own.db');
    assert.equal(readConfig({}, {}, absolute).database, 'sqlite:/var/lib/columba/own.db');
  });

  test('bytes that are not UTF-8 are refused', () => {
    assert.throws(() => parseConfigFile(PATH, Buffer.from([0x41, 0x3d, 0xe9])), {
      message: `${PATH}: the file is not UTF-8`,
    });
  });
});
