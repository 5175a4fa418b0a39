import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { COLUMBA, freshPath, serving } from '../../test/support/command.ts';
import { engines } from '../../test/support/engines.ts';
import { createCaller, until } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';

const LIMIT = 100;

test('a service without free file descriptors warns in its log, and answers again when connections have ended', async () => {
  const command = freshPath('sh');
  writeFileSync(command, `#!/bin/sh\nulimit -n ${LIMIT}\nexec '${COLUMBA}' "$@"\n`);
  chmodSync(command, 0o755);
  const database = (await engines[0]?.fresh('sample')) as string;
  const limited = await serving(['--database', database, '--web-port', 'off'], { command });
  const { hostname, port } = new URL(limited.address);
  const sockets: Socket[] = [];
  for (let count = 0; count < 2 * LIMIT; count++) {
    sockets.push(connect(Number(port), hostname).on('error', () => {}));
  }
  const warnings = () => limited.output.stderr.split('\n').filter((line) => line.includes('"code":"EMFILE"'));
  await until('the log says it', () => warnings().length > 0);
  assert.match(warnings()[0] ?? '', /"level":40.*no file descriptors left.*LimitNOFILE.*ulimit -n/);
  for (const socket of sockets) socket.destroy();
  const caller = createCaller(limited.address, ACME);
  await until('it answers again', () =>
    caller.ask('inbox', 'CountUnread').then(
      (count) => count === 4n,
      () => false,
    ),
  );
  caller.close();
  limited.child.kill('SIGTERM');
  assert.equal((await limited.ended).code, 0);
});
