import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { columba, freshPath } from '../../test/support/command.ts';
import { bash, fish, testWith, zsh } from '../../test/support/peers.ts';

/** The script that the command prints, in a file. */
async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await columba(['completion', shell]);
  assert.deepEqual([code, stderr], [0, '']);
  const path = freshPath(shell);
  writeFileSync(path, stdout);
  return path;
}

function linesOf(command: string, args: readonly string[], program: string): string[] {
  const { status, stdout, stderr } = spawnSync(command, [...args, '-c', program], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').filter(Boolean);
}

/** What the last word may become, and words that must be among them and must not. */
const CASES: readonly [typed: readonly string[], among: readonly string[], not: readonly string[]][] = [
  [[''], ['serve', 'account', 'message', 'completion', '--help'], ['add']],
  [['account', ''], ['add', 'list', 'show'], ['serve']],
  [['account', 'add', ''], ['--company', '--help'], ['add']],
  [['account', 'add', '--'], ['--company', '--help'], ['add']],
  [['serve', ''], ['--port', '--help'], ['serve']],
  // Values of an option, and of an argument.
  [
    ['message', 'list', 'acme', '--status', ''],
    ['DELIVERED', 'QUEUED'],
    ['--status', 'serve'],
  ],
  [['setup', '--carrier', ''], ['loopback', 'smpp', 'twilio'], ['--carrier']],
  [['completion', ''], ['bash', 'fish'], ['serve']],
  // After an argument of a command, its options follow.
  [['account', 'add', 'acme', ''], ['--company'], ['serve']],
];

/** Ends the words of one case. */
const END = '...';

const wordsOf = (typed: readonly string[]): string => ['columba', ...typed].map((word) => `'${word}'`).join(' ');

testWith(bash(), 'bash completes commands, their actions and their options', async (command) => {
  const runs = CASES.map(
    ([typed]) => `COMP_WORDS=(${wordsOf(typed)}); COMP_CWORD=${typed.length}
      _columba; printf '%s\\n' "\${COMPREPLY[@]}"; echo ${END}`,
  );
  const program = ["set -e; source '%s'", 'complete -p columba >/dev/null', ...runs].join('\n');
  checkAll(linesOf(command, ['--norc', '--noprofile'], program.replace('%s', await scriptFor('bash'))));
});

testWith(fish(), 'fish completes commands, their actions and their options', async (command) => {
  const runs = CASES.map(([typed]) => `complete -C 'columba ${typed.join(' ')}'; echo ${END}`);
  const program = ["source '%s'", ...runs].join('\n');
  checkAll(linesOf(command, ['--no-config'], program.replace('%s', await scriptFor('fish'))));
});

testWith(zsh(), 'zsh completes commands, their actions and their options', async (command) => {
  const runs = CASES.map(
    ([typed]) => `words=(${wordsOf(typed)}); CURRENT=${typed.length + 1}
      \${_comps[columba]}; echo ${END}`,
  );
  // Only a key in a terminal calls compadd: here it prints what it would offer.
  const program = [
    "autoload -Uz compinit; compinit -D -u; source '%s'",
    'compadd() { shift; print -l -- "$@" }',
    ...runs,
  ].join('\n');
  checkAll(linesOf(command, ['-f'], program.replace('%s', await scriptFor('zsh'))));
});

function checkAll(lines: string[]): void {
  for (const [typed, among, not] of CASES) {
    const end = lines.indexOf(END);
    assert.ok(end >= 0, 'the shell ran every case');
    check(lines.splice(0, end + 1), typed, among, not);
  }
}

function check(
  offered: readonly string[],
  typed: readonly string[],
  among: readonly string[],
  not: readonly string[],
): void {
  const about = `${typed.join(' ')}: ${offered.join(' ')}`;
  for (const word of among) assert.ok(offered.includes(word), `${word} is missing after ${about}`);
  for (const word of not) assert.ok(!offered.includes(word), `${word} is offered after ${about}`);
}
