import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { columba, freshPath } from '../../test/support/command.ts';
import { type Engine, onEveryEngine } from '../../test/support/engines.ts';
import { freePort } from '../../test/support/free-port.ts';
import { until } from '../../test/support/program.ts';
import {
  type Arguments,
  envelope,
  operationElement,
  PROTOCOLS,
  type Protocol,
  requestOf,
  soapRequest,
} from '../../test/support/protocols.ts';
import { CALLS } from '../../test/support/serving.ts';
import { exchangeBytes, requestBytes } from '../../test/support/socket.ts';
import {
  metricsText,
  type ObservedServer,
  startCollector,
  startObserved,
} from '../../test/support/telemetry-output.ts';

/** What nobody who reads logs, metrics, traces, errors or the list of processes may learn, each found by a word of its own. */
const SECRETS = {
  userId: 'zqUserIdzq-7d1c11',
  message: 'zqMessagezq',
  template: 'zqTemplatezq',
  password: 'zqPasswordzq',
  number: '+27825559876',
  name: 'zqPersonzq',
  logKey: 'zqLogKeyzq',
};
const WORDS = [...Object.values(SECRETS), createHash('sha256').update(SECRETS.userId).digest('hex')];

function assertNone(where: string, text: string): void {
  for (const word of WORDS) {
    for (const form of [word, Buffer.from(word).toString('base64').replace(/=+$/, ''), encodeURIComponent(word)]) {
      const at = text.toLowerCase().indexOf(form.toLowerCase());
      assert.equal(at, -1, `${where}: …${text.slice(Math.max(0, at - 100), at + 100)}…`);
    }
  }
}

const message = { id: 1, sender: SECRETS.number, message: SECRETS.message, timestamp: '2026-01-01', read: false };
const ACCOUNT = {
  userID: SECRETS.userId,
  username: 'secretive',
  password: SECRETS.password,
  contactName: SECRETS.name,
  credits: 5,
  usedCredits: 5,
  datetimeCreated: '2026-01-01',
  mobile: SECRETS.number,
  groups: [{ id: 1, name: SECRETS.name }],
  contacts: [{ id: 101, name: SECRETS.name, mobile: SECRETS.number, groupid: 1 }],
  templates: [SECRETS.template],
  blacklist: [{ mobile: SECRETS.number, sample_message: SECRETS.message, timestamp: '2026-01-01' }],
  inbox: [message],
  scheduled: [{ ...message, read: undefined, sender: undefined, timestamp: undefined, recipient: SECRETS.number }].map(
    (each) => ({ ...each, timestamp_scheduled: '2027-01-01', timestamp_created: '2026-01-01' }),
  ),
};

/** All that a client was told, but for answers to calls that were right: those are the client's own data. */
const told: string[] = [];

async function send(address: string, { method, path, query, headers, bytes }: ReturnType<typeof requestOf>) {
  const fields = { ...(headers as Record<string, string>), Referer: `http://x.example/?user_id=${SECRETS.userId}` };
  const secret = { Authorization: `Basic ${SECRETS.password}`, Cookie: `id=${SECRETS.userId}` };
  const target = `${address}${path}${query && `?${query}`}`;
  const answer = await fetch(target, { method, headers: { ...fields, ...secret }, ...(bytes && { body: bytes }) });
  const text = await answer.text();
  const isError = answer.status !== 200;
  if (isError) told.push(`${[...answer.headers].join('\n')}\n${text}`);
  return { status: answer.status, text };
}

const call = (address: string, form: Protocol, group: string, operation: string, args: Arguments) =>
  send(address, requestOf(form, group, operation, { user_id: SECRETS.userId, ...args }));

/** Every operation in every form, right and with a secret where something else is expected. */
async function callAll(address: string): Promise<void> {
  const texts = { message: SECRETS.template, sample_message: SECRETS.message, mobile: SECRETS.number };
  for (const form of PROTOCOLS) {
    for (const [group, operation, args] of CALLS) {
      const own = Object.keys(args).filter((name) => Object.hasOwn(texts, name));
      const right = { ...args, ...Object.fromEntries(own.map((name) => [name, texts[name as keyof typeof texts]])) };
      assert.equal((await call(address, form, group, operation, right)).status, 200, `${operation} ${form}`);
      const wrong = Object.fromEntries(Object.keys(args).map((name) => [name, SECRETS.message]));
      await call(address, form, group, operation, wrong);
    }
    await call(address, form, 'account', 'Profile', { user_id: SECRETS.password });
  }
}

/** What is no call at all, with secrets in every part of it. */
async function callBadly(address: string): Promise<void> {
  const { userId, message: text } = SECRETS;
  const element = operationElement('Unread', { user_id: userId, max_count: text });
  const bodies = [
    element,
    `<${text}>${userId}</${text}>`,
    envelope('soap11', `<${text} xmlns="${text}"/>`),
    envelope('soap11', element).slice(0, -20),
    envelope('soap11', element.replace('Unread', text)),
    envelope('soap11', element, `<s:Header><a s:mustUnderstand="1" xmlns="urn:a" b="${text}">${userId}</a></s:Header>`),
    `<!DOCTYPE a [<!ENTITY x "${userId}">]>${envelope('soap11', element)}`,
    `\u0000${text}`,
  ];
  for (const bytes of bodies) {
    for (const form of ['soap11', 'soap12'] as const) {
      const { text: answer } = await send(address, soapRequest(form, 'inbox', bytes, 'Unread'));
      assert.ok(answer.length > 0);
    }
  }
  const targets = [
    `/${userId}`,
    `/api/${userId}.asmx/${text}`,
    `/api/inbox.asmx/${text}?user_id=${userId}`,
    `/api/inbox.asmx/Unread/${userId}?user_id=${userId}`,
    `/api/inbox.asmx/Unread?user_id=${userId}&max_count=${text}`,
    `/api/inbox.asmx/Unread?${text}`,
  ];
  for (const target of targets) {
    const [path = '', query = ''] = target.split('?');
    for (const method of ['GET', 'POST', 'PUT']) await send(address, { method, path, query, headers: {}, bytes: '' });
  }
  for (const start of [`GET /?user_id=${userId} HTTP/9.9`, `${userId} ${text}`]) {
    told.push(
      (await exchangeBytes(address, requestBytes(start, ['Host: h', `${text}: ${userId}`]))).toString('latin1'),
    );
  }
}

