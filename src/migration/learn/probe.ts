import { contract } from '../../asmx/contract/contract.ts';
import { type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { withTimeZone } from '../../asmx/dialect/dialect-file.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { attribute, type XmlElement } from '../../asmx/xml/reader.ts';
import { Problem } from '../../base/problem.ts';
import type { RecordedExchange } from '../compare/recording.ts';
import { parseAnswerXml } from '../old-server/answer.ts';
import type { ValueRecord } from '../old-server/answer-values.ts';
import { CopyProblem, type OldAccount, read, readCounts, readRows } from '../old-server/old-account.ts';
import { FIRST_INSTANT } from '../old-server/old-inbox.ts';
import { createOldServer, type ObservedCall, type OldServer, type OldServerOptions } from '../old-server/old-server.ts';
import { TESTED, testReadEffects } from '../old-server/read-effects.ts';
import type { ReadEffects } from '../stages/migrated-accounts.ts';
import { type LearnedDialect, learnDialect } from './learn.ts';
import type { Doubt } from './learned.ts';

/**
 * Examines an old server with one account: its WSDLs, its protocols, and one call of each reading
 * operation. Its answers are learned from as recordings are.
 */
export interface ProbeReport {
  readonly url: string;
  readonly namespace: string | null;
  /** The protocols of the WSDLs that answer a call. */
  readonly protocols: readonly ProtocolName[];
  readonly effects: ReadEffects;
  readonly learned: LearnedDialect;
  readonly uncertain: readonly Doubt[];
  readonly calls: number;
}

export interface ProbeOptions extends Omit<OldServerOptions, 'dialect' | 'namespace' | 'protocol' | 'observed'> {
  readonly userId: string;
  readonly timeZone: string;
  /** If false, no operation is called that might mark a message. */
  readonly testsMarks: boolean;
}

export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  const { userId, timeZone, testsMarks } = options;
  const exchanges: RecordedExchange[] = [];
  const observed = (call: ObservedCall): void => void exchanges.push(toExchange(call, exchanges.length));
  const plain = createOldServer(options);
  const { namespace, offered, missing, doubts } = await readWsdls(plain);
  plain.close();
  const connect = (dialect: Dialect) =>
    createOldServer({ ...options, dialect, ...(namespace === null ? {} : { namespace }), observed });
  const learn = () => learnDialect(() => asyncOf(exchanges), timeZone);

  const lacking: Dialect = missing.length > 0 ? { missing } : NO_DIALECT;
  const first = connect(NO_DIALECT);
  const protocols = await answering(first, userId, offered, missing);
  const protocol = protocols[0];
  if (protocol === undefined) throw new Problem('bad-argument', 'No protocol answers a call with this user_id.');
  const plainly = { old: pinned(first, protocol), userId, dialect: lacking, effects: {} };
  const attempts = new Attempts();
  await callSafe(plainly, attempts);
  let effects: ReadEffects = {};
  let caps: Dialect['caps'] = {};
  let calls = first.requests;
  if (testsMarks) {
    effects = (await attempts.of('reading', () => testReadEffects(plainly))) ?? {};
    calls = first.requests;
    // By now the columns of InboxDS are known, which tell what is unread.
    const dialect = { ...withTimeZone((await learn()).dialect, timeZone), ...lacking };
    const second = connect(dialect);
    const from = { old: pinned(second, protocol), userId, dialect, effects };
    attempts.forget('reading');
    effects = (await attempts.of('reading', () => testReadEffects(from))) ?? effects;
    caps = await callLists({ ...from, effects }, first.clock.now(), attempts);
    calls += second.requests;
    second.close();
  }
  first.close();
  const learned = await learn();
  const dialect = {
    ...learned.dialect,
    ...(namespace === null ? {} : { namespace }),
    ...(Object.keys(caps).length > 0 ? { caps: { ...caps, ...learned.dialect.caps } } : {}),
    ...lacking,
  };
  const tried = [...attempts.doubts].map(([entry, reason]) => ({ entry, reason }));
  const uncertain = [...learned.uncertain, ...doubts, ...tried, ...doubtsOf(namespace, effects)];
  return { url: first.url, namespace, protocols, effects, learned: { ...learned, dialect }, uncertain, calls };
}

/** Makes every call in a protocol that answers. */
const pinned = (old: OldServer, protocol: ProtocolName): OldServer => ({
  ...old,
  get requests() {
    return old.requests;
  },
  call: (group, operation, args, options = {}) => old.call(group, operation, args, { protocol, ...options }),
});

async function* asyncOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const PROTOCOLS: readonly ProtocolName[] = ['soap11', 'soap12', 'get', 'post'];
const WSDL = 'http://schemas.xmlsoap.org/wsdl/';

