import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { readForm, type SentForm } from '../../src/console/form.ts';

const sent = (body: string | URLSearchParams | FormData, headers: Record<string, string> = {}): SentForm => {
  const request = new Request('http://localhost/', { method: 'POST', body, headers });
  return {
    contentType: request.headers.get('content-type') ?? '',
    body: async () => new Uint8Array(await request.arrayBuffer()),
  };
};
const kindOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (thrown) => (thrown instanceof Problem ? thrown.kind : String(thrown)),
  );

describe('forms of the console', () => {
  test('fields and files are read, and line ends of fields become one character', async () => {
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

  test('an empty file is a file, and a field without a chosen file has none', async () => {
    const data = new FormData();
    data.set('empty', new File([], 'empty.csv'));
    data.set('unchosen', new File([], ''));
    const form = await readForm(sent(data), 10_000);
    assert.equal(form.file('empty')?.bytes.length, 0);
    assert.equal(form.file('unchosen'), null);
  });

  test('too many fields are refused, and so is a body that is no form', async () => {
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

  test('a form that is not sent in parts has at most 1 MiB, whatever the screen takes', async () => {
    const asked: number[] = [];
    const body = async (bytesMax: number) => {
      asked.push(bytesMax);
      return Buffer.from('--x--');
    };
    await readForm({ contentType: 'application/x-www-form-urlencoded', body }, 10_000_000);
    await readForm({ contentType: 'multipart/form-data; boundary=x', body }, 10_000_000);
    assert.deepEqual(asked, [1_048_576, 10_000_000]);
  });

  test('parts of a multipart form are counted before their heads are read', async () => {
    const type = { 'Content-Type': 'multipart/form-data; boundary=x' };
    const part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';
    const form = (count: number) => sent(`${part.repeat(count)}--x--\r\n`, type);
    assert.equal((await readForm(form(2_000), 262_144)).fields.length, 2_000);
    assert.equal(await kindOf(readForm(form(2_001), 262_144)), 'too-large');
    const empty = sent(`${'--x\r\n\r\n\r\n'.repeat(20_000)}--x--\r\n`, type);
    assert.equal(await kindOf(readForm(empty, 262_144)), 'malformed', 'a part without a name');
    const largeHead = `--x\r\nContent-Disposition: form-data; name="a"\r\nX: ${'x'.repeat(5_000)}\r\n\r\n\r\n--x--\r\n`;
    assert.equal(await kindOf(readForm(sent(largeHead, type), 262_144)), 'malformed');
  });

  test('names, quotes and bytes of a multipart form come out as the browser was given them', async () => {
    const data = new FormData();
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
    data.set('a "quoted" näme', 'ü\r\n--x\r\n');
    data.set('file', new File([bytes], 'größe "1".csv'));
    const form = await readForm(sent(data), 10_000);
    assert.equal(form.raw('a "quoted" näme'), 'ü\n--x\n');
    assert.equal(form.file('file')?.name, 'größe "1".csv');
    assert.deepEqual(Buffer.from(form.file('file')?.bytes ?? []), bytes);
  });
});
