import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_OFF, importData, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { openConnection } from './load.ts';
import { CONNECTIONS, callOf, driveOperation, NAMES, type Name } from './operations.ts';
import { type Peer, startPeers } from './peers.ts';
import { endAll, type Running, temporaryFolder } from './processes.ts';
import { heading, print, printTable, say } from './report.ts';
import { type Protocol, requestBytes } from './requests.ts';
import { comparison, mean, median, type Results, ratios, rounds, withSpread } from './rounds.ts';
import { startServer } from './servers.ts';
import { numberFrom, ROUNDS, WITH_PEERS } from './settings.ts';

/**
 * CPU per call of four operations: Columba, two floors, and servers on other toolkits. The floors are bare
 * node:http and node:net servers that answer as many bytes. One process each, keep-alive connections, durability on.
 */
// Each of a thousand accounts asks twenty times before a message of it is marked. A mark drops its cached answers.
const REQUESTS = numberFrom('REQUESTS', 20_000);
const SLICES = 10;
const SLICE = Math.ceil(REQUESTS / SLICES);

const FLOOR = 'floor: node:http, fixed bytes';
const NET_FLOOR = 'floor: node:net, fixed bytes';
const SOAP = 'Columba, SOAP 1.1';
const UNCACHED = 'Columba, SOAP 1.1, cache off';
const NPM_SOAP = 'npm soap, SOAP 1.1';
const nameOf = ({ name, version }: Peer) => `${name} ${version}, SOAP 1.1`;

/** How near to the floor Columba is to come. */
const TARGETS: Readonly<Record<Name, number>> = {
  Profile: 0.6,
  Unread: 0.45,
  CountUnread: 0.55,
  MarkMessageAsRead: 0.4,
};
const TIMES_NPM_SOAP = 4;
/** Of cached answers of operations that read, to node:net. */
const OF_NET = 0.65;

say(`importing ${ACCOUNTS} accounts with ${MESSAGES} messages each`);
const database = `sqlite:${join(temporaryFolder(), 'bench.db')}`;
await importData(database);
copyFileSync(database.slice('sqlite:'.length), `${database.slice('sqlite:'.length)}-copy`);
say('starting the servers');
const columba = await startColumba({ database });
const uncached = await startColumba({ database: `${database}-copy`, flags: CACHE_OFF });
const floor = await startServer('floor.ts');
const netFloor = await startServer('net-floor.ts');
const npmSoap = await startServer('npm-soap.ts');
const peers = WITH_PEERS ? await startPeers() : [];
if (2 * REQUESTS * (ROUNDS + 1) > ACCOUNTS * MESSAGES) say('there are too few messages: some are marked again');

const measures = (server: Running, protocol: Protocol) =>
  Object.fromEntries(
    NAMES.map((operation) => [
      operation,
      async () => (await driveOperation({ server, protocol, operation, requests: SLICE })).cpuUs,
    ]),
  );

/** As many bytes as Columba answers, heads included: theirs differ. */
async function floorMeasures(server: Running) {
  const [ours, bare] = [await openConnection(columba.port), await openConnection(server.port)];
  const measured: Record<string, () => Promise<number>> = {};
  for (const operation of NAMES) {
    const call = callOf(operation, 0);
    const { headBytes, bytes } = await ours.ask(requestBytes('SOAP 1.1', call));
    const own = await bare.ask(requestBytes('SOAP 1.1', call, `/${bytes}`));
    const path = `/${bytes + headBytes - own.headBytes}`;
    measured[operation] = async () =>
      (await driveOperation({ server, protocol: 'SOAP 1.1', operation, requests: SLICE, path })).cpuUs;
  }
  for (const connection of [ours, bare]) connection.close();
  return measured;
}

const candidates = {
  [FLOOR]: await floorMeasures(floor),
  [NET_FLOOR]: await floorMeasures(netFloor),
  [SOAP]: measures(columba, 'SOAP 1.1'),
  'Columba, GET': measures(columba, 'GET'),
  [UNCACHED]: measures(uncached, 'SOAP 1.1'),
  [NPM_SOAP]: measures(npmSoap, 'SOAP 1.1'),
  ...Object.fromEntries(peers.map((peer) => [nameOf(peer), measures(peer, 'SOAP 1.1')])),
};
const results = await rounds(candidates, () => {}, ROUNDS, { count: SLICES, join: mean });
for (const peer of peers) await peer.stop();
await endAll();
report(results);

function report(found: Results<number>): void {
  heading(
    'Calls',
    `${ACCOUNTS} accounts with ${MESSAGES} messages each, ${CONNECTIONS} keep-alive connections, ${ROUNDS} rounds of ${REQUESTS} calls in ${SLICES} slices.`,
    'CPU of the server per call, in µs; then how many times better than the floor (between which values in the rounds).',
  );
  const { head, rows } = comparison(found, FLOOR);
  printTable(head, rows);
  print('How many times better than npm soap:');
  const times = Object.entries(found).map(([name, figures]) => [
    name,
    ...NAMES.map((operation) => withSpread(ratios(found[NPM_SOAP]?.[operation], figures[operation]))),
  ]);
  printTable(head, times);
  print('Targets of Columba, SOAP 1.1:');
  const gsoaps = peers.filter(({ name }) => name.startsWith('gSOAP'));
  printTable(
    ['target', 'reached', '', 'with the cache off', ''],
    NAMES.flatMap((operation) => [
      target(
        found,
        FLOOR,
        operation,
        TARGETS[operation],
        `${operation}: ${TARGETS[operation].toFixed(2)} of the floor`,
      ),
      ...(operation === 'MarkMessageAsRead'
        ? []
        : [target(found, NET_FLOOR, operation, OF_NET, `${operation}: ${OF_NET} of node:net`)]),
      ...gsoaps.map((peer) => target(found, nameOf(peer), operation, 1, `${operation}: ahead of ${peer.name}`)),
      target(found, NPM_SOAP, operation, TIMES_NPM_SOAP, `${operation}: ${TIMES_NPM_SOAP} times npm soap`),
    ]),
  );
}

function target(found: Results<number>, base: string, operation: Name, least: number, words: string): string[] {
  const reached = [SOAP, UNCACHED].map((name) => ratios(found[base]?.[operation], found[name]?.[operation]));
  return [words, ...reached.flatMap((each) => [withSpread(each), median(each) >= least ? 'met' : 'not met'])];
}
