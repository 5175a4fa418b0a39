import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parseDialect, readDialectFile } from '../../src/asmx/dialect/dialect-file.ts';
import { formatExchange, type RecordedExchange } from '../../src/migration/compare/recording.ts';
import { learnDialect } from '../../src/migration/learn/learn.ts';
import { columba, freshPath } from '../support/command.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS, PLAIN_WAYS, type Ways, WORDS } from '../support/old-server/ways.ts';
import { type Arguments, PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';

/** A dialect that is learned from the traffic of an old server. */

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA, BETA] = USER_IDS;

type Call = readonly [protocol: Protocol, group: string, operation: string, args: Arguments];

/** Calls the old server as clients do, and records it as the proxy does. */
async function record(old: OldServerProcess, calls: readonly Call[], at = NOW): Promise<RecordedExchange[]> {
  const exchanges: RecordedExchange[] = [];
  for (const [protocol, group, operation, args] of calls) {
    const { method, path, query, headers, bytes } = requestOf(protocol, group, operation, args);
    const target = query === '' ? path : `${path}?${query}`;
    const sent: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) sent[name] = String(value);
    const answer = await fetch(`${old.url}${target}`, {
      method,
      headers: sent,
      ...(method === 'POST' && { body: bytes }),
    });
    exchanges.push({
      version: 1,
      at: new Date(at).toISOString(),
      account: `account-${args.user_id}`,
      group,
      operation,
      protocol,
      request: { method, target, headers: Object.entries(sent), body: bytes, encoding: 'utf8' },
      old: {
        status: answer.status,
        ms: 1,
        headers: [['Content-Type', answer.headers.get('content-type') ?? '']],
        body: await answer.text(),
        encoding: 'utf8',
      },
      ours: null,
      outcome: 'recorded',
      knownDifferences: [],
    });
  }
  return exchanges;
}

async function* streamed(exchanges: readonly RecordedExchange[]): AsyncGenerator<RecordedExchange> {
  yield* exchanges;
}
const learn = (exchanges: readonly RecordedExchange[]) => learnDialect(() => streamed(exchanges), 'UTC');

/** What clients of both accounts ask for in a day. */
const everyday = (user_id: string, protocol: Protocol): Call[] => {
  const range = { from: '2026-11-01T00:00:00Z', to: '2026-11-30T00:00:00Z', max_count: 1_000 };
  return [
    [protocol, 'account', 'Profile', { user_id }],
    [protocol, 'account', 'FetchContacts', { user_id }],
    [protocol, 'account', 'FetchContactsDS', { user_id }],
    [protocol, 'account', 'FetchContactsByGroupIdDS', { user_id, groupid: 11 }],
    [protocol, 'account', 'FetchGroups', { user_id }],
    [protocol, 'inbox', 'CountUnread', { user_id }],
    [protocol, 'inbox', 'Unread', { user_id, max_count: 1_000 }],
    [protocol, 'inbox', 'Read', { user_id, ...range }],
    [protocol, 'inbox', 'InboxDS', { user_id, max_count: 1_000 }],
    [protocol, 'sent', 'FetchUnmarkedDeliveryStatus', { user_id, max: 1_000 }],
    [protocol, 'sent', 'FetchSentDS', { user_id, max: 1_000 }],
    [protocol, 'compose', 'FetchScheduledDS', { user_id, max: 1_000 }],
    [protocol, 'inbox', 'CountRead', { user_id: 'nobody' }],
  ];
};
const week = PROTOCOLS.flatMap((protocol) => [ALPHA, BETA].flatMap((user_id) => everyday(user_id, protocol)));

