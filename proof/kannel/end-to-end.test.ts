import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, describe, type TestContext } from 'node:test';
import { columba, freshDatabase, freshPath } from '../../test/support/command.ts';
import { engines } from '../../test/support/engines.ts';
import { freePort } from '../../test/support/free-port.ts';
import { createKannel, type Kannel, kannel, PASSWORDS } from '../../test/support/kannel.ts';
import { openOutside } from '../../test/support/other-process.ts';
import { testWith } from '../../test/support/peers.ts';
import { type Caller, crash, createCaller, type Program, startProgram, until } from '../../test/support/program.ts';
import { type Smsc, startSmsc } from '../../test/support/smsc.ts';

/** The whole service, real Kannel and a carrier: as an operator runs them. */

const peer = kannel();
const SECRET = 'secret-of-the-callbacks';
const SHORT_CODE = '12345';
// After a kill: a connector that is down is tried again after up to 30 s.
const RECOVERY_MS = 240_000;

interface Installation {
  readonly smsc: Smsc;
  readonly gateway: Kannel;
  program: Program;
  caller: Caller;
  /** Runs a command of the operator, and returns what it answers programs. */
  run(...args: string[]): Promise<Record<string, unknown>>;
  check(): Promise<{ code: number | null; stderr: string }>;
  /** Our service, as after a power failure. */
  crashAndStart(): Promise<void>;
  statuses(): Promise<Map<string, string>>;
  /** Numbers whose submission was begun, and of which nobody knows whether the carrier has it. */
  unanswered(batch: Batch): Promise<Set<string>>;
}

type Way = 'box' | 'sendsms';

async function install(way: Way, t: { after: TestContext['after'] }): Promise<Installation> {
  const smsc = await startSmsc();
  const webPort = String(await freePort());
  const callbackUrl = `http://127.0.0.1:${webPort}/carriers/kannel`;
  const gateway = await createKannel({ way, smscPort: smsc.port, callbackUrl, callbackSecret: SECRET });
  await gateway.start();
  t.after(async () => {
    self.caller.close();
    await crash(self.program);
    await gateway.close();
    await smsc.close();
  });
  await until('Kannel is bound', () => smsc.isBound());
  // Each way on one engine: the ways differ by what they tell, not by what is written.
  const postgres = way === 'sendsms' ? engines.find(({ name }) => name === 'postgres') : undefined;
  const database = (await postgres?.fresh('none')) ?? freshDatabase();
  const file = connectorFile(way, gateway, callbackUrl);
  const args = ['--connectors', file, '--web-port', webPort, '--dispatcher', 'on'];
  const run: Installation['run'] = async (...words) => {
    const { code, stdout, stderr } = await columba([...words, '--json', '--database', database]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const { userId } = await run('account', 'add', 'acme', '--credits', '100000');
  await run('route', 'put', 'all', '--username', 'acme');
  const program = await startProgram(database, 1, args);
  const self: Installation = {
    smsc,
    gateway,
    program,
    caller: createCaller(program.address, String(userId)),
    run,
    check: () => columba(['check', '--database', database], { env: { COLUMBA_CONNECTORS: file } }),
    async crashAndStart() {
      self.caller.close();
      await crash(self.program);
      self.program = await startProgram(database, 1, args);
      self.caller = createCaller(self.program.address, String(userId));
    },
    async statuses() {
      const rows = (await self.caller.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: '1000' })) as Status[];
      return new Map(rows.map(({ recipient, delivery_status: status }) => [recipient, status]));
    },
    async unanswered(batch) {
      const outside = await openOutside(database);
      const rows = await outside.query("select message_id from dispatch where state <> 'waiting'");
      await outside.close();
      const ids = new Set(rows.map((row) => String(row.message_id)));
      return new Set([...batch].filter(([, id]) => ids.has(id)).map(([number]) => number));
    },
  };
  return self;
}

interface Status {
  readonly recipient: string;
  readonly delivery_status: string;
}

