import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForm } from '../../src/console/form.ts';
import { Problem } from '../../src/problem.ts';

const sent = (body: string | URLSearchParams | FormData, headers: Record<string, string> = {}) =>
  new Request('http://localhost/', { method: 'POST', body, headers });
const kindOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (thrown) => (thrown instanceof Problem ? thrown.kind : String(thrown)),
  );

describe('forms of the console', () => {
  test('fields and files are read, line ends as one character', async () => {
    const data = new FormData();
    data.append('id', '1');
    data.append('id', '2');
    data.set('text', 'a\r\nb');
    data.set('file', new File(['x;y'], 'a.csv'));
    const form = await readForm(sent(data), 10_000);
    assert.deepEqual(form.all('id'), ['1', '2']);
    assert.equal(form.raw('text'), 'a\nb');
    assert.equal(Buffer.from(form.file('file')?.bytes ?? []).toString(), 'x;y');
    assert.equal(form.file('other'), null);
  });

  test('an empty file was taken for no file', async () => {
    const data = new FormData();
    data.set('empty', new File([], 'empty.csv'));
    data.set('unchosen', new File([], ''));
    const form = await readForm(sent(data), 10_000);
    assert.equal(form.file('empty')?.bytes.length, 0);
    assert.equal(form.file('unchosen'), null);
  });

  test('too many bytes or fields are refused, and so is what is no form', async () => {
    const large = new URLSearchParams({ text: 'x'.repeat(300_000) });
    assert.equal(await kindOf(readForm(sent(large), 262_144)), 'too-large');
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const endless = new Request('http://localhost/', {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    } as RequestInit);
    assert.equal(await kindOf(readForm(endless, 262_144)), 'too-large');
    const many = new URLSearchParams(
      Array.from({ length: 2_001 }, (_, index): [string, string] => ['id', String(index)]),
    );
    assert.equal(await kindOf(readForm(sent(many), 262_144)), 'too-large');
    assert.equal(
      await kindOf(readForm(sent('{}', { 'Content-Type': 'application/json' }), 262_144)),
      'unsupported-media',
    );
    const broken = { 'Content-Type': 'multipart/form-data; boundary=x' };
    assert.equal(await kindOf(readForm(sent('--y\r\nnonsense', broken), 262_144)), 'malformed');
  });
});
