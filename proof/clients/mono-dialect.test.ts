import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { snippets } from '../../src/asmx/pages/snippets.ts';
import { resultForm } from '../../src/asmx/results/result-form.ts';
import { engines } from '../../test/support/engines.ts';
import { mono, testWith } from '../../test/support/peers.ts';
import { ACME, startService } from '../../test/support/service.ts';

/** .NET reads what a dialect has Columba write. The clock of the client is in Johannesburg. */

const root = mkdtempSync(join(tmpdir(), 'columba-mono-dialect-'));
after(() => rmSync(root, { recursive: true, force: true }));

const ENVIRONMENT = { PATH: process.env.PATH, HOME: root, LANG: 'C.UTF-8', TZ: 'Africa/Johannesburg' };
const REFERENCES = ['System.Web.Services', 'System.Data', 'System.Data.DataSetExtensions'].map((name) => `-r:${name}`);

/** In the settings too, or answers would be validated against the usual WSDL. */
const NAMESPACE = 'http://old.example/webservices/';
const DIALECT: Dialect = {
  namespace: NAMESPACE,
  dataSet: {
    name: 'SmsData',
    table: 'Row',
    dates: { zone: 'offset', timeZone: 'Africa/Johannesburg', fractionDigits: 7 },
  },
  columns: {
    'inbox.InboxDS': [
      { name: 'MessageID', type: 'long', from: 'id' },
      { name: 'Received', type: 'dateTime', from: 'timestamp' },
      { name: 'Message_x0020_Text', type: 'string', from: 'message' },
      { name: 'IsRead', type: 'int', from: 'read' },
      { name: 'Cost', type: 'decimal', constant: '1.50' },
      { name: 'Code', type: 'short', from: 'short_code' },
      { name: 'Nothing', type: 'double' },
    ],
  },
  dates: { zone: 'none', timeZone: 'Africa/Johannesburg' },
  orders: { 'inbox.InboxDS': 'id' },
};

testWith(
  mono(),
  'a DataSet and records of a dialect arrive in .NET with their names, types and local times',
  async () => {
    const path = join(root, 'dialect.json');
    writeFileSync(path, JSON.stringify(DIALECT));
    const service = await startService(engines[0] as (typeof engines)[0], 'sample', {
      dialect: path,
      namespace: NAMESPACE,
    });
    const run = async (command: string, ...args: string[]) =>
      (await promisify(execFile)(command, args, { cwd: root, env: ENVIRONMENT })).stdout;
    try {
      const address = `${await service.app.start()}/api/inbox.asmx`;
      await run('wsdl', `${address}?WSDL`);
      const target = { address, userId: ACME, hasLists: false, form: resultForm(DIALECT, 'inbox.InboxDS') };
      const page = snippets(target, 'InboxDS', contract.inbox.InboxDS)[0]?.program ?? '';
      writeFileSync(join(root, 'Page.cs'), page);
      await run('mcs', 'Page.cs', 'inbox.cs', ...REFERENCES);
      assert.match(
        await run('mono', 'Page.exe'),
        /^1001 \| .* \| Is the market open today\? \| 1 \| 1\.50 \| 31000 \| $/m,
      );
      writeFileSync(join(root, 'Program.cs'), PROGRAM);
      await run('mcs', 'Program.cs', 'inbox.cs', ...REFERENCES);
      assert.deepEqual((await run('mono', 'Program.exe')).trim().split('\n'), [
        'SmsData Row',
        'MessageID Int64',
        'Received DateTime',
        'Message Text String',
        'IsRead Int32',
        'Cost Decimal',
        'Code Int16',
        'Nothing Double',
        '1002 2026-10-01T11:30:00 Local',
        '1003 2026-10-02T12:45:30 Unspecified',
      ]);
    } finally {
      await service.stop();
    }
  },
);

const PROGRAM = `using System;
static class Program
{
    static void Main()
    {
        var data = new inbox().InboxDS("${ACME}", 20);
        var table = data.Tables[0];
        Console.WriteLine("{0} {1}", data.DataSetName, table.TableName);
        foreach (System.Data.DataColumn column in table.Columns)
            Console.WriteLine("{0} {1}", column.ColumnName, column.DataType.Name);
        var at = (DateTime)table.Rows[1]["Received"];
        Console.WriteLine("{0} {1:s} {2}", table.Rows[1]["MessageID"], at, at.Kind == DateTimeKind.Unspecified ? "Local" : at.Kind.ToString());
        var first = new inbox().Unread("${ACME}", 1)[0];
        Console.WriteLine("{0} {1:s} {2}", first.id, first.timestamp, first.timestamp.Kind);
    }
}
`;
