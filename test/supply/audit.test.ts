import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { judge, type Outcome, readAudit } from '../../tools/audit.ts';

/** Findings stop the build, a registry without an audit does not. */

const RECORDED = new URL('recorded/', import.meta.url);
const recorded = (name: string): Outcome => readAudit(readFileSync(new URL(name, RECORDED), 'utf8'));

const CLEAN: Outcome = { kind: 'clean' };
const FOUND: Outcome = { kind: 'findings', findings: ['pg: low'] };
const AWAY: Outcome = { kind: 'not offered', reason: '405' };
const FAILED: Outcome = { kind: 'failed', reason: 'ENOLOCK' };

describe('what npm audit wrote', () => {
  const kinds: Record<string, Outcome['kind']> = {
    'clean-npm-10.json': 'clean',
    'clean-npm-11.json': 'clean',
    'findings-npm-10.json': 'findings',
    'findings-npm-11.json': 'findings',
    'no-json-npm-11.json': 'not offered',
    'no-lockfile-npm-11.json': 'failed',
    'refused-npm-11.json': 'not offered',
    'status-404-npm-10.json': 'not offered',
    'status-405-npm-11.json': 'not offered',
    'status-500-npm-11.json': 'not offered',
    'unknown-host-npm-11.json': 'not offered',
  };

  test('each recorded output of npm audit has its case', () => {
    assert.deepEqual(readdirSync(RECORDED).sort(), Object.keys(kinds));
  });

  for (const [name, kind] of Object.entries(kinds)) {
    test(`${name} is understood as: ${kind}`, () => assert.equal(recorded(name).kind, kind));
  }

  test('a finding is reported with its package, its severity, and where to read about it', () => {
    const found = recorded('findings-npm-11.json');
    assert.deepEqual(found.kind === 'findings' && found.findings, [
      'pg: low, An invented one https://advisories.example/GHSA-0000-0000-0000; through pg-pool',
      'pg-pool: low, through pg',
    ]);
  });

  test('an error of npm itself is a failure that is reported with its code, also if it has a message', () => {
    const failed = recorded('no-lockfile-npm-11.json');
    assert.match(failed.kind === 'failed' ? failed.reason : '', /^ENOLOCK This command requires an existing lockfile/);
    const output = JSON.stringify({ message: 'no access', error: { code: 'EACCES', summary: 'no access' } });
    assert.deepEqual(readAudit(output), { kind: 'failed', reason: 'EACCES no access' });
  });

  test('output that is no JSON, no report and no message is a failure, and never taken for clean', () => {
    for (const output of ['', 'npm: command not found\n', 'null', '[]', '{}', '{"auditReportVersion":2}', '"clean"']) {
      assert.equal(readAudit(output).kind, 'failed', output);
    }
  });
});

describe('the result of the audit for the build', () => {
  const cases: [string, Outcome, Outcome, boolean, RegExp][] = [
    ['nothing found anywhere', CLEAN, CLEAN, true, /nothing found in what the development needs/],
    ['a finding in what runs', FOUND, CLEAN, false, /findings in what runs with the service\npg: low$/],
    ['a finding in the development only', CLEAN, FOUND, true, /findings in what the development needs\npg: low$/],
    ['no audit to be had', AWAY, FAILED, true, /^npm audit: the registry does not offer it, going on without \(405\)$/],
    ['no audit of the development', CLEAN, AWAY, true, /no answer about what the development needs \(405\)$/],
    ['npm failed', FAILED, CLEAN, false, /could not be run: ENOLOCK$/],
  ];
  for (const [name, runtime, everything, passed, text] of cases) {
    test(`the build ${passed ? 'continues' : 'stops'} and says so: ${name}`, () => {
      const judgement = judge(runtime, () => everything);
      assert.equal(judgement.passed, passed);
      assert.match(judgement.lines.join('\n'), text);
    });
  }
});
