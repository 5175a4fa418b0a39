import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { adopt, readResult } from '../../test/support/contract-client.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { type Arguments, requestOf } from '../../test/support/protocols.ts';
import { startService } from '../../test/support/service.ts';

/** That the programs which measure run, and measure what they say. How fast anything is, no test says. */
process.env.ACCOUNTS = '3';
process.env.MESSAGES = '40';
// Only now: what they import reads the two.
const { accountOf, messageOf } = await import('../../bench/data.ts');
const { callOf, NAMES } = await import('../../bench/operations.ts');
const { median, quantile, ratios } = await import('../../bench/rounds.ts');
const { startServer } = await import('../../bench/servers.ts');

const folder = mkdtempSync(join(tmpdir(), 'columba-programs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** calls.ts, small; `look` sees what it tells of its progress. */
function run(look: (progress: string, interrupt: () => void) => void = () => {}) {
  const program = fileURLToPath(new URL('../../bench/calls.ts', import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    env: { ...process.env, TMPDIR: folder, REQUESTS: '50', ROUNDS: '1', PEERS: '0' },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
    look(output.stderr, () => child.kill('SIGINT'));
  });
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, ...output })),
  );
}

describe('calls.ts', () => {
  test('calls.ts prints what every server took for every operation, and each target with whether it was met', async () => {
    const { code, stdout, stderr } = await run();
    assert.equal(code, 0, stderr);
    const lines = stdout.split('\n');
    const cells = NAMES.map(() => '\\d+\\.\\d; \\d+\\.\\d\\d \\(\\d+\\.\\d\\d–\\d+\\.\\d\\d\\)').join(' \\| ');
    for (const name of ['floor: .+', 'Columba, SOAP 1.1', 'Columba, GET', '.+, cache off', 'npm soap, SOAP 1.1']) {
      assert.ok(
        lines.some((line) => new RegExp(`^\\| ${name} \\| ${cells} \\|$`).test(line)),
        `${name}: ${stdout}`,
      );
    }
    for (const name of NAMES) {
      assert.ok(
        lines.some((line) => new RegExp(`^\\| ${name}: 0\\.\\d\\d of the floor \\|.* (not )?met \\|`).test(line)),
      );
      assert.ok(lines.some((line) => new RegExp(`^\\| ${name}: 4 times npm soap \\|.* (not )?met \\|`).test(line)));
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  test('an interrupted benchmark leaves no process and no file', async () => {
    const { code, stdout } = await run((progress, interrupt) => {
      if (progress.includes('starting the servers')) setTimeout(interrupt, 300);
    });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.deepEqual(readdirSync(folder), []);
    assert.deepEqual(processesWith(folder), []);
  });
});

/** Command lines that name it, where the system tells them. */
const processesWith = (text: string): string[] =>
  globSync('/proc/[0-9]*/cmdline')
    .map((file) => {
      try {
        return readFileSync(file, 'utf8').replaceAll('\0', ' ');
      } catch {
        return ''; // it has ended meanwhile
      }
    })
    .filter((line) => line.includes(text));

describe('the calls that are measured', () => {
  test('the calls that are measured mark every message once before any is marked again', () => {
    const named = Array.from({ length: 3 * 40 }, (_, number) =>
      JSON.stringify(callOf('MarkMessageAsRead', number).args),
    );
    assert.equal(new Set(named).size, 3 * 40);
    assert.equal(JSON.stringify(callOf('MarkMessageAsRead', 3 * 40).args), named[0]);
  });

  test('the calls that are measured are answered by npm soap with the same values as by Columba', async () => {
    const service = await startService(engines[0] as Engine, 'empty');
    const server = await startServer('npm-soap.ts');
    try {
      for (const account of [0, 1, 2]) {
        const inbox = Array.from({ length: 40 }, (_, message) => messageOf(account, message));
        await adopt(service.app, { ...accountOf(account), inbox });
      }
      for (let number = 0; number < 4 * 24; number++) {
        const { group, operation, args } = callOf(NAMES[number % 4] as (typeof NAMES)[number], Math.floor(number / 4));
        const ours = await service.call('soap11', group, operation, args);
        const theirs = await ask(server.port, group, operation, args);
        assert.deepEqual(valueIn(group, operation, theirs), valueIn(group, operation, ours.text), operation);
      }
    } finally {
      await server.stop();
      await service.stop();
    }
  });
});

const operations = contract as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;

function valueIn(group: string, operation: string, text: string): unknown {
  const { result } = operations[group]?.[operation] ?? assert.fail(`there is no ${group}.${operation}`);
  return readResult('soap11', operation, result, { status: 200, headers: {}, body: text, text });
}

async function ask(port: number, group: string, operation: string, args: Arguments): Promise<string> {
  const { path, headers, bytes } = requestOf('soap11', group, operation, args);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: bytes,
  });
  assert.equal(answer.status, 200);
  return answer.text();
}

test('medians, quantiles and ratios are computed from few and from many values', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([5], 0.99), 5);
  assert.equal(quantile([1, 2, 3, 4, 5], 1), 5);
  assert.equal(quantile([0, 10], 0.25), 2.5);
  assert.deepEqual(ratios([10, 30], [5, 10]), [2, 3]);
});
