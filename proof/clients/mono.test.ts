import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { snippets } from '../../src/asmx/pages/snippets.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { mono, testWith } from '../../test/support/peers.ts';
import { ACME, startService } from '../../test/support/service.ts';

/** .NET's own client of ASMX: the class that `wsdl` makes of a WSDL, compiled and run by Mono. */

const root = mkdtempSync(join(tmpdir(), 'columba-mono-'));
after(() => rmSync(root, { recursive: true, force: true }));

const ENVIRONMENT = { PATH: process.env.PATH, HOME: root, LANG: 'C.UTF-8', TZ: 'Africa/Johannesburg' };
const REFERENCES = ['System.Web.Services', 'System.Data', 'System.Data.DataSetExtensions'].map((name) => `-r:${name}`);
const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations).map(([name, operation]) => ({ group, name, operation })),
);

/** A program of the page of an operation. */
function programOf(address: string, group: string, name: string, operation: Operation): string {
  const target = { address: `${address}/api/${group}.asmx`, userId: ACME, hasLists: false };
  return snippets(target, name, operation).find(({ language }) => language === 'C# with the WSDL')?.program ?? '';
}

interface Workshop {
  readonly address: string;
  write(file: string, text: string): void;
  /** What the command prints. */
  run(command: string, ...args: string[]): Promise<string>;
}

onEveryEngine('.NET by Mono', (engine) => {
  const peer = mono();
  const withMono = (behaviour: string, work: (workshop: Workshop) => Promise<void>) =>
    testWith(peer, behaviour, async () => {
      const folder = mkdtempSync(join(root, 'run-'));
      const service = await startService(engine);
      try {
        await work({
          address: await service.app.start(),
          write: (file, text) => writeFileSync(join(folder, file), text),
          run: async (command, ...args) =>
            (await promisify(execFile)(command, args, { cwd: folder, env: ENVIRONMENT })).stdout,
        });
      } finally {
        await service.stop();
      }
    });

  withMono('the example for the WSDL works by the commands that stand in it', async ({ address, write, run }) => {
    const example = readFileSync(new URL('../../examples/unread-wsdl.cs', import.meta.url), 'utf8');
    const program = example.replaceAll('http://127.0.0.1:8080', address);
    write('Program.cs', program);
    const [wsdl = '', compile = ''] = program.split('\n').map((line) => line.replace('// ', ''));
    await run('sh', '-c', wsdl);
    await run('sh', '-c', compile.replace('csc', 'mcs'));
    const printed = await run('mono', 'Program.exe');
    assert.match(printed, /^1003 \| \+27825550203 \| 二箱のりんごをください \| 31000 \| /m);
    assert.match(printed, /^1004 \| {2}\| no sender on this one \| /m); // absent is null
    assert.match(printed, /^9007199254740993 \| /m);
  });

  withMono('the programs of all 32 pages get an answer, and no fault', async ({ address, write, run }) => {
    const groups = Object.keys(contract);
    for (const group of groups) await run('wsdl', `${address}/api/${group}.asmx?WSDL`, `-n:${group}`);
    const classes = OPERATIONS.map(({ group, name, operation }, index) =>
      programOf(address, group, name, operation)
        .replace(/^(\/\/|using).*\n/gm, '')
        .replace('static class Program', `static class Program${index}`)
        .replace('static void Main', 'public static void Main')
        .replace(`new ${group}()`, `new ${group}.${group}()`),
    );
    const calls = classes.map((_, index) => `Program${index}.Main(); Console.WriteLine("answered");`);
    const all = `static class All { static void Main() { ${calls.join('\n')} } }`;
    write('All.cs', `using System;\nusing System.Data;\n${classes.join('\n')}\n${all}`);
    await run('mcs', 'All.cs', ...groups.map((group) => `${group}.cs`), ...REFERENCES, '-main:All');
    const printed = await run('mono', 'All.exe');
    assert.equal(printed.match(/^answered$/gm)?.length, OPERATIONS.length, printed);
  });

  withMono(
    'a typed DataSet, made from the schema that a DataSet brings, takes its rows',
    async ({ address, ...at }) => {
      const { write, run } = at;
      await run('wsdl', `${address}/api/inbox.asmx?WSDL`);
      const call = `new inbox().InboxDS("${ACME}", 20)`;
      write('Schema.cs', `static class Schema { static void Main() { ${call}.WriteXmlSchema("InboxDS.xsd"); } }`);
      await run('mcs', 'Schema.cs', 'inbox.cs', ...REFERENCES);
      await run('mono', 'Schema.exe');
      await run('xsd', 'InboxDS.xsd', '/dataset');
      write('Typed.cs', typedProgram(call));
      await run('mcs', 'Typed.cs', 'inbox.cs', 'InboxDS.cs', ...REFERENCES, '-r:Microsoft.CSharp');
      const lines = (await run('mono', 'Typed.exe')).trim().split('\n');
      assert.deepEqual(lines.slice(0, 6), [
        'id Int64',
        'sender String',
        'message String',
        'short_code String',
        'timestamp DateTime',
        'read Boolean',
      ]);
      assert.ok(lines.includes('1003 2026-10-02T10:45:30.0000000Z False +27825550203'));
      assert.ok(lines.includes('1004 2026-10-03T11:00:00.0000000Z False absent'));
      assert.ok(lines.includes('9007199254740993 2026-10-04T12:00:00.0000000Z False +27825550206'));
    },
  );
});

/** Mono's xsd calls the table _Table, .NET's calls it Table: so it is taken by its number. Mono's leaves out DateTimeMode. */
const typedProgram = (call: string): string => `using System;
static class Typed
{
    static void Main()
    {
        var typed = new NewDataSet();
        typed.Tables[0].Columns["timestamp"].DateTimeMode = System.Data.DataSetDateTime.Utc;
        typed.Merge(${call});
        foreach (System.Data.DataColumn column in typed.Tables[0].Columns)
            Console.WriteLine("{0} {1}", column.ColumnName, column.DataType.Name);
        foreach (dynamic row in typed.Tables[0].Rows)
        {
            long id = row.id;
            DateTime timestamp = row.timestamp;
            bool read = row.read;
            Console.WriteLine("{0} {1:o} {2} {3}", id, timestamp, read, row.IssenderNull() ? "absent" : row.sender);
        }
    }
}
`;
