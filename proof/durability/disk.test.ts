import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { columba, freshPath, serving } from '../../test/support/command.ts';
import { engines } from '../../test/support/engines.ts';
import { pathOf } from '../../test/support/opened-database.ts';
import { createCaller } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';
import { CALLS, changes, type Serving, serve } from '../../test/support/serving.ts';

/** A disk that is full, files that cannot grow, a database that takes no writes: real errors of the embedded database. */
const sqlite = engines[0] as (typeof engines)[number];
const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));
const UNAVAILABLE = { status: 503, text: 'The database does not answer. Try again later.\n' };
// Two of them fill a page.
const LONG = 'x'.repeat(1_990);

const { exec } = DatabaseSync.prototype;
afterEach(() => Object.assign(DatabaseSync.prototype, { exec }));

/** The service, and the connection on which it writes: the first that it opens. */
async function open(t: TestContext): Promise<Serving & { setting: string; pragma: (text: string) => number }> {
  const opened: DatabaseSync[] = [];
  DatabaseSync.prototype.exec = function (sql) {
    if (!opened.includes(this)) opened.push(this);
    return exec.call(this, sql);
  };
  const setting = await sqlite.fresh('sample');
  const service = await serve(setting);
  t.after(() => service.app.stop());
  const [writer] = opened.filter((each) => each.isOpen && each.location() === pathOf(setting));
  return {
    ...service,
    setting,
    pragma: (text) => Number(Object.values(writer?.prepare(`pragma ${text}`).get() ?? {})[0]),
  };
}

/** All that is there to be read, by the service's own answers. */
async function answersOf({ ask }: Pick<Serving, 'ask'>): Promise<string[]> {
  const answers: string[] = [];
  for (const [group, operation, args] of CALLS.filter(([, name]) => !changes(name))) {
    answers.push(await ask(group, operation, args));
  }
  return answers;
}

const readiness = (address: string) => async () => (await fetch(`${address}/health/ready`)).status;

function tablesNamed(name: string, setting: string): number {
  const database = new DatabaseSync(pathOf(setting));
  const { length } = database.prepare('select 1 from sqlite_schema where name = ?').all(name);
  database.close();
  return length;
}

/** Saves templates until one is refused; how many were saved. */
async function saveUntilRefused(save: (message: string) => Promise<{ status: number; text: string }>): Promise<number> {
  for (let saved = 0; saved < 900; saved++) {
    const { status, text } = await save(`${saved} ${LONG}`);
    if (status === 200) continue;
    assert.deepEqual({ status, text }, UNAVAILABLE);
    return saved;
  }
  return assert.fail('none was refused');
}

describe('the disk of the embedded database', () => {
  test('while the disk is full, calls that must store something are refused as unavailable and others are served, and all succeed when there is room again', async (t) => {
    const service = await open(t);
    const { call, ask, pragma, logged } = service;
    const save = (message: string) => call('account', 'SaveMessageTemplate', { message });
    pragma(`max_page_count = ${pragma('page_count') + 10}`);
    const ready = readiness(await service.app.start());
    assert.equal(await ready(), 200);
    const saved = await saveUntilRefused(save);
    assert.ok(saved > 3, `${saved}`);
    for (let time = 0; time < 2; time++) assert.equal(await ready(), 503, 'ready, although writes are refused');
    assert.equal(
      JSON.parse(logged.at(-1) ?? '{}').msg,
      `The disk of the database ${pathOf(service.setting)} is full. Make room there; the service then continues by itself.`,
    );
    const before = await answersOf(service);
    // Together with others that need no room: each stands alone, or all are refused.
    const mixed = await Promise.all([save(`mixed ${LONG}`), call('inbox', 'CountUnread'), save(`more ${LONG}`)]);
    assert.deepEqual(
      mixed.map(({ status }) => status),
      [503, 200, 503],
    );
    assert.deepEqual(await answersOf(service), before, 'nothing of it is there');
    const texts = (await ask('account', 'FetchSavedMessages')).match(/<string>\d+ x/g) ?? [];
    assert.equal(texts.length, saved, 'and all that was acknowledged is');

    pragma('max_page_count = 100000');
    assert.equal(await ready(), 200, 'by itself, without a call that writes');
    assert.equal(tablesNamed('trial', service.setting), 0);
    assert.equal((await save(`again ${LONG}`)).status, 200);
    assert.match(await ask('account', 'FetchSavedMessages'), /<string>again /);
  });

  test('while the disk is read-only, every change is refused as unavailable and changes nothing, and all other calls are served', async (t) => {
    const service = await open(t);
    const { call, pragma, logged } = service;
    const ready = readiness(await service.app.start());
    const before = await answersOf(service);
    // The service may notice this by itself, by a write of its own, or by the first call that writes.
    pragma('query_only = on');
    for (const [group, operation, args] of CALLS.filter(([, name]) => changes(name))) {
      assert.deepEqual(await call(group, operation, args), UNAVAILABLE, operation);
    }
    assert.deepEqual(await answersOf(service), before);
    assert.equal(await ready(), 503, 'ready, although writes are refused');
    const { msg, err } = JSON.parse(logged.at(-1) ?? '{}');
    assert.ok(msg.startsWith(`The database ${pathOf(service.setting)} cannot be written. Let this user`), msg);
    assert.equal(err.message, 'attempt to write a readonly database');
    pragma('query_only = off');
    assert.equal(await ready(), 200);
    for (const [group, operation, args] of CALLS.filter(([, name]) => changes(name))) {
      assert.equal((await call(group, operation, args)).status, 200, operation);
    }
  });

  test('while the file may not grow, the program refuses what it cannot store, serves the rest, and loses nothing', async () => {
    const path = freshPath('db');
    copyFileSync(pathOf(await sqlite.fresh('sample')), path);
    const command = freshPath('sh');
    const blocks = Math.ceil(statSync(path).size / 512) + 256; // and 128 KB
    writeFileSync(command, `#!/bin/sh\nulimit -f ${blocks}\nexec '${COLUMBA}' "$@"\n`);
    chmodSync(command, 0o755);
    const arguments_ = ['--database', `sqlite:${path}`];
    const limited = await serving(arguments_, { command });
    const caller = createCaller(limited.address, ACME);
    const saved = await saveUntilRefused((message) => caller.send('account', 'SaveMessageTemplate', { message }));
    assert.ok(saved > 3, `${saved}`);
    for (let time = 0; time < 3; time++) {
      const { status } = await caller.send('account', 'SaveMessageTemplate', { message: `refused ${LONG}` });
      assert.equal(status, 503);
      assert.equal(await caller.ask('inbox', 'CountUnread'), 4n);
    }
    caller.close();
    limited.child.kill('SIGTERM');
    assert.equal((await limited.ended).code, 0);

    assert.equal((await columba(['check', ...arguments_])).code, 0);
    const again = await serving(arguments_);
    const next = createCaller(again.address, ACME);
    const texts = (await next.ask('account', 'FetchSavedMessages')) as string[];
    assert.equal(texts.filter((text) => /^\d+ x/.test(text)).length, saved);
    assert.ok(!texts.some((text) => text.startsWith('refused')));
    assert.equal(await next.ask('account', 'SaveMessageTemplate', { message: LONG }), true);
    next.close();
    again.child.kill('SIGTERM');
    assert.equal((await again.ended).code, 0);
  });
});