function connectorFile(way: Way, { ports }: Kannel, callbackUrl: string): string {
  const both = { host: '127.0.0.1', smscId: 'carrier', defaultSender: SHORT_CODE };
  const admin = { adminPort: ports.admin, adminPassword: PASSWORDS.status };
  const own =
    way === 'box'
      ? { port: ports.box }
      : { port: ports.sendsms, username: 'columba', password: PASSWORDS.sendsms, callbackUrl, callbackSecret: SECRET };
  const connector = { name: 'kannel', kind: `kannel-${way}`, isDefault: true, ratePerSecond: 40 };
  const path = freshPath('json');
  writeFileSync(path, JSON.stringify({ connectors: [{ ...connector, config: { ...both, ...admin, ...own } }] }));
  return path;
}

/** Numbers of their own, so that the carrier's log tells messages apart. */
const numbers = (count: number, from: number): string[] =>
  Array.from({ length: count }, (_, index) => `+4670${String(from + index).padStart(7, '0')}`);

const LONG = `${'Привет, мир! 😀 '.repeat(8)}конец`;
const utf16 = (text: string): string => Buffer.from(text, 'utf16le').swap16().toString('hex');

for (const way of ['box', 'sendsms'] as const) {
  describe(`the service with Kannel by ${way}`, () => {
    const closing: (() => unknown)[] = [];
    after(async () => {
      for (const close of closing.reverse()) await close();
    });
    let installation: Installation | undefined;
    const opened = async (): Promise<Installation> => {
      installation ??= await install(way, { after: (close) => void closing.push(close as () => unknown) });
      installation.smsc.rules = [];
      return installation;
    };

    testWith(peer, 'a scheduled message is dispatched, delivered, reported and marked', async () => {
      const { smsc, caller, run, statuses } = await opened();
      const [number = ''] = numbers(1, 1);
      const sendAt = new Date(Date.now() + 2_000).toISOString();
      await run('message', 'send', 'acme', number, '--text', LONG, '--send-at', sendAt, '--reference', 'order-1');
      await until('the status', async () => (await statuses()).get(number) === 'DELIVERED');
      const parts = smsc.submitted.filter(({ to }) => `+${to}` === number);
      const sorted = parts.toSorted((a, b) => ((a.udh ?? '') < (b.udh ?? '') ? -1 : 1));
      assert.ok(parts.length > 1);
      assert.deepEqual(new Set(parts.map(({ dataCoding }) => dataCoding)), new Set([8]));
      assert.equal(sorted.map(({ body }) => body).join(''), utf16(LONG));
      const { items } = (await run('message', 'list', 'acme')) as { items: { id: string }[] };
      assert.equal(await caller.ask('sent', 'MarkMessageAsRead', { id: items[0]?.id ?? '' }), true);
      assert.equal((await statuses()).size, 0);
    });

    testWith(peer, 'Unread returns messages from phones, long ones in one piece', async () => {
      const { smsc, caller } = await opened();
      const cut = 60;
      smsc.send({ from: '46700000001', to: SHORT_CODE, text: 'hello' });
      for (const [index, text] of [LONG.slice(cut), LONG.slice(0, cut)].entries()) {
        smsc.send({ from: '46700000001', to: SHORT_CODE, text, encoding: 'ucs2', udh: `0500037f020${2 - index}` });
      }
      const unread = async () => (await caller.ask('inbox', 'Unread', { max_count: '10' })) as { message: string }[];
      await until('both messages', async () => (await unread()).length === 2);
      assert.deepEqual((await unread()).map(({ message }) => message).toSorted(), ['hello', LONG].toSorted());
    });

    testWith(peer, 'columba check finds no fault, and names the carrier when it is away', async () => {
      const { smsc, gateway, check } = await opened();
      const count = smsc.submitted.length;
      const right = await check();
      assert.deepEqual([right.code, right.stderr], [0, '']);
      assert.equal(smsc.submitted.length, count, 'the check sends nothing');
      smsc.bindStatus = 0x0d;
      smsc.drop();
      await until('Kannel is not online', async () => !/online/.test(await gateway.admin('status.txt')));
      const wrong = await check();
      smsc.bindStatus = 0;
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /^columba: connector kannel: No carrier of Kannel is online for carrier: /m);
      await until('Kannel is bound', () => smsc.isBound());
    });

    testWith(peer, 'no message is lost or sent twice when Columba is killed while it sends', async () => {
      const own = await opened();
      const batch = await send(own, numbers(120, 1_000));
      await until('some are sent', () => sentTo(own, batch).length > 10);
      await own.crashAndStart();
      // What the killed process had claimed is not submitted again before its policy decides.
      const isSettled = async () => isSubset(await openIn(own, batch), await own.unanswered(batch));
      await until('the rest', isSettled, RECOVERY_MS);
      const times = Map.groupBy(sentTo(own, batch), (to) => to);
      assert.deepEqual(
        [...times.values()].filter((each) => each.length > 1),
        [],
      );
    });

    testWith(
      peer,
      'when Kannel is killed while it sends, every message reaches the carrier or has an unknown outcome',
      async () => {
        const own = await opened();
        const batch = await send(own, numbers(120, 3_000));
        await until('some are sent', () => sentTo(own, batch).length > 10);
        await own.gateway.kill();
        await own.gateway.start();
        const missing = () => [...batch.keys()].filter((number) => !sentTo(own, batch).includes(number));
        const isThereOrUnknown = async () => isSubset(missing(), await own.unanswered(batch));
        await until('the carrier has the rest', isThereOrUnknown, RECOVERY_MS);
        if (way === 'sendsms') return; // with smsbox the callbacks that it had begun are gone
        // bearerbox deletes its dlr entry before it stores the receipt. So a kill may take one.
        const isSettled = async () => {
          const unanswered = await own.unanswered(batch);
          return (await openIn(own, batch)).filter((number) => !unanswered.has(number)).length <= 1;
        };
        await until('all receipts but one', isSettled, RECOVERY_MS);
      },
    );

    testWith(
      peer,
      'when Columba and Kannel are killed while they send, every message reaches the carrier or has an unknown outcome',
      async () => {
        const own = await opened();
        const batch = await send(own, numbers(120, 5_000));
        await until('some are sent', () => sentTo(own, batch).length > 10);
        await Promise.all([own.gateway.kill(), crash(own.program)]);
        own.smsc.send({ from: '46700000009', to: SHORT_CODE, text: 'while away' });
        await own.gateway.start();
        await own.crashAndStart();
        const missing = () => [...batch.keys()].filter((number) => !sentTo(own, batch).includes(number));
        const isThereOrUnknown = async () => isSubset(missing(), await own.unanswered(batch));
        await until('the carrier has the rest', isThereOrUnknown, RECOVERY_MS);
        const unread = async () =>
          (await own.caller.ask('inbox', 'Unread', { max_count: '10' })) as { message: string }[];
        const isThere = async () => (await unread()).some((each) => each.message === 'while away');
        await until('the message from the phone', isThere, RECOVERY_MS);
      },
    );
  });
}

/** Ids of messages by the numbers that they are for. */
type Batch = ReadonlyMap<string, string>;

async function send({ run }: Installation, to: readonly string[]): Promise<Batch> {
  const { accepted } = (await run('message', 'send', 'acme', to.join(','), '--text', 'once')) as {
    accepted: { id: string; recipient: string }[];
  };
  assert.equal(accepted.length, to.length);
  return new Map(accepted.map(({ id, recipient }) => [recipient, id]));
}

const sentTo = ({ smsc }: Installation, batch: Batch): string[] =>
  smsc.submitted.map(({ to }) => `+${to}`).filter((to) => batch.has(to));

const isSubset = (numbers: readonly string[], others: ReadonlySet<string>): boolean =>
  numbers.every((number) => others.has(number));

/** Numbers whose message is not delivered. */
async function openIn(own: Installation, batch: Batch): Promise<string[]> {
  const statuses = await own.statuses();
  return [...batch.keys()].filter((number) => statuses.get(number) !== 'DELIVERED');
}
