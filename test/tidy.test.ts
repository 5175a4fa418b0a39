import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contract } from '../src/asmx/contract/contract.ts';

/** Rules of the code that a reader would otherwise have to watch over. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RECORDED = 'test/asmx/cases/';
const LINES_MAX = 400;
const ROOM_FILES_MAX = 25;

const files = globSync(['**/*', '.*', '.ci/*'], {
  cwd: ROOT,
  exclude: ['node_modules', '.git', 'data', 'tmp', 'build'],
  withFileTypes: true,
})
  .filter((entry) => entry.isFile())
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  .filter((file) => !file.endsWith('.log'))
  .sort();
const code = files.filter((file) => file.endsWith('.ts'));
const source = code.filter((file) => file.startsWith('src/'));

const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const textOf = (file: string): string => texts.get(file) as string;

interface Import {
  readonly file: string;
  /** As it is written. */
  readonly target: string;
  /** From the root of the project, for a file of ours. */
  readonly path: string | null;
}

const IMPORT = /^(?:import|export)\b[^'";]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;

const importsOf = (file: string): Import[] =>
  [...textOf(file).matchAll(IMPORT)].map((match) => {
    const target = (match[1] ?? match[2] ?? match[3]) as string;
    return { file, target, path: target.startsWith('.') ? normalize(join(dirname(file), target)) : null };
  });

/** Lines of files that match, as `file:line: text`; `allowed` sees the line and the one before it. */
function matches(among: string[], pattern: RegExp, allowed: (line: string, before: string) => boolean = () => false) {
  return among.flatMap((file) => {
    const lines = textOf(file).split('\n');
    return lines.flatMap((line, index) =>
      pattern.test(line) && !allowed(line, lines[index - 1] ?? '') ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    );
  });
}

describe('imports', () => {
  /** The table of docs/ARCHITECTURE.md: which folders a folder may import. */
  const [, layers = ''] = textOf('docs/ARCHITECTURE.md').split(/^## Rooms$|^## One table$/m);
  const allowed = new Map(
    [...layers.matchAll(/^\| ([\w/-]+) +\|[^|]+\| ([\w/, -]+?) +\|$/gm)]
      .filter((row) => row[1] !== 'folder')
      .map((row) => [row[1] as string, row[2] === 'nothing' ? [] : (row[2] as string).split(', ')]),
  );
  /** `store/sqlite` for src/store/sqlite/database.ts; empty for files at the top of src. */
  const folderOf = (path: string): string => path.split('/').slice(1, -1).slice(0, 2).join('/');
  const TOP = ['src/main.ts'];

  test('every folder of src is in the table, and main.ts is the only file at the top', () => {
    const folders = new Set(source.map(folderOf).filter((folder) => folder !== ''));
    assert.deepEqual(
      [...folders].filter((folder) => !allowed.has(folder)),
      [],
    );
    assert.deepEqual(
      source.filter((file) => folderOf(file) === '' && !TOP.includes(file)),
      [],
    );
  });

  test('folders import only what the table says, type imports included', () => {
    const wrong = source.flatMap(importsOf).filter(({ file, path }) => {
      if (path === null) return false;
      const folder = folderOf(file);
      const target = folderOf(path);
      // A room may use its own folders; the way back is in the table.
      if (
        folder === '' ||
        target === folder ||
        target.startsWith(`${folder}/`) ||
        allowed.get(folder)?.includes('everything')
      )
        return false;
      const covers = (named: string) => target === named || target.startsWith(`${named}/`);
      return !['base', ...(allowed.get(folder) ?? [])].some(covers) || (folder === 'base' && target !== 'base');
    });
    assert.deepEqual(
      wrong.map(({ file, target }) => `${file} imports ${target}`),
      [],
    );
  });

  test('no file imports itself through others, type imports included', () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, way: string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '));
      if (done.has(file) || way.includes(file)) return;
      for (const { path } of importsOf(file)) if (path && texts.has(path)) visit(path, [...way, file]);
      done.add(file);
    };
    for (const file of code) visit(file, []);
    assert.deepEqual(circles, []);
  });

  test('a .sql.ts file is imported by its own room alone, and other rooms call a function', () => {
    const roomOf = (path: string): string => (path.startsWith('src/store/') ? 'src/store' : dirname(path));
    const foreign = ({ file, path }: Import) => path?.endsWith('.sql.ts') && roomOf(path) !== roomOf(file);
    assert.deepEqual(source.flatMap(importsOf).filter(foreign), []);
  });

  test('a migration is a program of its own, which only commands and the lists of actions and screens import', () => {
    const may = /^src\/(?:migration\/.*|commands\/.*|operator\/actions\/(?:all|of-noun)\.ts|console\/screens\.ts)$/;
    const ofMove = ({ file, path }: Import) => path?.startsWith('src/migration/') && !may.test(file);
    assert.deepEqual(source.flatMap(importsOf).filter(ofMove), []);
  });

  test('an import of a file of ours has its extension and leads to an existing file', () => {
    const wrong = code.flatMap(importsOf).filter(({ path }) => path && !(/\.\w+$/.test(path) && texts.has(path)));
    assert.deepEqual(
      wrong.map(({ file, target }) => `${file} imports ${target}`),
      [],
    );
  });

  test('the program imports nothing of its tests, documents or examples', () => {
    assert.deepEqual(
      source.flatMap(importsOf).filter(({ path }) => path && !path.startsWith('src/')),
      [],
    );
  });

  test('proofs import only test/support of the tests, and nothing else imports a proof', () => {
    const wrong = code
      .flatMap(importsOf)
      .filter(
        ({ file, path }) => path && (/^(?:test\/)?proof\//.test(file) ? /^test\/(?!support\/)/ : /^proof\//).test(path),
      );
    assert.deepEqual(wrong, []);
  });

  test('a file exports only what it declares, so that nothing can be imported from two files', () => {
    assert.deepEqual(matches(code, /^export \* from/), []);
    assert.deepEqual(matches(source, /^export (?:type )?\{/), []);
  });
});

describe('files', () => {
  test(`no code file has more than ${LINES_MAX} lines`, () => {
    const long = code.map((file) => ({ file, lines: textOf(file).split('\n').length - 1 }));
    assert.deepEqual(
      long.filter(({ lines }) => lines > LINES_MAX),
      [],
    );
  });

  test(`no folder of the program has more than ${ROOM_FILES_MAX} files`, () => {
    const rooms = Map.groupBy(source, (file) => dirname(file));
    assert.deepEqual(
      [...rooms].filter(([, own]) => own.length > ROOM_FILES_MAX).map(([room, own]) => `${room}: ${own.length}`),
      [],
    );
  });

  test('a file is named after what is in it', () => {
    const vague = /(^|[-_.])(utils?|helpers?|common|managers?|misc|index)([-_.]|$)/i;
    assert.deepEqual(
      files.filter((file) => vague.test(basename(file))),
      [],
    );
  });

  test('no file has notes to self, traces or tests that do not run', () => {
    // Written so that this file does not match itself.
    assert.deepEqual(matches(code, /\b(?:TO[D]O|FI[X]ME|X[X]X)\b|^\s*debugge[r]\b/), []);
    // The snippets are programs for others, and print what they got.
    const ours = code.filter((file) => file !== 'src/asmx/pages/snippets.ts');
    assert.deepEqual(matches(ours, /\bconsole\.(?:log|debug|trace)\b/), []);
    const tests = code.filter((file) => file.endsWith('.test.ts'));
    assert.deepEqual(matches(tests, /\.(?:onl[y]|ski[p]|tod[o])\(|[{,]\s*(?:onl[y]|ski[p]|tod[o])\b\s*[:,}]/), []);
  });

  test('`any` stands only where a line before it gives the reason', () => {
    const explained = (_: string, before: string) => /biome-ignore lint\/suspicious\/noExplicitAny: \S/.test(before);
    assert.deepEqual(matches(code, /(?:[:<|&]|\bas|=>)\s*any\b\s*(?:[[\],;)>=|&}]|$)|,\s*any\s*>/, explained), []);
  });

  test('every document that a file names is one of ours', () => {
    const wrong = files
      .filter((file) => !file.startsWith(RECORDED))
      .flatMap((file) =>
        [...textOf(file).matchAll(/(?<![\w/.-])((?:[\w.-]+\/)*[\w-]+\.md)\b/g)]
          .map((match) => match[1] as string)
          .filter((named) => !['', dirname(file), 'docs'].some((from) => texts.has(normalize(join(from, named)))))
          .map((named) => `${file} names ${named}`),
      );
    assert.deepEqual(wrong, []);
  });

  test('no file refers to anything outside of the project', () => {
    assert.deepEqual(matches(files, /(?<![\w.}-])\/(?:home|root|work|workspace|Users|mnt)(?:\/|\b(?=['"`\s]))/), []);
    const outside = code.flatMap((file) =>
      [...textOf(file).matchAll(/(['"`])(\.\.?\/[^'"`$\n]*)\1/g)]
        .map((match) => normalize(join(dirname(file), match[2] as string)))
        .filter((path) => path.startsWith('..'))
        .map((path) => `${file} points to ${path}`),
    );
    assert.deepEqual(outside, []);
  });
});

describe('functions and classes', () => {
  const OWN_STATEMENTS_MAX = 40;
  const CLASS_LINES_MAX = 200;
  /** The line on which a body begins: after the parameters, a type or an arrow. */
  const BODY = /^( *)(?:.*\)(?:: .+)?|.*=>) \{$/;
  const BRANCH = /^ *(?:\} )?(?:else|if|for|while|switch|do|try|catch)\b/;
  /** A control statement counts, and so does what it controls: `if (isLate) return;` are two statements. */
  const CONTROL = /^ *(?:\} )?(?:if|else if|for|while|switch|case|do|try)\b/;
  const CLASS = /^(?:export )?(?:abstract )?class .*\{$/;

  interface Range {
    readonly first: number;
    readonly last: number;
    readonly head: string;
  }

  /** The formatter indents the end of a function as far as its beginning. */
  const functionsOf = (lines: readonly string[]): Range[] =>
    lines.flatMap((line, body) => {
      const indent = BODY.exec(line)?.[1];
      if (indent === undefined) return [];
      const isFirst = (each: string) => each.startsWith(indent) && /^[^ )}]/.test(each.slice(indent.length));
      const first = lines.slice(0, body + 1).findLastIndex(isFirst);
      const head = lines[first] ?? line;
      if (BRANCH.test(head)) return [];
      const last = lines.findIndex((each, index) => index > body && each.startsWith(`${indent}}`));
      return [{ first, last, head }];
    });

  /** The formatter ends each statement with a semicolon at the end of a line. */
  const statementsOn = (line: string): number =>
    /^ *(?:\/\/|\*)/.test(line) ? 0 : Number(line.endsWith(';')) + Number(CONTROL.test(line));

  /** Statements of a function that are in none of its inner functions. */
  const longFunctions = (file: string, text: string): string[] => {
    const lines = text.split('\n');
    const ranges = functionsOf(lines);
    return ranges.flatMap(({ first, last, head }) => {
      const inner = ranges.filter((each) => each.first > first && each.last < last);
      const isOwn = (at: number) => !inner.some((each) => at >= each.first && at <= each.last);
      let own = 0;
      for (let at = first; at <= last; at++) if (isOwn(at)) own += statementsOn(lines[at] as string);
      return own > OWN_STATEMENTS_MAX ? [`${file}:${first + 1}: ${own} statements of its own: ${head.trim()}`] : [];
    });
  };

  const longClasses = (file: string, text: string): string[] => {
    const lines = text.split('\n');
    return lines.flatMap((line, first) => {
      if (!CLASS.test(line)) return [];
      const count = lines.indexOf('}', first) - first + 1;
      return count > CLASS_LINES_MAX ? [`${file}:${first + 1}: ${count} lines: ${line}`] : [];
    });
  };

  test(`no function of the program has more than ${OWN_STATEMENTS_MAX} statements of its own`, () => {
    assert.deepEqual(
      source.flatMap((file) => longFunctions(file, textOf(file))),
      [],
    );
  });

  test(`no class of the program has more than ${CLASS_LINES_MAX} lines`, () => {
    assert.deepEqual(
      source.flatMap((file) => longClasses(file, textOf(file))),
      [],
    );
  });

  test('the rule about functions counts statements, not lines, and a factory without its inner functions', () => {
    const body = (indent: string, count: number) => `${indent}step(\n${indent}  1,\n${indent});\n`.repeat(count);
    const outer = (inside: string) => longFunctions('a.ts', `function a(): void {\n${inside}}\n`).length;
    assert.equal(outer(body('  ', OWN_STATEMENTS_MAX)), 0);
    assert.equal(outer(body('  ', OWN_STATEMENTS_MAX + 1)), 1);
    assert.equal(outer('  if (isLate) return;\n'.repeat(OWN_STATEMENTS_MAX / 2 + 1)), 1);
    assert.equal(outer('  // a comment;\n'.repeat(OWN_STATEMENTS_MAX + 1)), 0);
    const inner = (count: number) => `  function b(): void {\n${body('    ', count)}  }\n`;
    assert.equal(outer(inner(OWN_STATEMENTS_MAX) + inner(OWN_STATEMENTS_MAX)), 0);
    assert.equal(outer(inner(OWN_STATEMENTS_MAX + 1)), 1);
  });

  test('the rule about classes counts the lines of a class', () => {
    const ofLines = (count: number) => `export class A {\n${'  x = 1;\n'.repeat(count - 2)}}\n`;
    assert.equal(longClasses('a.ts', ofLines(CLASS_LINES_MAX)).length, 0);
    assert.equal(longClasses('a.ts', ofLines(CLASS_LINES_MAX + 1)).length, 1);
  });

  test('no literal is spread into a literal to save lines', () => {
    assert.deepEqual(matches(code, /^\s*\.\.\.\{ .* \},?$|\.\.\.\[(?:'\w+'|\w+)(?:, (?:'\w+'|\w+))*\][,\])]/), []);
  });
});

describe('comments', () => {
  const COLUMNS_MAX = 100;

  test(`no comment of the program goes beyond column ${COLUMNS_MAX}`, () => {
    const ours = source.filter((file) => file !== 'src/asmx/pages/csharp.ts'); // programs for others
    const wide = matches(ours, /^\s*(?:\/\/|\/?\*)/).filter((line) => {
      const [file, number] = line.split(':', 2) as [string, string];
      return (textOf(file).split('\n')[Number(number) - 1] as string).length > COLUMNS_MAX;
    });
    assert.deepEqual(wide, []);
  });
});

describe('where things belong', () => {
  test('SQL is in src/store and in the .sql.ts files of rooms, and nowhere else in the program', () => {
    const sql =
      /\bselect\s+[\w*.,\s()]+\s+from\s+\w|\binsert\s+into\s+\w|\bupdate\s+\w+\s+set\s+\w|\bdelete\s+from\s+\w|\b(?:create|drop|alter)\s+table\b/i;
    const holdsSql = (file: string) => file.startsWith('src/store/') || file.endsWith('.sql.ts');
    assert.deepEqual(
      source.filter((file) => !holdsSql(file) && sql.test(textOf(file))),
      [],
    );
    assert.ok(source.some((file) => file.endsWith('.sql.ts') && sql.test(textOf(file))));
  });

  test('no layer below the faces names a command, an option or a header field', () => {
    // Webhooks are a face of their own: they are posted to customers.
    const below = source.filter((file) => /^src\/(domain\/(?!webhooks)|asmx\/operations|sms|transfer)\/?/.test(file));
    const face = /['"`](?:[^'"`]* )?(?:columba [a-z]|--[a-z]|(?:Retry-After|Set-Cookie|Content-Type|Location)\b)/;
    const isComment = (line: string) => /^\s*(?:\/\/|\/?\*)/.test(line);
    assert.deepEqual(matches(below, face, isComment), []);
  });

  test('operations are named in the contract and in operations, and in no layer that serves them all', () => {
    const names = Object.values(contract).flatMap((group) => Object.keys(group));
    // Profile, Read and Unread are words as well: those count only where they are quoted.
    const words = names.filter((name) => !/[a-z][A-Z]/.test(name));
    const patterns = [
      `\\b(?:${names.filter((name) => !words.includes(name)).join('|')})\\b`,
      `['"\`](?:${words.join('|')})['"\`]`,
    ];
    assert.deepEqual(words, ['Profile', 'Read', 'Unread']);
    const layers = source.filter((file) =>
      /^src\/(asmx\/(?:xml|results|protocols|pages|[\w-]+\.ts$)|domain|store|sms|http|serve\/(?!demo))/.test(file),
    );
    assert.deepEqual(matches(layers, new RegExp(patterns.join('|'))), []);
  });

  test('what waits, times out or draws a random number takes it from base: nothing else has a timer or a clock', () => {
    const others = source.filter((file) => !file.startsWith('src/base/'));
    // A socket's own setTimeout is about that socket, so a dot may stand before it.
    const machine =
      /(?<!\.)\bset(?:Timeout|Interval|Immediate)\(|\bDate\.now\b|\bMath\.random\b|\bAbortSignal\.timeout\b|\bnew Date\(\)|'node:timers|\bperformance\.now\b|\bhrtime\b/;
    // It tells the health thread when the process was last alive. Two threads share no other clock.
    const betweenThreads = 'src/serve/health-thread.ts';
    assert.deepEqual(matches([betweenThreads], machine).length, 1);
    assert.deepEqual(
      matches(
        others.filter((file) => file !== betweenThreads),
        machine,
      ),
      [],
    );
    assert.deepEqual(matches(others, /^import .*\brandom(?:Bytes|UUID|Int)\b.*'node:crypto'/), []);
    // Commands and the thread of backups are entrances, the reader of an old server is only used by
    // commands, and the Date field of a response is the time of this machine.
    const entrances =
      /^src\/(?:commands\/|serve\/backup\/(?:backup|verify)-worker\.ts$|migration\/(?:commands|old-server)\/|http\/response-writer\.ts$)/;
    const given = others.filter((file) => !entrances.test(file));
    assert.deepEqual(matches(given, /\bsystemClock\b/), []);
    assert.deepEqual(matches(others, /\b(?:replaceRandomness|replaceTurns)\b/), []);
    const callers = matches(source, /\breplacePasswordCost\b/, (line) => line.startsWith('export function '));
    assert.deepEqual(callers, []);
  });
});

describe('packages', () => {
  test('every runtime dependency is imported by the program, and every package that it imports is one', () => {
    const imported = source
      .flatMap(importsOf)
      .filter(({ path, target }) => path === null && !target.startsWith('node:'))
      .map(({ target }) => target.split('/', target.startsWith('@') ? 2 : 1).join('/'));
    assert.deepEqual(
      [...new Set(imported)].sort(),
      Object.keys(JSON.parse(textOf('package.json')).dependencies).sort(),
    );
  });
});
