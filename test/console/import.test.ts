import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

onOneEngine('the import of contacts in the console', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return { api, client: await signedIn(api, { username: 'acme' }) };
  }
  const params = { username: 'acme' };

  test('the import of a long file shows its progress', async (t) => {
    const { client } = await opened(t);
    const lines = Array.from({ length: 2_500 }, (_, index) => `+2782${5_560_000 + index}`);
    const kept = gzipSync(['mobile', ...lines].join('\n')).toString('base64');
    const done = await client.post('/console/import', { kept, act: 'import', 'column-mobile': '0' });
    for (const step of ['1,000 of 2,500 rows checked', '2,000 of 2,500 rows written', '2,500 of 2,500 rows written']) {
      assert.match(done.text, new RegExp(`<li>${step}`));
    }
    assert.match(done.text, /Imported: 2,500 contacts added/);
  });

  /** The fields of the import page as a browser would send them, with some of them changed. */
  const importFields = (page: string, changed: Readonly<Record<string, string>>) => {
    const fields: Record<string, string> = {};
    const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
    for (const [tag] of page.matchAll(/<input [^>]*>/g)) {
      const [, name = ''] = / name="([^"]*)"/.exec(tag) ?? [];
      const [, value = 'on'] = / value="([^"]*)"/.exec(tag) ?? [];
      if (!tag.includes('checkbox') || tag.includes(' checked')) fields[name] = plain(value);
    }
    for (const [, name = '', options = ''] of page.matchAll(/<select [^>]*name="([^"]*)">(.*?)<\/select>/gs)) {
      fields[name] = plain(/value="([^"]*)" selected/.exec(options)?.[1] ?? '');
    }
    return { ...fields, ...changed };
  };
  const uploaded = (client: ConsoleClient, file: File) => {
    const data = new FormData();
    data.set('file', file);
    return client.upload('/console/import', data);
  };

  test('wrong rows of an import are mended in the page: a proposal is taken, a number is typed, and a row is left out', async (t) => {
    const { api, client } = await opened(t);
    const rows = [
      'Handy;Vorname;Name',
      '825550304;Naledi;Jacobs',
      '2.78E+10;Johan;Steyn',
      ';Nobody;',
      '+27825550888;Good;Row',
    ];
    const page = await uploaded(client, new File([rows.join('\n')], 'patients.csv'));
    assert.equal(page.status, 200, page.text);
    assert.match(page.text, /“patients\.csv” has 4 rows/);
    assert.match(
      page.text,
      /Naledi Jacobs.*<bdi class="num">825550304<\/bdi>.*name="mend-2-mobile" value="0825550304"/s,
    );
    assert.match(page.text, /digits are lost/);
    assert.match(page.text, />Import 2 rows</);
    const still = await client.post(
      '/console/import',
      importFields(page.text, { act: 'import', 'mend-3-mobile': '2.9E+10' }),
    );
    assert.match(still.text, /1 row is still wrong\. Nothing was imported/);
    const typed = importFields(still.text, { act: 'import', 'mend-3-mobile': '082 555 0305' });
    const done = await client.post('/console/import', typed);
    assert.match(done.text, /Imported: 3 contacts added, 0 changed, 1 left out/);
    const { items } = await act<{ items: { surname: string; mobile: string }[] }>(api, 'contact list', {
      params,
      query: { q: 'Steyn' },
    });
    assert.deepEqual(
      items.map(({ surname, mobile }) => [surname, mobile]),
      [['Steyn', '082 555 0305']],
    );
  });

  test('a file without a header is imported with its first row', async (t) => {
    const { client } = await opened(t);
    const page = await uploaded(client, new File(['Ann,+27825550701\nBen,+27825550702\n'], 'list.csv'));
    assert.match(page.text, /name="noHeader" value="on" checked/);
    assert.match(page.text, /Column A \(Ann\)/);
    const done = await client.post('/console/import', importFields(page.text, { act: 'import' }));
    assert.match(done.text, /Imported: 2 contacts added/);
  });

  test('a file whose columns nobody can guess asks for the column of the numbers in words', async (t) => {
    const { client } = await opened(t);
    const page = await uploaded(client, new File(['A,B\nx,+27825550703\n'], 'list.csv'));
    assert.match(page.text, /Choose the column that has the numbers/);
    const chosen = await client.post(
      '/console/import',
      importFields(page.text, { act: 'check', 'column-mobile': '1' }),
    );
    assert.match(chosen.text, />Import 1 row</);
  });

  test('the import tells an empty file from a file that was not chosen', async (t) => {
    const { client } = await opened(t);
    const checked = async (file: File) => {
      const data = new FormData();
      data.set('file', file);
      return client.upload('/console/import', data);
    };
    assert.match((await checked(new File([], 'contacts.csv'))).text, /<p>CSV file or Excel workbook: it is empty</);
    assert.match((await checked(new File([], ''))).text, /<p>Choose a file first\./);
  });
});
