import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timeReader } from '../../src/migration/copy/file-dates.ts';

describe('times in files', () => {
  const berlin = (format: string | null, text: string) => {
    const found = timeReader(format, 'Europe/Berlin')(text);
    return found && [new Date(found.at).toISOString(), found.unit];
  };

  test('an unambiguous time needs no format, and one that can be read in two ways needs one', () => {
    assert.deepEqual(berlin(null, '2026-07-01 10:45:30.5'), ['2026-07-01T08:45:30.500Z', 1_000]);
    assert.deepEqual(berlin(null, '2026-07-01T10:45:30Z'), ['2026-07-01T10:45:30.000Z', 1_000]);
    assert.deepEqual(berlin(null, '1.12.2026 10:45'), ['2026-12-01T09:45:00.000Z', 60_000]);
    assert.equal(berlin(null, '07/01/2026 10:45'), null);
    assert.equal(berlin(null, '2026-07-01'), null);
  });

  test('a format is written as in .NET and Java', () => {
    assert.deepEqual(berlin('dd/MM/yyyy HH:mm', '07/01/2026 10:45'), ['2026-01-07T09:45:00.000Z', 60_000]);
    assert.deepEqual(berlin('M/d/yyyy h:mm:ss tt', '7/1/2026 1:45:30 PM'), ['2026-07-01T11:45:30.000Z', 1_000]);
    assert.deepEqual(berlin("yyyyMMdd'T'HHmmss", '20260701T104530'), ['2026-07-01T08:45:30.000Z', 1_000]);
    assert.deepEqual(berlin('dd MMM yyyy HH:mm:ss.fff', '01 Jul 2026 10:45:30.250'), [
      '2026-07-01T08:45:30.250Z',
      1_000,
    ]);
    assert.equal(berlin('dd/MM/yyyy HH:mm', '31/02/2026 10:45'), null);
    for (const wrong of ['dd.MM.yyyy', 'dd.MM.yyyy HH:mm QQ', 'dd.dd.yyyy HH:mm'])
      assert.throws(() => timeReader(wrong, 'UTC'), /--dates .*Expected a format such as/);
  });
});
