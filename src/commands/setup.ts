import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { randomBytes } from '../base/random.ts';
import { fileOf, secretNamesOf } from '../carriers/http/config.ts';
import { shippedProviders } from '../carriers/http/shipped.ts';
import { databaseName, sqlitePath } from '../config/database-name.ts';
import { type Config, settings } from '../config/settings.ts';
import { webUrlOf } from '../config/web-address.ts';
import type { Action, Services } from '../operator/action.ts';
import { actions } from '../operator/actions/all.ts';
import { servicesOf } from '../serve/compose/operator.ts';
import { performForPeople, readJsonOption } from './action-command.ts';
import { commandActor } from './operator.ts';
import { createTeller, harmless, remark, type Teller } from './output.ts';
import { ask, askSecret } from './secret-input.ts';
import { configOf, withSession } from './session.ts';

/**
 * `columba setup`: from nothing to the first message. Every step looks first at what is there, so
 * the command can be run again. At a terminal it asks for what no flag gives; elsewhere it does
 * only what flags say.
 */
export interface SetupOptions {
  readonly operator?: string;
  readonly account?: string;
  readonly credits?: string;
  readonly region?: string;
  readonly carrier?: string;
  readonly carrierConfig?: string;
  readonly replaceCarrier?: true;
  readonly sendTo?: string;
  readonly text?: string;
  readonly ask?: boolean;
  readonly json?: true;
}

export const CARRIERS: readonly string[] = ['loopback', 'smpp', 'kannel', ...shippedProviders];

interface Setup {
  readonly options: SetupOptions;
  readonly config: Config;
  readonly services: Services;
  /** The answer at a terminal, or the default elsewhere. */
  readonly answer: (question: string, fallback: string) => Promise<string>;
  readonly asks: boolean;
  readonly tell: Teller['tell'];
}

type Json = Readonly<Record<string, unknown>>;

export async function runSetup(command: Command): Promise<void> {
  const options: SetupOptions = command.opts();
  const asks = process.stdin.isTTY === true && options.ask !== false && !options.json;
  const { tell, end } = createTeller(options.json === true);
  checkOptions(options, asks);
  const answer = async (question: string, fallback: string) => (asks ? ask(question, fallback) : fallback);
  await chooseDatabase(command, answer, tell);
  await withSession(command, { creates: true }, async ({ services, config }) => {
    const setup = { options, config, answer, asks, tell, services: servicesOf(services, config, systemClock) };
    const lines = process.stderr.isTTY ? [] : [`Database: ${databaseName(config)}`]; // a terminal has it already
    tell({ database: databaseName(config) }, ...lines);
    await addOperator(setup);
    const account = await addAccount(setup);
    await addCarrier(setup);
    if (account) await sendTest(setup, account.username);
    tellOldProgram(setup, account);
    end();
  });
}

function checkOptions({ carrier, operator, account, sendTo, carrierConfig }: SetupOptions, asks: boolean): void {
  if (carrier !== undefined && !CARRIERS.includes(carrier))
    throw new Problem('bad-argument', `--carrier: expected one of ${CARRIERS.join(', ')}`);
  if (carrierConfig !== undefined && carrier === undefined)
    throw new Problem('bad-argument', '--carrier-config: name the carrier too, with --carrier');
  if (!asks && account === undefined && sendTo !== undefined)
    throw new Problem('bad-argument', '--send-to: name the account that sends, with --account');
  if (!asks && [operator, account, carrier].every((each) => each === undefined))
    throw new Problem(
      'bad-argument',
      'setup asks questions at a terminal, and there is none. Say what to set up with flags, such as: ' +
        'columba setup --operator ann --account acme --carrier loopback',
    );
}

/** Asks only if nothing names a database yet. The answer is kept in columba.conf of this folder. */
async function chooseDatabase(command: Command, answer: Setup['answer'], tell: Setup['tell']): Promise<void> {
  const { config, file } = configOf(command);
  const isNamed = command.opts().database !== undefined || process.env.COLUMBA_DATABASE || file;
  if (isNamed || existsSync(sqlitePath(config) ?? '')) return;
  const given = await answer('Database (sqlite:PATH, or postgres://USER:PASSWORD@HOST/NAME)', config.database);
  if (given === config.database) return;
  settings.database.parse(given);
  const path = resolve('columba.conf');
  writeFileSync(path, `COLUMBA_DATABASE=${given}\n`, { mode: 0o600, flag: 'wx' });
  tell({}, `Settings: ${path} names the database. Run columba in this folder, or set COLUMBA_CONFIG=${path}`);
}

