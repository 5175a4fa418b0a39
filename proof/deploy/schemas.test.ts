import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type KubernetesObject, ROOT, readCompose, readKubernetes } from './formats.ts';

/**
 * The examples for Compose and Kubernetes have the form of the published schemas: that of the Compose Specification, as
 * dclint brings it, and those of the Kubernetes API, as kubernetes-models brings them. The packages are installed into a
 * temporary folder.
 */

const PACKAGES = ['dclint@3.1.0', 'kubernetes-models@4.5.1'];
const TSC = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--moduleResolution', 'nodenext'];

const folder = mkdtempSync(join(tmpdir(), 'columba-schemas-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const inFolder = createRequire(join(folder, 'package.json'));

before(
  () => {
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    execFileSync('npm', ['install', ...quiet, ...PACKAGES], { cwd: folder });
  },
  { timeout: 600_000 },
);

describe('published schemas', () => {
  test('compose.yaml has the form of the Compose Specification', () => {
    const { default: Ajv } = inFolder('ajv');
    const schema = inFolder('./node_modules/dclint/schemas/compose.schema.json');
    const validate = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile({
      ...schema,
      $schema: undefined, // written with https, by which Ajv does not know it
    });
    assert.equal(validate(readCompose()), true, JSON.stringify(validate.errors));
    const wrong = structuredClone(readCompose()) as unknown as { services: { columba: Record<string, unknown> } };
    wrong.services.columba.prots = ['8080:8080'];
    assert.equal(validate(wrong), false);
  });

  test('every object of kubernetes.yaml has the form of its kind, and no field that the API does not know', () => {
    const objects = readKubernetes();
    for (const object of objects) validated(object);
    assert.deepEqual(unknownFields(objects), []);
  });

  test('a wrong value and an unknown field in kubernetes.yaml are found', () => {
    const [valueWrong, nameWrong] = [structuredClone(readKubernetes()), structuredClone(readKubernetes())];
    const containerOf = (objects: KubernetesObject[]) =>
      objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec.containers[0];
    containerOf(valueWrong).readinessProbe.periodSeconds = 'often';
    assert.throws(() => valueWrong.forEach(validated), /periodSeconds/);
    containerOf(nameWrong).imagePullPolcy = 'Always';
    assert.match(unknownFields(nameWrong).join(), /imagePullPolcy/);
  });
});

function validated(object: KubernetesObject): void {
  const { apiVersion, kind } = object;
  new (inFolder(`kubernetes-models/${apiVersion}/${kind}`)[kind])(object).validate();
}

/** The schemas let other fields pass, and the types that were made of them do not. */
function unknownFields(objects: readonly KubernetesObject[]): string[] {
  const file = join(folder, 'objects.ts');
  const declared = objects.map(
    (
      object,
      index,
    ) => `import type { I${object.kind} as T${index} } from 'kubernetes-models/${object.apiVersion}/${object.kind}';
export const object${index}: T${index} = ${JSON.stringify(object, null, 1)};\n`,
  );
  writeFileSync(file, declared.join(''));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...TSC, 'objects.ts'], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean);
}