interface SeenWsdls {
  readonly namespace: string | null;
  /** The protocols for which there are ports. */
  readonly offered: readonly ProtocolName[];
  /** Operations of the contract that a WSDL lacks. */
  readonly missing: readonly string[];
  /** Doubts about operations that only one of the two has. */
  readonly doubts: readonly Doubt[];
}

async function readWsdls(old: OldServer): Promise<SeenWsdls> {
  const namespaces = new Set<string>();
  const doubts: Doubt[] = [];
  const missing: string[] = [];
  const offered = new Set<ProtocolName>();
  for (const [group, operations] of Object.entries(contract)) {
    const page = await old.page(`/api/${group}.asmx?WSDL`);
    const root = page.status === 200 ? definitionsOf(page) : null;
    const namespace = root && attribute(root, '', 'targetNamespace');
    if (!root || !namespace) continue;
    namespaces.add(namespace);
    for (const port of portsOf(root)) offered.add(port);
    const theirs = operationsOf(root);
    doubts.push(...operationDoubts(group, Object.keys(operations), theirs));
    // Some servers hide their operations; a WSDL without any tells nothing.
    const absent = Object.keys(operations).filter((name) => theirs.size > 0 && !theirs.has(name));
    missing.push(...absent.map((name) => `${group}.${name}`));
  }
  if (namespaces.size > 1) {
    throw new Problem('bad-argument', 'The four services have different namespaces. The contract has one.');
  }
  const namespace = [...namespaces][0] ?? null;
  return { namespace, offered: offered.size > 0 ? [...offered] : PROTOCOLS, missing, doubts };
}

const operationsOf = (root: XmlElement): Set<string> =>
  new Set(
    root.children
      .filter(({ local, uri }) => local === 'portType' && uri === WSDL)
      .flatMap(({ children }) => children)
      .filter(({ local, uri }) => local === 'operation' && uri === WSDL)
      .map((operation) => attribute(operation, '', 'name') ?? ''),
  );

function operationDoubts(group: string, ours: readonly string[], theirs: ReadonlySet<string>): Doubt[] {
  if (theirs.size === 0) return [];
  const entry = `wsdl ${group}`;
  const missing = ours.filter((name) => !theirs.has(name));
  const more = [...theirs].filter((name) => !ours.includes(name)).slice(0, NAMES_SHOWN_MAX);
  return [
    ...(missing.length > 0
      ? [
          {
            entry,
            reason: `The old server lacks operations of the contract: ${missing.join(', ')}. They are in \`missing\`.`,
          },
        ]
      : []),
    ...(more.length > 0
      ? [
          {
            entry,
            reason: `Columba lacks operations of the old server: ${more.join(', ')}. Ask whether a client calls them.`,
          },
        ]
      : []),
  ];
}
const NAMES_SHOWN_MAX = 50;

function definitionsOf(page: { contentType: string; body: Uint8Array }): XmlElement | null {
  try {
    const root = parseAnswerXml(page);
    return root.uri === WSDL && root.local === 'definitions' ? root : null;
  } catch {
    return null;
  }
}

function portsOf(root: XmlElement): ProtocolName[] {
  const services = root.children.filter(({ local, uri }) => local === 'service' && uri === WSDL);
  const ports = services.flatMap(({ children }) => children).filter(({ local }) => local === 'port');
  return ports.map((port) => {
    const name = attribute(port, '', 'name') ?? '';
    const address = port.children.find(({ local }) => local === 'address')?.uri ?? '';
    if (address.includes('/soap12/')) return 'soap12';
    if (address.includes('/soap/')) return 'soap11';
    return /get$/i.test(name) ? 'get' : 'post';
  });
}

/** Operations without further arguments that mark nothing, the most common ones first. */
const HARMLESS = ['inbox.CountUnread', 'inbox.CountRead', 'account.Profile', 'account.FetchGroups'];

/** Finds a protocol that answers, because one in the WSDL may be switched off. */
async function answering(
  old: OldServer,
  userId: string,
  offered: readonly ProtocolName[],
  missing: readonly string[],
): Promise<ProtocolName[]> {
  for (const name of HARMLESS.filter((each) => !missing.includes(each))) {
    const [group = '', operation = ''] = name.split('.');
    const found: ProtocolName[] = [];
    for (const protocol of PROTOCOLS.filter((each) => offered.includes(each))) {
      const { result } = await old.call(group, operation, { user_id: userId }, { protocol });
      if (result.kind === 'value') found.push(protocol);
    }
    if (found.length > 0) return found;
  }
  return [];
}

/** Collects what the old server could not answer, or not understandably. The probe continues. */
class Attempts {
  readonly doubts = new Map<string, string>();

