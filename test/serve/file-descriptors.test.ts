import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDescriptorCheck } from '../../src/serve/file-descriptors.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const SECOND = 1_000;

function watched() {
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const state: { code?: string } = {};
  const check = createDescriptorCheck({
    clock,
    log: { warn: (_: unknown, words: string) => warnings.push(words) } as never,
    open() {
      if (state.code) throw Object.assign(new Error(`${state.code}: /dev/null`), { code: state.code });
    },
  });
  check.start();
  return { clock, warnings, state };
}

describe('file descriptors', () => {
  test('a process without free file descriptors says so once a minute, with the limits to raise', async () => {
    const { clock, warnings, state } = watched();
    await clock.advance(10 * SECOND);
    assert.deepEqual(warnings, []);
    state.code = 'EMFILE';
    await clock.advance(2 * SECOND);
    assert.match(warnings.join('\n'), /^this process has no file descriptors left, .* LimitNOFILE .* ulimit -n .*$/);
    await clock.advance(57 * SECOND);
    assert.equal(warnings.length, 1);
    await clock.advance(3 * SECOND);
    assert.equal(warnings.length, 2);
    delete state.code;
    await clock.advance(120 * SECOND);
    assert.equal(warnings.length, 2);
  });

  test('a machine without free file descriptors is named as the cause, and another error is none of them', async () => {
    const { clock, warnings, state } = watched();
    state.code = 'EACCES';
    await clock.advance(5 * SECOND);
    assert.deepEqual(warnings, []);
    state.code = 'ENFILE';
    await clock.advance(5 * SECOND);
    assert.match(warnings.join('\n'), /^this machine has no file descriptors left, .* fs\.file-max.*$/);
  });
});
