import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCookie } from '../../src/console/session.ts';
import { time } from '../../src/console/words.ts';

const SITE = { origin: 'http://localhost:8081', isSecure: false, isUsable: true };

test('the session is read from the cookie with its exact name, wherever it stands among others', () => {
  assert.equal(readCookie('columba-other=a; xcolumba=b; columba=c', SITE), 'c');
  assert.equal(readCookie('columba-other=a', SITE), null);
  assert.equal(readCookie(null, SITE), null);
});

test('an instant beyond the years of four digits is written as ISO 8601 expands it', () => {
  assert.match(time(Date.UTC(12_026, 0, 1), 'UTC').html, /datetime="\+012026-01-01T00:00:00\.000Z"/);
});