  async of<T>(entry: string, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof CopyProblem)) throw thrown;
      this.doubts.set(
        entry,
        `${thrown.message} Look at the operation, or name it in \`missing\` if the old server does not have it.`,
      );
      return null;
    }
  }

  forget(entry: string): void {
    this.doubts.delete(entry);
  }
}

const MANY = 10_000;

/** Calls the operations that have nothing to mark. */
async function callSafe(from: OldAccount, attempts: Attempts): Promise<void> {
  const attempt = (name: string, args?: Readonly<Record<string, unknown>>) =>
    from.dialect.missing?.includes(name) ? null : attempts.of(name, () => read(from, name, args));
  const rows = async (name: string) => ((await attempt(name))?.value ?? []) as readonly ValueRecord[];
  await attempt('account.Profile');
  const contacts = await rows('account.FetchContacts');
  await attempt('account.FetchContactsDS');
  const groupid = (await rows('account.FetchGroups'))[0]?.id ?? 0;
  await attempt('account.FetchContactsByGroupId', { groupid });
  await attempt('account.FetchContactsByGroupIdDS', { groupid });
  const mobile = contacts.find((row) => row.mobile !== null)?.mobile;
  if (mobile) for (const name of ['FetchContact', 'LookupContact']) await attempt(`account.${name}`, { mobile });
  for (const name of ['account.FetchSavedMessages', 'inbox.CountRead', 'inbox.CountUnread']) await attempt(name);
  await attempt('sent.CountUnMarkedDeliveryStatus');
  await attempt('sent.FetchSentDS', { max: MANY });
  await attempt('compose.FetchScheduledDS', { max: MANY });
}

/** Calls the lists that mark nothing. Fewer rows than the counts say reveal a cap. */
async function callLists(from: OldAccount, now: number, attempts: Attempts): Promise<Record<string, number>> {
  const counts = (await attempts.of('inbox counts', () => readCounts(from))) ?? { read: 0, unread: 0 };
  const statuses = 'sent.CountUnMarkedDeliveryStatus';
  const unmarked = Number((await attempts.of(statuses, () => read(from, statuses)))?.value ?? 0);
  const always = { from: FIRST_INSTANT, to: now + DAY_MS };
  const lists: readonly (readonly [name: string, args: Readonly<Record<string, unknown>>, least: number])[] = [
    ['inbox.Read', { ...always, max_count: MANY }, counts.read],
    ['inbox.Unread', { max_count: MANY }, counts.unread],
    ['inbox.InboxDS', { max_count: MANY }, counts.read + counts.unread],
    ['sent.FetchUnmarkedDeliveryStatus', { max: MANY }, unmarked],
  ];
  const caps: Record<string, number> = {};
  for (const [name, args, least] of lists) {
    const isHarmless = from.effects[name] === 'leaves' || (from.effects[name] === 'untested' && counts.unread === 0);
    const isThere = !from.dialect.missing?.includes(name);
    const rows = isHarmless && isThere ? await attempts.of(name, () => readRows(from, name, args)) : null;
    const count = rows?.length ?? null;
    if (count !== null && count > 0 && count < Math.min(least, MANY)) caps[name] = count;
  }
  return caps;
}

const DAY_MS = 86_400_000;

function doubtsOf(namespace: string | null, effects: ReadEffects): Doubt[] {
  const doubts: Doubt[] = [];
  if (namespace === null) {
    doubts.push({
      entry: 'namespace',
      reason: 'The old server gave no WSDL. Look at a request of a client, and set the namespace.',
    });
  }
  for (const name of TESTED) {
    if (effects[name] === 'leaves') continue;
    const reason =
      effects[name] === 'marks'
        ? 'The operation marks what it returns: the test marked one message. Import and sync do not call it.'
        : 'It was not tested whether the operation marks what it returns. The test needs an account with an unread message or status.';
    doubts.push({ entry: `reading ${name}`, reason });
  }
  return doubts;
}

const ACCOUNT = 'account-probe';

function toExchange({ group, operation, url, request, answer }: ObservedCall, index: number): RecordedExchange {
  const { pathname, search } = new URL(url);
  return {
    version: 1,
    at: new Date(index).toISOString(),
    account: ACCOUNT,
    group,
    operation,
    protocol: answer.protocol,
    request: {
      method: request.method,
      target: pathname + search,
      headers: Object.entries(request.headers),
      body: request.body ?? '',
      encoding: 'utf8',
    },
    old: {
      status: answer.status,
      headers: [['Content-Type', answer.contentType]],
      body: Buffer.from(answer.body).toString('latin1'),
      encoding: 'latin1',
      ms: answer.durationMs,
    },
    ours: null,
    outcome: 'recorded',
    knownDifferences: [],
  };
}
