import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { clientsOfRecordings } from '../../src/migration/proxy/client-inventory.ts';
import { createMigrationClients } from '../../src/migration/stages/clients.ts';
import { migrationReport, reportDocument } from '../../src/migration/stages/report.ts';
import { onOneEngine } from '../support/engines.ts';
import { startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

/** An old server that has operations which Columba lacks, and refuses all others. */
async function startOld(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    const isThere = /SendMessage|billing|\.asmx$/.test(request.url ?? '');
    response.writeHead(isThere ? 200 : 500, { 'Content-Type': 'text/xml' });
    response.end('<?xml version="1.0"?><boolean>true</boolean>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const soap = (operation: string): string =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><${operation} xmlns="http://sms.example/api"><user_id>${ACME}</user_id></${operation}></s:Body></s:Envelope>`;

onOneEngine('operations that Columba lacks', (engine) => {
  for (const stage of ['record', 'compare'] as const) {
    test(`${stage}: operations that the old server answers and Columba lacks are counted by name, and the verdict is not safe with them`, async (t) => {
      const { address, migration, service, ...proxied } = await startProxied(t, engine, { oldUrl: await startOld(t) });
      await proxied.stage(stage);
      const post = (path: string, type: string, body: string) =>
        fetch(`${address}${path}`, { method: 'POST', headers: { 'Content-Type': type }, body }).then((r) => r.text());
      await fetch(`${address}/api/compose.asmx/SendMessage?user_id=${ACME}&text=Hi`).then((r) => r.text());
      await post('/api/compose.asmx/SendMessage', 'application/x-www-form-urlencoded', `user_id=${ACME}`);
      await post('/api/compose.asmx', 'text/xml; charset=utf-8', soap('ScheduleMessage'));
      await post('/api/billing.asmx/Invoices', 'application/x-www-form-urlencoded', `user_id=${ACME}`);
      // Not there either, so nobody depends on it.
      for (let made = 0; made < 5; made++) await fetch(`${address}/api/compose.asmx/Made${made}`).then((r) => r.text());
      // A document is no call.
      await fetch(`${address}/api/compose.asmx?WSDL`).then((r) => r.text());
      await migration.pendingCounts.flush();
      await migration.clients.flush();
      const report = await migrationReport(service.app.database, () => service.clock.now, { days: 7, callsMin: 1 });
      assert.deepEqual(report.unknown, [
        { operation: 'billing.Invoices', calls: 1, isAccepted: false },
        { operation: 'compose.ScheduleMessage', calls: 1, isAccepted: false },
        { operation: 'compose.SendMessage', calls: 2, isAccepted: false },
      ]);
      const rule = report.rules.find(({ name }) => name === 'unknown');
      assert.deepEqual([rule?.isMet, report.isSafe], [false, false]);
      assert.match(reportDocument(report), /compose\.SendMessage<\/code>: 2 calls, not accepted/);
    });

    test(`${stage}: the clients of operations that Columba lacks are listed with the names of the operations, and invented names are not`, async (t) => {
      const { address, migration, service, ...proxied } = await startProxied(t, engine, { oldUrl: await startOld(t) });
      await proxied.stage(stage);
      await fetch(`${address}/api/compose.asmx/SendMessage?user_id=${ACME}&text=Hi`).then((r) => r.text());
      await fetch(`${address}/api/compose.asmx`, {
        method: 'POST',
        headers: { 'Content-Type': 'text/xml', SOAPAction: '"http://sms.example/api/ScheduleMessage"' },
        body: soap('ScheduleMessage'),
      }).then((r) => r.text());
      for (let made = 0; made < 5; made++) await fetch(`${address}/api/compose.asmx/Made${made}`).then((r) => r.text());
      await migration.clients.flush();
      const clients = createMigrationClients(service.app.database, () => service.clock.now);
      const found = await clients.list({ name: '', agent: '', address: '' }, 10, {});
      assert.deepEqual(
        found.map(({ username, calls }) => [
          username,
          calls.map(({ operation, protocol }) => `${operation} ${protocol}`),
        ]),
        [
          [null, ['other ']],
          ['acme', ['compose.ScheduleMessage soap11', 'compose.SendMessage get']],
        ],
      );
      const exchanges = await proxied.recorded();
      async function* each() {
        yield* exchanges;
      }
      const recorded = (await clientsOfRecordings(each())).map(({ operation }) => operation);
      assert.deepEqual(recorded.sort(), ['compose.ScheduleMessage', 'compose.SendMessage', 'other']);
    });
  }
});