describe('a dialect learned from a different old server', () => {
  let old: OldServerProcess;
  let learned: Awaited<ReturnType<typeof learn>>;
  before(async () => {
    old = await startOldServer(sampleData(NOW), { ...ODD_WAYS, caps: { 'inbox.Unread': 10 } });
    const arrived = {
      id: 6_000,
      sender: '+27830000001',
      message: 'now',
      shortCode: '31222',
      at: NOW - 20_000,
      read: true,
    };
    old.data.accounts[0]?.inbox.push(arrived);
    learned = await learn(await record(old, week));
  });
  after(() => old.close());

  test('a learned dialect has the namespace, names, columns, constants, words, dates, groups and caps of the old server', () => {
    const { evidence: _, ...dialect } = learned.dialect;
    const words = Object.fromEntries(
      Object.entries(WORDS)
        .filter(([, ours]) => !['QUEUED', 'EXPIRED'].includes(ours))
        .map(([theirs, ours]) => [ours, theirs]),
    );
    assert.deepEqual(dialect, {
      namespace: ODD_DIALECT.namespace,
      dataSet: ODD_DIALECT.dataSet,
      columns: ODD_DIALECT.columns,
      statusWords: words,
      dates: { zone: 'none', timeZone: '+02:00', fractionDigits: 0 },
      groupId: 'zero',
      caps: { 'inbox.Unread': 10 },
      errorStatus: 'asmx',
      faultCode: 'server',
    });
    parseDialect(learned.dialect);
  });

  test('a learned dialect says how often each entry was seen', () => {
    const { evidence = {} } = learned.dialect;
    assert.equal(evidence['columns.sent.FetchSentDS'], PROTOCOLS.length * 2);
    assert.ok((evidence['statusWords.DELIVERED'] ?? 0) > 50);
    assert.equal(evidence['caps.inbox.Unread'], PROTOCOLS.length);
    for (const count of Object.values(evidence)) assert.ok(Number.isInteger(count) && count > 0);
    assert.equal(learned.answers, week.length);
    assert.equal(learned.faults, PROTOCOLS.length * 2);
    assert.deepEqual(learned.unreadable, { count: 0, reasons: [] });
  });

  test('a learned dialect says what the recording does not show: words of other statuses, and the zone of times without one', () => {
    const entries = learned.uncertain.map(({ entry, reason }) => `${entry}: ${reason}`).join('\n');
    assert.match(entries, /^statusWords\.QUEUED: no word was seen for this status.*^statusWords\.EXPIRED: no word/ms);
    assert.match(entries, /^dates\.timeZone: guessed from the newest message/m);
  });

  test('a learned dialect contains no number, text or name of a person', () => {
    const shown = JSON.stringify(learned);
    for (const secret of [ALPHA, BETA, '+2783', 'ünïcode', 'Öberg', 'ref-1', 'Later'])
      assert.ok(!shown.includes(secret), secret);
  });
});

