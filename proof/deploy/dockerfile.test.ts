import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, test } from 'node:test';
import { type Instruction, pairsOf, ROOT, read, readDockerfile, stagesOf } from './formats.ts';

/** What can be said of the Dockerfiles without Docker. proof/deploy/image.test.ts builds the first one. */

const FILES = ['Dockerfile', 'examples/kannel/Dockerfile'];

const EXEC = /^\[("([^"\\]|\\.)*"(, )?)+\]$/;
/** The instructions that are used, what may follow them, and their flags. The one argument is the version of the file. */
const GRAMMAR: Record<string, { value: RegExp; flags?: string[] }> = {
  FROM: { value: /^[\w./-]+:[\w.-]+(@sha256:[\da-f]{64})?( AS [a-z][\w-]*)?$/ },
  ARG: { value: /^VERSION=\*$/ },
  LABEL: { value: /^([\w.]+="[^"]*"\s*)+$/ },
  WORKDIR: { value: /^\/[\w./-]+$/ },
  COPY: { value: /^(\S+ )+\S+$/, flags: ['from'] },
  RUN: { value: /^\S.*$/ },
  ENV: { value: /^([A-Z_]+=\S+\s*)+$/ },
  VOLUME: { value: /^\/\S+$/ },
  EXPOSE: { value: /^\d+( \d+)*$/ },
  USER: { value: /^\d+:\d+$/ },
  STOPSIGNAL: { value: /^SIG[A-Z]+$/ },
  HEALTHCHECK: { value: /^CMD \[.*\]$/, flags: ['interval', 'timeout', 'start-period', 'retries'] },
  ENTRYPOINT: { value: EXEC },
  CMD: { value: EXEC },
};

/** The last one counts, as for Docker. */
const last = (instructions: readonly Instruction[], name: string): string =>
  instructions.findLast((each) => each.name === name)?.value ?? assert.fail(`no ${name}`);

for (const file of FILES) {
  describe(file, () => {
    const instructions = readDockerfile(file);
    const stages = stagesOf(instructions);
    const final = stages.at(-1) ?? [];
    const context = dirname(join(ROOT, file));

    test('every instruction is one that Docker knows, with flags and a form that it accepts', () => {
      assert.equal(instructions[0]?.name, 'FROM');
      for (const { name, flags, value } of instructions) {
        const rule = GRAMMAR[name] ?? assert.fail(name);
        assert.match(value, rule.value, name);
        assert.deepEqual(
          Object.keys(flags).filter((flag) => !rule.flags?.includes(flag)),
          [],
          name,
        );
      }
    });

    test('every image has an exact version', () => {
      for (const [from] of stages) {
        assert.match(from?.value ?? '', /^[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]*slim(@|$| )/);
        assert.doesNotMatch(from?.value ?? '', /latest/);
      }
    });

    test('the image runs as a user who is not root and is named by a number, and no instruction builds anything after that', () => {
      const [uid, gid] = last(final, 'USER').split(':').map(Number);
      assert.ok(Number(uid) >= 10_000 && Number(gid) >= 10_000);
      const after = final.slice(final.findLastIndex(({ name }) => name === 'USER') + 1).map(({ name }) => name);
      assert.deepEqual(
        after.filter((name) => ['RUN', 'COPY', 'USER', 'WORKDIR'].includes(name)),
        [],
      );
    });

    test('every copied file exists in the checkout or in an earlier stage', () => {
      const names = stages.map(([from]) => / AS (\S+)$/.exec(from?.value ?? '')?.[1]);
      for (const [index, stage] of stages.entries()) {
        for (const { flags, value } of stage.filter(({ name }) => name === 'COPY')) {
          const sources = value.split(' ').slice(0, -1);
          if (flags.from !== undefined) assert.ok(names.slice(0, index).includes(flags.from), value);
          // build/ is what `npm run executable` makes.
          else
            for (const source of sources)
              assert.ok(/^build\//.test(source) || existsSync(join(context, source)), source);
          // Docker takes several sources only into a folder that is named as one.
          if (sources.length > 1) assert.match(value, /\/$/);
        }
      }
    });

    test('the image stops by SIGTERM, and its command is a program and not a shell command', () => {
      assert.equal(last(final, 'STOPSIGNAL'), 'SIGTERM');
      assert.ok(Array.isArray(JSON.parse(last(final, 'CMD'))));
    });

    test('the Dockerfile contains no secret', () => {
      assert.doesNotMatch(read(file), /password|passwd|secret|token|api_?key|:\/\/[^\s/@"]+:[^\s/@"]+@/i);
    });
  });
}

describe('the image of Columba', () => {
  const instructions = readDockerfile('Dockerfile');
  const final = stagesOf(instructions).at(-1) ?? [];
  const env = pairsOf(
    final
      .filter(({ name }) => name === 'ENV')
      .map(({ value }) => value)
      .join(' '),
  );

  test('the database is in the volume, and the ports that it listens on are those that it exposes', () => {
    assert.ok(env.COLUMBA_DATABASE?.startsWith(`sqlite:${last(final, 'VOLUME')}/`), env.COLUMBA_DATABASE);
    assert.equal(last(final, 'EXPOSE'), `${env.COLUMBA_PORT} ${env.COLUMBA_WEB_PORT}`);
    assert.deepEqual([env.COLUMBA_HOST, env.COLUMBA_WEB_HOST], ['0.0.0.0', '0.0.0.0']);
  });

  test('the image has the file of `npm run executable` and the licence, and runs that file', () => {
    const made = instructions.find(({ name, value }) => name === 'COPY' && value.startsWith('build/'))?.value ?? '';
    assert.equal(matchesGlob('build/columba-0.2.0-linux-arm64', made.split(' ')[0] ?? ''), true);
    const copied = final.filter(({ name }) => name === 'COPY').map(({ value }) => value);
    assert.deepEqual(copied, ['LICENSE /usr/share/doc/columba/copyright', '/columba /usr/local/bin/columba']);
    assert.deepEqual(JSON.parse(last(final, 'ENTRYPOINT')), ['/usr/local/bin/columba']);
  });
});

describe('.dockerignore', () => {
  const patterns = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

  /** The last pattern that fits decides. Here a pattern is `*` or a path, and then means what is below it too. */
  function isIgnored(path: string): boolean {
    const fits = (pattern: string) => pattern === '*' || path === pattern || path.startsWith(`${pattern}/`);
    const found = patterns.findLast((pattern) => fits(pattern.replace(/^!/, '')));
    return found !== undefined && !found.startsWith('!');
  }

  test('.dockerignore has only patterns that this test understands', () => {
    for (const pattern of patterns) assert.match(pattern, /^(\*|!?[\w.-]+(\/[\w.-]+)*)$/);
  });

  test('.dockerignore keeps every file that the Dockerfile copies', () => {
    const sources = readDockerfile('Dockerfile')
      .filter(({ name, flags }) => name === 'COPY' && flags.from === undefined)
      .flatMap(({ value }) => value.split(' ').slice(0, -1));
    assert.deepEqual(sources.filter(isIgnored), []);
  });

  test('.dockerignore excludes data, secrets, history, tests and packages', () => {
    const kept = [
      '.git/config',
      '.env',
      'examples/deploy/.env',
      'data/columba.db',
      'node_modules/pg/package.json',
      'test/run.ts',
      'src/main.ts',
    ];
    assert.deepEqual(
      kept.filter((path) => !isIgnored(path)),
      [],
    );
  });
});
