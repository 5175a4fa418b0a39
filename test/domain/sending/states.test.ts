import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { FINAL_STATUSES } from '../../../src/domain/messages/statuses.ts';
import type { DispatchRow } from '../../../src/domain/sending/dispatch.sql.ts';
import {
  requireTransition,
  type State,
  stateOf,
  storedAfter,
  TRANSITIONS,
  type Transition,
  type TransitionName,
} from '../../../src/domain/sending/states.ts';

const README = readFileSync(new URL('../../../src/domain/sending/README.md', import.meta.url), 'utf8');
const transitions = Object.entries<Transition>(TRANSITIONS);

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const section = (name: string): string => README.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? '';
const rowsOf = (name: string): string[][] =>
  section(name)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map(cellsOf);

const row = (state: DispatchRow['state'], isScheduled = false) => ({ state, is_scheduled: isScheduled ? 1n : 0n });

describe('the states of a message', () => {
  test('the table of README.md has every transition of the code, with its states, who, status, credits and events', () => {
    const listed = (states: readonly State[] = []) => (states.length === 0 ? '–' : states.join(', '));
    const declared = transitions.map(([name, { from, alsoFrom, to, by, status, credits, events }]) => [
      ...[name, listed(from), listed(alsoFrom), to, by, status, credits, events],
    ]);
    assert.deepEqual(rowsOf('Transitions'), declared);
  });

  test('the drawing of README.md has an arrow for every transition, and no other arrow', () => {
    const nameOf = (drawn: string, atBegin: boolean): string => {
      if (drawn === '[*]') return atBegin ? 'new' : 'gone';
      return drawn.replace('_', ' ');
    };
    const drawn = [...section('Drawing').matchAll(/^ {4}(\S+) --> (\S+): (.+)$/gm)].flatMap(([, from, to, names]) =>
      (names as string)
        .split(', ')
        .map((name) => `${nameOf(from as string, true)} > ${nameOf(to as string, false)}: ${name}`),
    );
    const declared = transitions.flatMap(([name, { from, to }]) => from.map((each) => `${each} > ${to}: ${name}`));
    assert.deepEqual(drawn.sort(), declared.sort());
  });

  test('README.md explains every state, and no state but the last two is without a way out', () => {
    const states = new Set(transitions.flatMap(([, { from, alsoFrom = [], to }]) => [...from, ...alsoFrom, to]));
    assert.deepEqual(
      rowsOf('States')
        .map(([name]) => name)
        .sort(),
      [...states].sort(),
    );
    const left = new Set(transitions.flatMap(([, { from }]) => from));
    assert.deepEqual([...states].filter((state) => !left.has(state)).sort(), ['final', 'gone']);
  });

  test('a final state has a final status, and no other state has one', () => {
    for (const [name, { to, status }] of transitions) {
      const isFinal = status.split(', ').every((each) => FINAL_STATUSES.includes(each));
      assert.equal(isFinal, to === 'final', name);
    }
  });

  test('credits are held when a message begins, and captured or released when it leaves the queue', () => {
    for (const [name, { from, to, credits }] of transitions) {
      const leaves = ['with carrier', 'final', 'gone'].includes(to) && !from.includes('with carrier');
      assert.equal(credits === 'hold', from.includes('new'), name);
      assert.equal(/capture|release/.test(credits), leaves, name);
    }
  });

  test('a message in a state from which a transition does not lead is refused', () => {
    assert.throws(
      () => requireTransition('submit again', [row('submitting')]),
      /"submitting" cannot .* "submit again"/,
    );
    assert.throws(() => requireTransition('cancel', [row('waiting'), row('unknown-outcome')]), /"unknown outcome"/);
    assert.throws(() => storedAfter('retry', [row('waiting', true)]), /"scheduled"/);
    const open: readonly TransitionName[] = ['submit', 'reject', 'prove', 'escalate'];
    for (const name of open)
      requireTransition(name, [row('submitting'), row('unknown-outcome'), row('needs-decision'), row('waiting')]);
  });

  test('each stored state is read as the state that README.md says', () => {
    const stored = rowsOf('States').flatMap(([name, where = '']) => {
      const state = /the state `([\w-]+)`/.exec(where)?.[1];
      return state ? [[state, where.includes('`scheduled`'), name] as const] : [];
    });
    assert.equal(stored.length, 6);
    for (const [state, isScheduled, name] of stored) {
      assert.equal(stateOf(row(state as DispatchRow['state'], isScheduled)), name);
    }
  });
});
