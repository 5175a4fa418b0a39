import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FrameReader } from '../src/carriers/smpp/frames.ts';
import { answerTo, COMMAND, decodePdu, encodePdu, NO_MESSAGE, type Pdu } from '../src/carriers/smpp/pdu.ts';
import { createKannel, type Kannel, kannel, PASSWORDS } from '../test/support/kannel.ts';
import { launchColumba } from './columba.ts';
import { ACCOUNTS_TEXT, acceptAll, addAccounts, deliveredIn, startStores } from './dispatch-data.ts';
import { cpuByPid, cpuSince, mainThreadUs } from './proc.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { heading, printTable, say, whole } from './report.ts';
import { numberFrom } from './settings.ts';

/**
 * Messages through SMPP on one bind with a window of 100, from the claim to the receipt on disk, and
 * the same submits through Kannel's bearerbox with its spools on disk. The SMSC answers at once and
 * sends a receipt for each. CPU counts, of Columba and of bearerbox.
 */
const MESSAGES = numberFrom('MESSAGES', 20_000);
const WINDOW = 100;
/** The rate and the CPU are taken between these shares of all messages. */
const [FROM, TO] = [0.1, 0.95];

/** Answers every submission, and sends its receipt right after the answer. */
async function startSmsc() {
  let id = 0;
  let sequence = 0;
  const answersTo = (pdu: Pdu): Buffer[] => {
    const answer = { command: answerTo(pdu.command), status: 0, sequence: pdu.sequence };
    if (pdu.command !== COMMAND.submitSm) {
      const isRequest = pdu.command < 0x8000_0000;
      return isRequest ? [encodePdu({ ...answer, ...(pdu.bind && { systemId: 'smsc' }) })] : [];
    }
    const messageId = `a${(++id).toString(16)}`;
    const text = `id:${messageId} sub:001 dlvrd:001 submit date:2611180000 done date:2611180000 stat:DELIVRD err:000 text:`;
    const { source, destination } = pdu.message ?? NO_MESSAGE;
    const message = {
      ...NO_MESSAGE,
      source: destination,
      destination: source,
      esmClass: 4,
      message: Buffer.from(text),
    };
    const receipt = { command: COMMAND.deliverSm, status: 0, sequence: ++sequence, message };
    return [encodePdu({ ...answer, messageId }), encodePdu(receipt)];
  };
  const server = createServer((socket) => {
    const reader = new FrameReader();
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      socket.write(Buffer.concat([...reader.push(chunk)].flatMap((frame) => answersTo(decodePdu(frame)))));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

interface Way {
  readonly name: string;
  readonly kind: string;
  readonly config: object;
  readonly pids: () => number[];
}

async function measure({ name, kind, config, pids }: Way): Promise<string[]> {
  const { stores, stop } = await startStores();
  const [store] = stores;
  if (!store) throw new Error('this program measures SQLite');
  const setting = await store.create();
  const database = await store.open(setting);
  const connectors = join(temporaryFolder(), 'connectors.json');
  const connector = { name: 'carrier', kind, isDefault: true, submissionsMax: 1_000, config };
  writeFileSync(connectors, JSON.stringify({ connectors: [connector] }));
  const { accounts } = await addAccounts(database);
  await acceptAll(database, accounts, MESSAGES);
  say(`${name}: ${MESSAGES} messages are accepted`);
  const columba = await launchColumba({ database: setting, env: { COLUMBA_CONNECTORS: connectors } });
  const count = () => deliveredIn(database);
  while ((await count()) < MESSAGES * FROM) await sleep(50);
  const [own, peer] = [cpuByPid(columba.pids()), cpuByPid(pids())];
  const mainBefore = mainThreadUs(columba.pid);
  const [first, startedAt] = [await count(), performance.now()];
  let last = first;
  while (last < MESSAGES * TO) {
    await sleep(200); // each count reads all messages
    last = await count();
  }
  const sent = last - first;
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = [cpuSince(own, columba.pids()) / sent, cpuSince(peer, pids()) / sent];
  const ofMain = (mainThreadUs(columba.pid) - mainBefore) / sent;
  await columba.stop();
  await database.close();
  await stop();
  return [
    name,
    whole(sent / seconds),
    whole(ofMain),
    ...cpu.map(whole),
    whole(cpu.reduce((sum, each) => sum + each, 0)),
  ];
}

process.env.ENGINE = 'sqlite';
const smsc = await startSmsc();
const rows = [
  await measure({
    name: 'smpp',
    kind: 'smpp',
    config: {
      host: '127.0.0.1',
      port: smsc.port,
      systemId: 'bench',
      password: 'bench',
      window: WINDOW,
      defaultSender: 'Bench',
    },
    pids: () => [],
  }),
];
if (kannel().command === null) say("Debian's package kannel is not installed, left out");
else {
  const gateway: Kannel = await createKannel({
    way: 'box',
    smscPort: smsc.port,
    change: (text) =>
      text.replace('throughput = 50\n', '').replace('max-pending-submits = 10', `max-pending-submits = ${WINDOW}`),
  });
  await gateway.start();
  const config = {
    host: '127.0.0.1',
    port: gateway.ports.box,
    smscId: 'carrier',
    window: WINDOW,
    defaultSender: 'Bench',
    adminPort: gateway.ports.admin,
    adminPassword: PASSWORDS.status,
  };
  rows.push(await measure({ name: 'kannel-box', kind: 'kannel-box', config, pids: () => [gateway.pid()] }));
  await gateway.close();
}
smsc.close();
await endAll();
heading(
  'SMPP',
  `${whole(MESSAGES)} messages of ${ACCOUNTS_TEXT} on SQLite, from the claim to the receipt on disk, on one bind with a window of ${WINDOW}.`,
  'CPU in µs for each message.',
);
printTable(['way', 'sent/s', 'main thread', 'CPU of Columba', 'CPU of bearerbox', 'both'], rows);
