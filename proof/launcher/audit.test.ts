import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('npm run audit, with the npm of this machine and a registry of ours', () => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-audit-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const advisory = (severity: string) => [
    { id: 1, url: 'https://advisories.example/1', title: 'invented', severity, vulnerable_versions: '*' },
  ];
  /** What the endpoint answers; null: there is none. */
  const cases: [string, object | null, number, RegExp][] = [
    [
      'no advisories',
      {},
      0,
      /^npm audit: nothing found in what runs .*\n.*nothing found in what the development needs\n$/,
    ],
    [
      'the mildest advisory for pino',
      { pino: advisory('info') },
      1,
      /findings in what runs .*\npino: info, invented https:/,
    ],
    [
      'a grave advisory for the linter',
      { '@biomejs/biome': advisory('critical') },
      0,
      /needs\n@biomejs\/biome: critical/,
    ],
    [
      'no audit',
      null,
      0,
      /^npm audit: the registry does not offer it, going on without \(405 Method Not Allowed .*\)\n$/,
    ],
  ];
  for (const [name, answer, code, text] of cases) {
    test(`npm run audit ends with ${code}: ${name}`, async () => {
      const registry = createServer((request, response) => {
        const asked = request.method === 'POST' && request.url?.includes('/security/');
        request.resume().once('end', () => {
          response.writeHead(asked ? (answer ? 200 : 405) : 404, { 'Content-Type': 'application/json' });
          response.end(asked && answer ? JSON.stringify(answer) : '{}');
        });
      }).listen(0, '127.0.0.1');
      await once(registry, 'listening');
      const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
      const env = { PATH: process.env.PATH, HOME: folder, npm_config_registry: address, npm_config_cache: folder };
      const child = spawn(process.execPath, ['tools/audit.ts'], {
        cwd: ROOT,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let shown = '';
      child.stdout.setEncoding('utf8').on('data', (piece) => {
        shown += piece;
      });
      const [ended] = await once(child, 'close');
      registry.close();
      registry.closeAllConnections();
      assert.match(shown, text);
      assert.equal(ended, code);
    });
  }
});