const named = (name: string): Action => actions.find((action) => action.name === name) as Action;

/** The output of an action; null if what it asks for is not there. */
async function act(services: Services, name: string, given: { params?: Json; body?: Json }): Promise<Json | null> {
  const raw = { params: (given.params ?? {}) as Record<string, string>, query: {}, upload: new Uint8Array() };
  const action = named(name);
  try {
    return (await performForPeople(services, action, { ...raw, body: given.body }, commandActor())).output as Json;
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.kind === 'not-found') return null;
    throw thrown;
  }
}

async function addOperator({ services, options, answer, asks, tell }: Setup): Promise<void> {
  const { items } = (await act(services, 'operator list', {})) as { items: { name: string }[] };
  const [first] = items;
  if (options.operator === undefined && first)
    return tell({ operator: { name: first.name, link: null } }, `Operator: ${harmless(first.name)} is there already.`);
  const name =
    options.operator ?? (await answer('First operator of the console (empty for none)', asks ? 'admin' : ''));
  if (name === '') return;
  if (items.some((each) => each.name === name)) {
    return tell(
      { operator: { name, link: null } },
      `Operator: ${name} is there already. A new link: columba operator sign-in-link ${name}`,
    );
  }
  const added = await act(services, 'operator add', { body: { name } });
  tell(
    { operator: { name, link: added?.link } },
    `Operator: ${name} signs in once within 24 hours with\n  ${added?.link}`,
  );
}

interface SetUpAccount {
  readonly username: string;
  /** Null if the account was there: only its hash is stored. */
  readonly userId: string | null;
}

async function addAccount({ services, options, answer, config, asks, tell }: Setup): Promise<SetUpAccount | null> {
  const username = options.account ?? (await answer('First account (empty for none)', asks ? 'acme' : ''));
  if (username === '') return null;
  if (await act(services, 'account show', { params: { username } })) {
    tell({ account: { username, userId: null } }, `Account: ${username} is there already.`);
    return { username, userId: null };
  }
  const region =
    options.region ?? (await answer('Country of its local numbers, such as ZA (empty for none)', config.region));
  const credits = options.credits ?? (await answer('Credits to begin with', '100'));
  const body = { username, credits, ...(region && { region }) };
  const added = await act(services, 'account add', { body });
  tell(
    { account: { username, userId: added?.userId } },
    `Account: ${username} with ${credits === '1' ? '1 credit' : `${credits} credits`}${region ? `, country ${region}` : ''}.`,
  );
  if (!region)
    remark(`columba: ${username} has no region, so it sends only to numbers with a country code such as +27….`);
  return { username, userId: String(added?.userId) };
}

async function addCarrier(setup: Setup): Promise<void> {
  const { services, options, answer, asks, tell } = setup;
  const { items } = (await act(services, 'connector list', {})) as { items: { name: string; kind: string }[] };
  const real = items.find(({ kind }) => kind !== 'loopback');
  if (options.carrier === undefined && real)
    return tell({ carrier: { name: real.name, isNew: false } }, `Carrier: ${harmless(real.name)} is there already.`);
  const carrier = options.carrier ?? (await answer(`Carrier (${CARRIERS.join(', ')})`, asks ? 'loopback' : ''));
  if (carrier === '') return;
  if (!CARRIERS.includes(carrier)) throw new Problem('bad-argument', `Carrier: expected one of ${CARRIERS.join(', ')}`);
  if (items.some(({ name }) => name === carrier) && options.replaceCarrier !== true) {
    return tell(
      { carrier: { name: carrier, isNew: false } },
      `Carrier: ${carrier} is there already. Replace its configuration with --replace-carrier.`,
    );
  }
  const kind = { loopback: 'loopback', smpp: 'smpp', kannel: 'kannel-box' }[carrier] ?? 'http';
  const given =
    options.carrierConfig === undefined ? null : await readJsonOption('carrier-config', options.carrierConfig);
  const config = given ?? (await askCarrier(setup, carrier));
  const body = { kind, isDefault: true, config: kind === 'http' ? { provider: carrier, ...config } : config };
  await act(services, 'connector put', { params: { name: carrier }, body });
  const tested = carrier === 'loopback' ? null : await act(services, 'connector test', { params: { name: carrier } });
  const { mistakes = [], notes = [] } = (tested ?? {}) as { mistakes?: string[]; notes?: string[] };
  tell(
    { carrier: { name: carrier, isNew: true, mistakes, notes } },
    `Carrier: ${carrier}${carrier === 'loopback' ? ', which simulates one and brings messages to nobody' : ''}.`,
    ...notes.map((note) => `  ${harmless(note)}`),
  );
  for (const mistake of mistakes) remark(`columba: ${harmless(mistake)}`);
  if (mistakes.length > 0) remark(`columba: Correct it with: columba setup --carrier ${carrier} --replace-carrier`);
}

