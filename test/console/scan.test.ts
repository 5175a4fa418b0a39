import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countAll, idBatches } from '../../src/console/bulk.ts';
import { matchingRows, readCursor, SEARCHED_ROWS_MAX, scan, writeCursor } from '../../src/console/scan.ts';
import { endOfDay, instantOf, localTime, messageText, time } from '../../src/console/words.ts';

/** Rows with falling times, as a list with the newest first has them. */
const list = (length: number) =>
  Array.from({ length }, (_, index) => ({ at: length - index, id: BigInt(length - index) }));

const pagesOf = (rows: ReturnType<typeof list>) => {
  const asked: number[] = [];
  const page = async (limit: number, after: { at: number } | undefined) => {
    asked.push(limit);
    return rows.filter(({ at }) => after === undefined || at < after.at).slice(0, limit);
  };
  return { asked, page, cursorOf: (row: { at: number; id: bigint }) => row };
};

describe('scan', () => {
  test('a page without a filter reads one row more than it shows', async () => {
    const { asked, ...pages } = pagesOf(list(200));
    const { rows, next } = await scan({ ...pages, after: undefined });
    assert.deepEqual([rows.length, next?.at, asked], [50, 151, [51]]);
    const last = await scan({ ...pages, after: { at: 51, id: 51n } });
    assert.deepEqual([last.rows.length, last.next], [50, null]);
  });

  test('a search stops after 20,000 rows and says how far it has come', async () => {
    const { asked, ...pages } = pagesOf(list(SEARCHED_ROWS_MAX + 1_000));
    const found = await scan({ ...pages, isWanted: ({ at }) => at === 7, after: undefined });
    assert.deepEqual([found.rows.length, found.isCut, found.read], [0, true, SEARCHED_ROWS_MAX]);
    assert.equal(asked.length, SEARCHED_ROWS_MAX / 500);
    const more = await scan({ ...pages, isWanted: ({ at }) => at === 7, after: found.next ?? undefined });
    assert.deepEqual([more.rows.length, more.isCut, more.next], [1, false, null]);
  });

  test('a search of the console ends where its range ends', async () => {
    const { asked, ...pages } = pagesOf(list(5_000));
    const found = await scan({ ...pages, isWanted: () => true, isBeyond: ({ at }) => at < 4_990, after: undefined });
    assert.deepEqual([found.rows.length, found.next, asked.length], [11, null, 1]);
  });

  test('between two pieces of a file, or of a count of all rows, the event loop has a turn, and both end when nobody waits', async () => {
    let turns = 0;
    const read = async (after: { at: number } | undefined) => {
      const at = (after?.at ?? 40) - 1;
      return { rows: list(1), next: at === 0 ? null : { at, id: BigInt(at) }, read: 1, isCut: false };
    };
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const never = new AbortController();
    try {
      for await (const _ of matchingRows(read, never.signal));
      assert.ok(turns >= 30, `a file had ${turns} turns`);
      turns = 0;
      assert.equal(await countAll({ batches: () => idBatches(read, 10n) }, never.signal), 40);
      assert.ok(turns >= 30, `a count had ${turns} turns`);
    } finally {
      clearImmediate(next);
    }
    const left = new AbortController();
    let pages = 0;
    const leaving = async (after: { at: number } | undefined) => {
      pages += 1;
      if (pages === 3) left.abort();
      return read(after);
    };
    assert.equal(await countAll({ batches: () => idBatches(leaving, 10n) }, left.signal), 0);
    assert.equal(pages, 3);
  });

  test('a cursor is read as it was written, and anything else is no cursor', () => {
    const cursor = { at: -5, id: -(2n ** 63n) };
    assert.deepEqual(readCursor(writeCursor(cursor)), cursor);
    for (const text of [null, '', '1', '1.x', '1.99999999999999999999', '1.9223372036854775808', "1.1' or 1=1"]) {
      assert.equal(readCursor(text), undefined);
    }
  });
});

describe('words', () => {
  test('a day of a filter ends where the next one begins, also on the days that have 23 or 25 hours', () => {
    assert.equal(endOfDay('2026-03-29', 'Europe/Berlin'), Date.UTC(2026, 2, 29, 22));
    assert.equal(endOfDay('2026-10-25', 'Europe/Berlin'), Date.UTC(2026, 9, 25, 23));
    assert.equal(endOfDay('2026-02-30', 'UTC'), null);
    const zones = 'Europe/Berlin America/Havana Africa/Cairo Asia/Beirut Australia/Lord_Howe America/Santiago'.split(
      ' ',
    );
    for (const zone of zones) {
      for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2027, 0, 1); day += 86_400_000) {
        const text = new Date(day).toISOString().slice(0, 10);
        const end = endOfDay(text, zone) ?? assert.fail(text);
        assert.ok(localTime(end, zone).slice(0, 10) > text, `${zone} ${text}`);
        assert.equal(localTime(end - 60_000, zone).slice(0, 10), text, zone);
      }
    }
  });

  test('a local time is the instant of its zone, on both sides of summer time', () => {
    assert.equal(instantOf('2026-07-01T12:00', 'Europe/Berlin'), Date.UTC(2026, 6, 1, 10));
    assert.equal(instantOf('2026-12-01T12:00', 'Europe/Berlin'), Date.UTC(2026, 11, 1, 11));
    assert.equal(instantOf('2026-11-16', 'Africa/Johannesburg'), Date.UTC(2026, 10, 15, 22));
    assert.equal(localTime(Date.UTC(2026, 10, 15, 22), 'Africa/Johannesburg'), '2026-11-16T00:00');
    for (const text of ['', 'soon', '2026-13-01T00:00', '2026-02-30', '2026-01-01T25:00'])
      assert.equal(instantOf(text, 'UTC'), null);
  });

  test('times are shown in their zone, also on the days on which its clocks change', () => {
    const shown = (iso: string, zone: string) => time(iso, zone).html.replace(/<[^>]+>/g, '');
    assert.equal(shown('2026-11-16T12:05:09.999Z', 'UTC'), '16 Nov 2026, 12:05:09');
    assert.equal(shown('2026-10-25T00:59:59Z', 'Europe/Berlin'), '25 Oct 2026, 02:59:59');
    assert.equal(shown('2026-10-25T01:00:00Z', 'Europe/Berlin'), '25 Oct 2026, 02:00:00');
    assert.equal(shown('2026-12-31T22:30:00Z', 'Africa/Johannesburg'), '1 Jan 2027, 00:30:00');
    assert.equal(shown('2026-09-01T00:00:00Z', 'Asia/Kolkata'), '1 Sep 2026, 05:30:00');
    for (let at = Date.UTC(2026, 2, 28); at < Date.UTC(2026, 2, 30); at += 1_000_000) {
      const expected = new Date(at).toLocaleTimeString('en-GB', { timeZone: 'America/New_York', hourCycle: 'h23' });
      assert.ok(shown(new Date(at).toISOString(), 'America/New_York').endsWith(expected));
    }
    assert.match(time('no time', 'UTC').html, /–/);
  });

  test('characters that cannot be shown are marked, and tags are text', () => {
    const { html } = messageText('a\u0007b\u202ec\n<b>');
    assert.ok(html.includes('>U+0007<') && html.includes('>U+202E<') && html.includes('\n&#60;b&#62;'), html);
    assert.match(messageText(null).html, /no text/);
  });
});