describe('columba migrate learn', () => {
  let old: OldServerProcess;
  let path: string;
  before(async () => {
    old = await startOldServer(sampleData(NOW), ODD_WAYS);
    const lines = (await record(old, everyday(ALPHA, 'soap11'))).map(formatExchange);
    path = freshPath('ndjson.gz');
    writeFileSync(path, gzipSync(`${lines.join('\n')}\n`));
  });
  after(() => old.close());

  test('columba migrate learn prints what was seen, what is uncertain, and the dialect', async () => {
    const { code, stdout } = await columba(['migrate', 'learn', path]);
    assert.equal(code, 0);
    assert.match(stdout, /^Exchanges: 13\. Answers: 13, of them faults: 1, not readable: 0\.$/m);
    assert.match(stdout, /^ +1 {2}columns\.sent\.FetchSentDS: SmsID long ← id, ToNumber string ← recipient, /m);
    assert.match(stdout, /^Uncertain:$/m);
    assert.match(stdout, /^ {2}"namespace": "http:\/\/old\.example\/webservices\/",$/m);
  });

  test('columba migrate learn writes a dialect that serve accepts, and replaces no file unasked', async () => {
    const out = freshPath('json');
    const wrote = await columba(['migrate', 'learn', path, '--out', out]);
    assert.equal(wrote.code, 0, wrote.stderr);
    assert.equal(readDialectFile(out, 'UTC').namespace, ODD_WAYS.namespace);
    assert.equal((await columba(['migrate', 'learn', path, '--out', out])).code, 1);
    assert.equal((await columba(['migrate', 'learn', path, '--out', out, '--force'])).code, 0);
    const updated = await columba(['migrate', 'learn', path, '--update', out]);
    assert.deepEqual([updated.code, /Start Columba and the proxy again/.test(updated.stdout)], [0, true]);
  });

  test('an update does not ask again for what the file answers, and a guess stays one until a person names it in answered', async () => {
    const out = freshPath('json');
    const uncertain = async (): Promise<string[]> => {
      const { stdout } = await columba(['migrate', 'learn', path, '--update', out, '--json']);
      return JSON.parse(stdout).uncertain.map(({ entry }: { entry: string }) => entry);
    };
    const first = await columba(['migrate', 'learn', path, '--out', out]);
    assert.match(first.stdout, /name its entry in the list "answered" of the file/);
    const open = await uncertain();
    assert.ok(open.includes('statusWords.EXPIRED') && open.includes('dates.timeZone'), open.join());
    const written = JSON.parse(readFileSync(out, 'utf8'));
    const statusWords = { ...written.statusWords, EXPIRED: 'Too late' };
    writeFileSync(out, JSON.stringify({ ...written, statusWords, answered: ['dates.timeZone'] }));
    const left = open.filter((entry) => entry !== 'statusWords.EXPIRED' && entry !== 'dates.timeZone');
    assert.deepEqual(await uncertain(), left);
    assert.deepEqual(readDialectFile(out, 'UTC').answered, ['dates.timeZone']);
    writeFileSync(out, JSON.stringify({ ...written, statusWords, answered: [...left, 'dates.timeZone'] }));
    const { code, stdout } = await columba(['migrate', 'learn', path, '--update', out, '--strict']);
    assert.deepEqual([code, /^Nothing is uncertain\.$/m.test(stdout)], [0, true]);
  });

  test('columba migrate learn prints everything as JSON, and ends with 1 if --strict is given and something is uncertain', async () => {
    const { code, stdout } = await columba(['migrate', 'learn', path, '--json', '--strict']);
    assert.equal(code, 1);
    const told = JSON.parse(stdout);
    assert.deepEqual(Object.keys(told).sort(), [
      'answers',
      'dialect',
      'exchanges',
      'faults',
      'findings',
      'uncertain',
      'unreadable',
    ]);
  });

  test('columba migrate learn names the line of a recording that it cannot read', async () => {
    const wrong = freshPath('ndjson');
    writeFileSync(wrong, '{"version":1}\n\n');
    const { code, stderr } = await columba(['migrate', 'learn', wrong]);
    assert.equal(code, 1);
    assert.match(stderr, /\.ndjson:1: /);
  });

  test('columba migrate learn prints no dialect of an empty recording, and ends with 1', async () => {
    const empty = freshPath('ndjson');
    writeFileSync(empty, '');
    const { code, stdout, stderr } = await columba(['migrate', 'learn', empty]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^columba: No answer of the old server is in these recordings\. [^\n]+\n$/);
  });
});

