import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Exchange, exchanges, type HttpMessage } from '../../support/cases.ts';
import { type Engine, onFirstEngine } from '../../support/engines.ts';
import { ENVELOPES, NAMESPACE } from '../../support/protocols.ts';
import { ACME, startService } from '../../support/service.ts';
import { exchangeMessage, requestBytes } from '../../support/socket.ts';
import { CASES, FORM, HIDDEN, ON_PAGES, wordsOf, X, XML } from './recorded-cases.ts';

const folder = mkdtempSync(join(tmpdir(), 'columba-trace-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const masked = (text: string): string => text.replaceAll(ACME, X);

/** A file in a folder of its own. */
const newFile = (): string => join(mkdtempSync(join(folder, 'file-')), 'trace.txt');
const exchangesOf = (file: string): Exchange[] => exchanges(pathToFileURL(join(file, '..')).href);

/** Neither the user_id nor a half of it, in one byte a character or in two. */
function assertNoSecret(file: string): void {
  const bytes = readFileSync(file, 'latin1').replaceAll('\0', '').toLowerCase();
  for (const part of [ACME.slice(0, 18), ACME.slice(-18)]) assert.ok(!bytes.includes(part), bytes);
}

interface Call {
  readonly start: string;
  readonly fields?: readonly string[];
  readonly body?: string | Uint8Array;
}

/** Makes calls of a service that writes them down: its answers, and what is in the file. */
async function record(engine: Engine, calls: Call[]): Promise<{ answers: HttpMessage[]; written: Exchange[] }> {
  const file = newFile();
  const service = await startService(engine);
  const answers: HttpMessage[] = [];
  try {
    const address = await service.app.start(file);
    for (const { start, fields = [], body = '' } of calls) {
      const head = ['Host: sms.example', ...fields, 'Connection: close'];
      answers.push(await exchangeMessage(address, requestBytes(start, head, body)));
    }
  } finally {
    await service.stop();
  }
  assertNoSecret(file);
  return { answers, written: exchangesOf(file) };
}

onFirstEngine('wire log', (engine) => {
  for (const { name, target = '', fields = [], body, sent, traced } of CASES) {
    test(`the user_id is masked and the rest kept: ${name}`, async () => {
      const start = `${body === undefined ? 'GET' : 'POST'} ${target} HTTP/1.1`;
      const call = { start, fields: ['Accept-Language: kept', ...fields], body: sent ?? body ?? '' };
      const { answers, written } = await record(engine, [call]);

      assert.equal(written.length, 1);
      const { request, response } = written[0] as Exchange;
      const [answer] = answers;
      const expected = traced ?? (answer?.start.includes(' 200 ') ? masked : wordsOf)(String(body ?? target));
      assert.equal(request.start, body === undefined ? `GET ${expected} HTTP/1.1` : start);
      assert.equal(String(request.body), body === undefined ? '' : expected);
      assert.equal(request.headers['accept-language'], 'kept');
      assert.equal(request.headers['content-encoding'], undefined);
      assert.equal(request.headers['transfer-encoding'], undefined);
      assert.deepEqual([response.start, String(response.body)], [answer?.start, String(answer?.body)]);
      assert.equal(response.headers['content-type'], answer?.headers['content-type']);
    });
  }

  for (const [name, call] of Object.entries(HIDDEN)) {
    test(`a user_id in a request that is no call is not in the file: ${name}`, async () => {
      const { answers, written } = await record(engine, [call]); // which looks for it
      assert.ok(Number(answers[0]?.start.split(' ')[1]) >= 400, answers[0]?.start);
      assert.equal(written.length, 1);
    });
  }

  test('a user_id that a page repeats is not in the file', async () => {
    const { answers } = await record(
      engine,
      ON_PAGES.map((target) => ({ start: `GET ${target} HTTP/1.1`, fields: [`User-Agent: ${ACME}`] })),
    );
    for (const { start } of answers) assert.match(start, / 200 /);
  });

  test('a user_id that a successful call repeats elsewhere is masked there too', async () => {
    const again = `${encodeURIComponent(ACME.toUpperCase())}&note=%33${ACME.slice(1)}`;
    const { written } = await record(engine, [
      { start: `GET /api/inbox.asmx/CountUnread?user_id=${ACME}&other=${again} HTTP/1.1`, fields: [`X-Id: ${ACME}`] },
    ]);
    const { start, headers } = (written[0] as Exchange).request;
    assert.equal(start, `GET /api/inbox.asmx/CountUnread?user_id=${X}&other=${X}&note=xx${X} HTTP/1.1`);
    assert.equal(headers['x-id'], X);
  });

  test('the user_id is masked in the answer, in every form', async () => {
    const envelope = (uri: string) =>
      `<s:Envelope xmlns:s="${uri}"><s:Body><Profile xmlns="${NAMESPACE}"><user_id>${ACME}</user_id></Profile></s:Body></s:Envelope>`;
    const soap = 'POST /api/account.asmx HTTP/1.1';
    const { answers, written } = await record(engine, [
      { start: `GET /api/account.asmx/Profile?user_id=${ACME} HTTP/1.1` },
      { start: 'POST /api/account.asmx/Profile HTTP/1.1', fields: [FORM], body: `user_id=${ACME}` },
      { start: soap, fields: [XML], body: envelope(ENVELOPES.soap11) },
      { start: soap, fields: ['Content-Type: application/soap+xml'], body: envelope(ENVELOPES.soap12) },
    ]);
    const texts = answers.map(({ body }) => String(body));
    for (const text of texts) assert.ok(text.includes(`<userID>${ACME}</userID>`), text);
    assert.deepEqual(
      written.map(({ response }) => String(response.body)),
      texts.map(masked),
    );
  });

  test('secrets in header fields are masked: a query in Referer, and the credentials of a proxy or page', async () => {
    const fields = [
      ...[`Referer: http://sms.example/a?b=1&user_id=${ACME}&c=2`, 'Authorization: Basic abc'],
      ...[`Cookie: session=${ACME}`, `X-User-Id: ${ACME}`],
    ];
    const { written } = await record(engine, [{ start: 'GET / HTTP/1.1', fields }]);
    const { referer, authorization, cookie, 'x-user-id': userId } = written[0]?.request.headers ?? {};
    assert.deepEqual(
      [referer, authorization, cookie, userId],
      [wordsOf(`http://sms.example/a?b=1&user_id=${ACME}&c=2`), 'xxxxxxxxx', `xxxxxxxx${X}`, wordsOf(ACME)],
    );
  });

  test('a field named constructor or __proto__ is written as it came, and the raw bytes of a query too', async () => {
    const file = newFile();
    const service = await startService(engine);
    try {
      const start = `GET /api//inbox.asmx/CountUnread?x=\xE9&user_id=${ACME} HTTP/1.1`;
      const head = [start, 'Host: h', 'constructor: x', '__proto__: y', 'Connection: close', '', ''].join('\r\n');
      const answer = await exchangeMessage(await service.app.start(file), Buffer.from(head, 'latin1'));
      assert.match(String(answer.body), />4<\/long>/);
    } finally {
      await service.stop();
    }
    const written = readFileSync(file, 'latin1');
    assert.ok(written.includes('\r\nconstructor: x\r\n__proto__: y\r\n'), written);
    assert.ok(written.includes(`GET /api/inbox.asmx/CountUnread?x=\xE9&user_id=${X} HTTP/1.1\r\n`), written);
    assertNoSecret(file);
  });

  test('exchanges are appended to the file, each with its time, and only its owner may read it', async () => {
    const file = newFile();
    writeFileSync(file, '##### before\n');
    chmodSync(file, 0o644);
    for (const day of [15, 16]) {
      const service = await startService(engine);
      service.clock.now = Date.UTC(2026, 10, day, 8, 30);
      const address = await service.app.start(file);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      await Promise.all([1, 2, 3].map((number) => fetch(`${address}/api/inbox.asmx/Unread?number=${number}`)));
      await service.stop();
    }
    const times = readFileSync(file, 'utf8').match(/^##### .*$/gm) ?? [];
    const [first, second] = ['##### 2026-11-15T08:30:00.000Z', '##### 2026-11-16T08:30:00.000Z'];
    assert.deepEqual(times, ['##### before', first, first, first, second, second, second]);
    assert.equal(exchangesOf(file).length, 6);
  });

  test('a file that cannot be written is an error at the start', async () => {
    const service = await startService(engine);
    await assert.rejects(service.app.start(join(folder, 'nowhere', 'trace.txt')), { code: 'ENOENT' });
    await service.stop();
  });
});

describe('columba serve --trace', () => {
  const COMMAND = fileURLToPath(new URL('../../../columba', import.meta.url));
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COLUMBA_')));
  const start = (file: string) =>
    spawn(COMMAND, ['serve', '--demo', '--port', '0', '--trace', file], { env: environment });

  test('columba serve --trace writes masked exchanges until it is stopped, in a file that only its owner may read', async () => {
    const file = newFile();
    const child = start(file);
    try {
      let printed = '';
      while (!/http:\/\/\S+/.test(printed)) printed += (await once(child.stdout, 'data'))[0];
      const [address = ''] = /http:\/\/[^/]+/.exec(printed) ?? [];
      const reply = await fetch(`${address}/api/account.asmx/Profile?user_id=${ACME}`);
      const text = await reply.text();
      child.kill('SIGTERM');
      assert.deepEqual(await once(child, 'exit'), [0, null]);

      const [exchange, ...more] = exchangesOf(file);
      assert.equal(more.length, 0);
      assert.equal(exchange?.request.start, `GET /api/account.asmx/Profile?user_id=${X} HTTP/1.1`);
      assert.equal(String(exchange?.response.body), masked(text));
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assertNoSecret(file);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('columba serve --trace ends with one sentence if the file cannot be written', async () => {
    const child = start(join(folder, 'nowhere', 'trace.txt'));
    let complaint = '';
    child.stderr.on('data', (piece) => {
      complaint += piece;
    });
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.match(complaint, /^columba: ENOENT: .*trace\.txt'\n$/);
  });
});
