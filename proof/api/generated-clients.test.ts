import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { onFirstEngine } from '../../test/support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../../test/support/operator-api.ts';
import { generators, routesOf } from './generated-clients.ts';

/**
 * Clients that three generators of npm make from the OpenAPI document compile without an error and
 * call every route. The linters of the field find no error in the document. All of these programs
 * are installed into a temporary folder.
 */

const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'] as const;
const LINTERS = ['@stoplight/spectral-cli@6.16.3', '@redocly/cli@2.77.0'];
const INSTALLING = { timeout: 900_000 };

async function run(folder: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const options = { cwd: folder, env, maxBuffer: 64 * 1_048_576 };
  const failed = (thrown: { code?: unknown; stdout?: string; stderr?: string }) => ({
    status: thrown.code ?? 1,
    printed: `${thrown.stdout ?? ''}${thrown.stderr ?? ''}`,
  });
  return promisify(execFile)(command, args, options).then(
    ({ stdout }) => ({ status: 0, printed: stdout }),
    (thrown: object) => failed(thrown),
  );
}

async function succeeding(folder: string, command: string, args: readonly string[], env?: NodeJS.ProcessEnv) {
  const { status, printed } = await run(folder, command, args, env);
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${printed.slice(-4_000)}`);
  return printed;
}

/** A folder with the document and these packages. Their programs run with the Node of the tests. */
async function install(packages: readonly string[], document: object) {
  const folder = mkdtempSync(join(tmpdir(), 'columba-clients-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  await succeeding(folder, 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', ...packages]);
  const tool = (args: readonly string[]): [string, string[]] => {
    const [name = '', ...rest] = args;
    return [NODE[0], [NODE[1], join('node_modules', '.bin', name), ...rest]];
  };
  return { folder, tool };
}

onFirstEngine('generated clients of the operator’s API', (engine) => {
  let api: OperatorApi;
  let document: object;
  before(async () => {
    api = await startOperatorApi(engine);
    document = (await api.call('GET', '/openapi.json')).json;
  });
  after(() => api.stop());

  for (const { name, packages, run: generate, program } of generators) {
    test(`the client of ${name} compiles and calls every route`, INSTALLING, async () => {
      const { folder, tool } = await install([...packages, 'typescript@5.9.3', '@types/node@24.10.1'], document);
      await succeeding(folder, ...tool(generate));
      const routes = routesOf(document);
      const file = join(folder, 'calls.ts');
      writeFileSync(file, program(routes));
      const strict = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext'];
      const more = ['--moduleResolution', 'bundler', '--lib', 'es2023,dom,dom.iterable', '--types', 'node'];
      await succeeding(folder, ...tool(['tsc', ...strict, ...more, 'calls.ts']));
      const outfile = join(folder, 'calls.mjs');
      await build({ entryPoints: [file], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' });
      const own = await startOperatorApi(engine);
      try {
        const env = { ...process.env, ADDRESS: own.address, TOKEN: own.token };
        const printed = await succeeding(folder, NODE[0], [outfile], env);
        const answers = printed
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { id: string; status: number });
        assert.deepEqual(
          answers.map(({ id }) => id),
          routes.map(({ id }) => id),
        );
        for (const [index, { id, status }] of answers.entries()) {
          assert.ok(routes[index]?.statuses.includes(String(status)), `${id}: ${status}`);
        }
        const done = answers.filter(({ status }) => status < 300);
        assert.ok(done.length > 70, `${done.length} of ${answers.length} calls succeeded`);
      } finally {
        await own.stop();
      }
    });
  }

  test('Spectral and Redocly find no error in the document, and no warning that matters', INSTALLING, async () => {
    const { folder, tool } = await install(LINTERS, document);
    writeFileSync(join(folder, 'rules.yaml'), 'extends: ["spectral:oas"]\n');
    await succeeding(folder, ...tool(['spectral', 'lint', '--fail-severity=warn', '-r', 'rules.yaml', 'openapi.json']));
    const printed = await succeeding(folder, ...tool(['redocly', 'lint', '--format=summary', 'openapi.json']));
    assert.doesNotMatch(printed, /warning\s+\S+: [1-9]/);
  });

  test('the schemas of the document are valid for jsonschema of Python, with their patterns', async () => {
    const { folder } = await install([], document);
    const check = `import json, jsonschema
document = json.load(open('openapi.json'))
for name, schema in document['components']['schemas'].items():
    whole = {**schema, 'components': document['components']}
    jsonschema.Draft202012Validator.check_schema(whole)
    list(jsonschema.Draft202012Validator(whole).iter_errors({}))
    list(jsonschema.Draft202012Validator(whole).iter_errors({'username': 'acme', 'mobile': '+27825550201', 'text': 'x'}))
print(len(document['components']['schemas']))`;
    const printed = await succeeding(folder, 'python3', ['-W', 'ignore', '-c', check]);
    assert.ok(Number(printed) > 50, printed);
  });
});
