import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { importFile } from '../../src/transfer/import.ts';
import { type Exchange, exchanges } from '../support/cases.ts';
import { type Engine, onOneEngine, SAMPLE } from '../support/engines.ts';
import { ACME, type Service, startService } from '../support/service.ts';

/**
 * Calls that programs have made of a Columba with the sample data, as `columba serve --trace` has written them down. A file
 * that is put into the folder is a test. In the files the user_id is masked by as many x, so here it consists of those.
 */

const MASKED = 'x'.repeat(ACME.length);

const folder = mkdtempSync(join(tmpdir(), 'columba-field-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function startMasked(engine: Engine): Promise<Service> {
  const path = join(folder, 'masked.json');
  writeFileSync(path, readFileSync(SAMPLE, 'utf8').replace(ACME, MASKED));
  const service = await startService(engine, 'empty');
  await importFile(path, service.app.archive, Date.now);
  return service;
}

async function replay(service: Service, { request }: Exchange) {
  const [method = '', target = ''] = request.start.split(' ');
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  const { headers, body: bytes } = request;
  const answer = await service.send({ method, path, query, headers, bytes, base: `http://${headers.host}` });
  return { status: answer.status, type: answer.headers['Content-Type'], body: answer.text };
}

const stories = Map.groupBy(exchanges('field'), ({ name }) => name);

onOneEngine('recorded calls of programs', (engine) => {
  for (const [name, story] of stories) {
    test(`field/${name} is answered with the same bytes`, async () => {
      const service = await startMasked(engine);
      try {
        for (const exchange of story) {
          const { start, headers, body } = exchange.response;
          assert.deepEqual(
            await replay(service, exchange),
            { status: Number(start.split(' ')[1]), type: headers['content-type'], body: body.toString('utf8') },
            exchange.request.start,
          );
        }
      } finally {
        await service.stop();
      }
    });
  }

  test('the recordings cover SOAP, GET and POST, and contain no secret', () => {
    const forms = exchanges('field').map(({ request }) =>
      request.start.replace(/^(\w+) \/api\/\w+\.asmx(\/\w+)?.*/, (_, method, path) => (path ? method : 'SOAP')),
    );
    assert.deepEqual([...new Set(forms)].sort(), ['GET', 'POST', 'SOAP']);
    for (const { name, raw, response } of exchanges('field')) {
      const text = `${raw}${response.body}`;
      const values = [...text.matchAll(/(?:<(?:\w+:)?user_?id>|user_id=)([^<&\s]*)/gi)].map(([, value = '']) => value);
      assert.ok(values.length > 0, name);
      for (const value of values) assert.match(value, /^x*$/, name);
    }
  });
});