describe('conclusions from recordings', () => {
  const learnFrom = async (ways: Partial<Ways>, calls: readonly Call[], change?: (old: OldServerProcess) => void) => {
    const old = await startOldServer(sampleData(NOW), { ...PLAIN_WAYS, ...ways });
    try {
      change?.(old);
      return await learn(await record(old, calls));
    } finally {
      await old.close();
    }
  };

  test('a dialect learned from a server like Columba has only its namespace and what no recording can show', async () => {
    const { dialect } = await learnFrom({}, week);
    const { evidence: _, statusWords: __, ...rest } = dialect;
    assert.deepEqual(rest, {
      namespace: PLAIN_WAYS.namespace,
      dates: { zone: 'Z', fractionDigits: 0 },
      groupId: 'absent',
      errorStatus: 'asmx',
      faultCode: 'server',
    });
  });

  test('absent strings alone do not show how an empty string is written', async () => {
    const { dialect, findings } = await learnFrom({}, week);
    assert.equal(dialect.emptyStrings, undefined);
    assert.match(
      findings.find(({ entry }) => entry === 'emptyStrings')?.text ?? 'none',
      /^\d+ absent, 0 empty$|^none$/,
    );
  });

  test('a Read that leaves out unread messages returns only read ones', async () => {
    const { dialect, findings } = await learnFrom({ readReturnsReadOnly: true }, everyday(ALPHA, 'soap11'));
    assert.equal(dialect.readReturnsReadOnly, true);
    assert.match(
      findings.find(({ entry }) => entry === 'readReturnsReadOnly')?.text ?? '',
      /^of \d+ unread .* returned 0$/,
    );
  });

  test('a Read that a cap cuts off is not taken for one that leaves out unread messages', async () => {
    const { dialect } = await learnFrom({ caps: { 'inbox.Read': 7 } }, everyday(ALPHA, 'soap11'));
    assert.equal(dialect.readReturnsReadOnly, undefined);
    const only = { readReturnsReadOnly: true, caps: { 'inbox.Read': 7 } };
    assert.equal((await learnFrom(only, everyday(ALPHA, 'soap11'))).dialect.readReturnsReadOnly, true);
  });

  test('nothing is concluded about Read if Unread marks what it returns', async () => {
    const ways = { readReturnsReadOnly: true, readingMarks: ['inbox.Unread'] };
    const { dialect, uncertain } = await learnFrom(ways, [...everyday(ALPHA, 'get'), ...everyday(ALPHA, 'get')]);
    assert.equal(dialect.readReturnsReadOnly, undefined);
    assert.ok(uncertain.some(({ reason }) => reason.startsWith('Unread marks what it returns')));
  });

  test('a message that a client marks in between proves nothing about Read', async () => {
    const range = { from: '2026-11-01T00:00:00Z', to: '2026-11-30T00:00:00Z', max_count: 1_000 };
    const { dialect, uncertain } = await learnFrom({ readReturnsReadOnly: true }, [
      ['get', 'inbox', 'Unread', { user_id: ALPHA, max_count: 1_000 }],
      ['get', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '5000' }],
      ['get', 'inbox', 'Read', { user_id: ALPHA, ...range }],
    ]);
    assert.equal(dialect.readReturnsReadOnly, undefined);
    assert.ok(uncertain.some(({ entry }) => entry === 'readReturnsReadOnly'));
  });

  test('columns with unknown names are recognised by their values', async () => {
    const inbox = [
      ['id', 'A', 'long'],
      ['message', 'B', 'string'],
      ['sender', 'C', 'string'],
      ['timestamp', 'D', 'dateTime'],
      ['read', 'E', 'boolean'],
      ['short_code', 'F', 'string'],
    ] as const;
    const { dialect, uncertain } = await learnFrom(
      { columns: { ...PLAIN_WAYS.columns, 'inbox.InboxDS': inbox } },
      everyday(ALPHA, 'get'),
    );
    const from = dialect.columns?.['inbox.InboxDS']?.map((column) => column.from);
    assert.deepEqual(from, ['id', 'message', 'sender', 'timestamp', undefined, 'short_code']);
    const doubts = uncertain.filter(({ entry }) => entry === 'columns.inbox.InboxDS').map(({ reason }) => reason);
    assert.match(doubts.join('\n'), /^E is no field of the contract \(values such as xxxx, xxxxx\)/m);
    assert.match(doubts.join('\n'), /^no column shows the field read/m);
  });

  test('an unknown word is listed and not guessed', async () => {
    const { dialect, uncertain } = await learnFrom({}, everyday(ALPHA, 'get'), ({ data }) => {
      for (const message of data.accounts[0]?.sent ?? []) message.status = 'Zxq';
    });
    assert.equal(dialect.statusWords, undefined);
    assert.ok(uncertain.some(({ reason }) => reason.startsWith('“Zxq” (')));
  });

  test('times without a zone stay without one if no message is recent', async () => {
    const { dialect, uncertain } = await learnFrom({ localMinutes: 120 }, everyday(ALPHA, 'get'));
    assert.deepEqual(dialect.dates, { zone: 'none', fractionDigits: 0 });
    assert.ok(uncertain.some(({ entry, reason }) => entry === 'dates.timeZone' && /say in which zone/.test(reason)));
  });

  test('an empty recording gives an empty dialect', async () => {
    const { dialect, answers } = await learn([]);
    assert.deepEqual([dialect, answers], [{}, 0]);
  });
});