/** Makes statements fail with the values that they are about in what the database says. */
async function breakDatabase(setting: string): Promise<void> {
  if (setting.startsWith('sqlite:')) {
    const database = new DatabaseSync(setting.slice('sqlite:'.length));
    database.exec(`create trigger no_template before insert on template begin select raise(abort, 'no ' || new.text); end;
      create trigger no_number before insert on blocked_number begin select json_extract(new.sample, '$'); end;
      drop table contact;`);
    database.close();
    return;
  }
  const client = new pg.Client({ connectionString: setting });
  await client.connect();
  const broken = client.query(`alter table template add check (text = '') not valid;
    alter table blocked_number alter column sample type int using 1;
    alter table contact rename to contacts`);
  await broken.finally(() => client.end());
}

async function callBroken(address: string): Promise<number[]> {
  const statuses: number[] = [];
  for (const form of PROTOCOLS) {
    const calls: [operation: string, args: Arguments][] = [
      ['SaveMessageTemplate', { message: `${SECRETS.template} ${form}` }],
      ['BlackListNumber', { mobile: '+27825550999', sample_message: SECRETS.message }],
      ['LookupContact', { mobile: SECRETS.number }],
    ];
    for (const [operation, args] of calls)
      statuses.push((await call(address, form, 'account', operation, args)).status);
  }
  return statuses;
}

/** Ways to die: an error with secrets in each of its parts, and an abort. */
function dying(): string {
  const file = freshPath('mjs');
  const { userId, message: text, template } = SECRETS;
  const properties = JSON.stringify({ detail: text, where: userId, parameters: [template], name: text });
  writeFileSync(
    file,
    `process.on('SIGUSR2', () => {
       const cause = new Error('invalid input "${text}"');
       throw Object.assign(new Error('duplicate key "${userId}"', { cause }), ${properties});
     });
     process.on('SIGWINCH', () => process.abort());`,
  );
  return `--import ${pathToFileURL(file).href}`;
}

onEveryEngine('secrets', (engine: Engine) => {
  for (const [death, signal] of [
    ['an unexpected error', 'SIGUSR2'],
    ['an abort', 'SIGWINCH'],
  ] as const) {
    test(`secrets are in no log line, metric, span, error or list of processes, and not in what is left after ${death}`, async (t) => {
      const setting = await engine.fresh('empty');
      const file = freshPath('json');
      writeFileSync(file, JSON.stringify({ accounts: [ACCOUNT] }));
      const imported = await columba(['import', file], { env: { COLUMBA_DATABASE: setting } });
      assert.equal(imported.code, 0, imported.stderr);
      const collector = await startCollector();
      const port = await freePort();
      const server: ObservedServer = await startObserved(setting, {
        args: ['--log-level', 'trace', '--metrics-port', String(port), '--log-key', SECRETS.logKey],
        env: {
          NODE_OPTIONS: dying(),
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
          OTEL_BSP_SCHEDULE_DELAY: '50',
        },
      });
      t.after(() => server.child.kill('SIGKILL'));
      await callAll(server.address);
      await callBadly(server.address);
      await breakDatabase(setting);
      const statuses = await callBroken(server.address);
      assert.deepEqual([...new Set(statuses)], [500]);
      await until('the last spans have come', () => collector.bodies.join().includes('LookupContact'));
      assertNone('metrics', await metricsText(port));
      const commandLine = `/proc/${server.child.pid}/cmdline`;
      if (existsSync(commandLine)) {
        const shown = readFileSync(commandLine, 'utf8').replaceAll('\0', ' ').trim();
        assert.equal(shown, 'columba serve');
      }
      server.child.kill(signal);
      const { code, stdout, stderr } = await server.ended;
      assert.equal(code, signal === 'SIGUSR2' ? 1 : null);
      assertNone('standard error', stderr);
      assertNone('standard output', stdout);
      assertNone('spans', collector.bodies.join('\n'));
      assertNone('errors that clients get', told.join('\n'));
      const errors = stderr.split('\n').filter((line) => line.startsWith('{') && JSON.parse(line).kind === 'internal');
      const reported = errors.map((line) => JSON.parse(line)).filter(({ reference }) => reference);
      assert.equal(reported.length, statuses.length);
      for (const { err, request_id } of reported) {
        assert.match(
          `${err.type} ${err.code} ${request_id}`,
          /^\w+ (ERR_SQLITE_ERROR \d+|[0-9A-Z]{5}) [0-9a-f]{12}-\w+$/,
        );
        assert.match(err.stack, /^ {4}at /);
      }
    });
  }
});