/** The least that a carrier needs. Secrets are not echoed, and never on the command line. */
async function askCarrier({ answer, asks, config }: Setup, carrier: string): Promise<Json> {
  if (carrier === 'loopback') return {};
  if (!asks)
    throw new Problem('bad-argument', `--carrier-config: ${carrier} needs its configuration, as JSON from @FILE or -`);
  if (carrier === 'kannel') {
    const host = await answer('Host of bearerbox', '127.0.0.1');
    return { host, port: Number(await answer('Its smsbox-port', '13001')) };
  }
  if (carrier === 'smpp') {
    const host = await answer('Host of the SMSC', '');
    const port = Number(await answer('Its port', '2775'));
    const systemId = await answer('system_id', '');
    const password = await askSecret('password');
    const sender = await answer('Sender of messages that have none (empty for none)', '');
    return { host, port, systemId, password, ...(sender && { defaultSender: sender }) };
  }
  return askProvider(carrier, answer, webUrlOf(config) ?? '');
}

async function askProvider(provider: string, answer: Setup['answer'], webUrl: string): Promise<Json> {
  const chosen: Record<string, string> = {};
  for (const name of fileOf({ provider }).settings) {
    const value = await answer(name.endsWith('?') ? `${name.slice(0, -1)} (empty for none)` : name, '');
    if (value !== '') chosen[name.replace('?', '')] = value;
  }
  const secrets: Record<string, string> = {};
  for (const name of secretNamesOf(provider)) {
    // The operator makes this one up, and the provider gets it as part of an address.
    const value = name === 'callbackSecret' ? randomBytes(24).toString('base64url') : await askSecret(name);
    if (value !== '') secrets[name] = value;
  }
  const publicUrl = await answer('Public address of the web listener, for its callbacks', webUrl);
  const sender = await answer('Sender of messages that have none (empty for none)', '');
  return { settings: chosen, secrets, ...(publicUrl && { publicUrl }), ...(sender && { defaultSender: sender }) };
}

/** How long the message is watched. A service that runs submits it within a second. */
const WATCHED_MS = 10_000;
const LOOK_EVERY_MS = 500;

async function sendTest({ services, options, answer, tell }: Setup, username: string): Promise<void> {
  const number = options.sendTo ?? (await answer('Number for a test message (empty for none)', ''));
  if (number === '') return;
  const text = options.text ?? 'A test message of Columba.';
  const sent = await act(services, 'message send', { params: { username }, body: { recipients: [number], text } });
  const { accepted, refused } = sent as { accepted: { id: string }[]; refused: { detail: string }[] };
  const [first] = accepted;
  if (!first) {
    const detail = refused[0]?.detail ?? '';
    const hint = detail.includes('set the region') ? `: columba account change ${username} --region ZA` : '';
    throw new Problem('bad-argument', `The test message is refused: ${detail}${hint}`);
  }
  const params = { username, id: first.id };
  const look = async () => String((await act(services, 'message show', { params }))?.status ?? '');
  const [begun, end] = [await look(), systemClock.now() + WATCHED_MS];
  let status = begun;
  while (status === begun && systemClock.now() < end) {
    await systemClock.sleep(LOOK_EVERY_MS);
    status = await look();
  }
  const next = `columba message show ${username} ${first.id}`;
  const message = { id: first.id, status };
  if (status === begun)
    tell({ message }, `Test message: ${first.id} waits. Start the service with columba serve, and look with: ${next}`);
  else tell({ message }, `Test message: ${first.id} is ${status}. What becomes of it: ${next}`);
}

function tellOldProgram({ config, tell }: Setup, account: SetUpAccount | null): void {
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host;
  const base = config.baseUrl || `http://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
  const userId = account?.userId
    ? `${account.userId} (it cannot be shown again)`
    : `as before; another one: columba account rotate-user-id ${account?.username}`;
  tell(
    { address: `${base}/api/`, namespace: config.namespace, console: webUrlOf(config) ?? null },
    'What to put into the old program:',
    `  address    ${base}/api/ (such as ${base}/api/inbox.asmx?wsdl)`,
    `  namespace  ${config.namespace}`,
    ...(account ? [`  user_id    ${userId}`] : []),
    `The console is at ${webUrlOf(config) ?? 'the web listener, which is off'}/console/ while the service runs (columba serve)`,
  );
}
