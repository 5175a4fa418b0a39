import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, exportOf } from '../../support/contract-client.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { account, importText, lines, withService } from '../../support/import-files.ts';
import { onPostgres } from '../../support/postgres-engines.ts';
import type { Service } from '../../support/service.ts';

/** Texts that one of the databases could mind. PostgreSQL's text holds no U+0000: it is kept in other characters. */
const TEXTS: Readonly<Record<string, string>> = {
  'U+0000 alone': '\0',
  'U+0000 at the start, in the middle and at the end': '\0a\0\0b\0',
  'U+FFFE alone': '\uFFFE',
  'U+FFFE before what its escapes end in': '\uFFFE0\uFFFE1\uFFFE2\uFFFE',
  'U+0000 and U+FFFE in a row': '\0\uFFFE\0\uFFFE0\0',
  'U+0001 and U+0002 around U+0000': '\x01\x01\x02\0\x02\x01\0\x01',
  'U+FFFF': '\uFFFF and \uFFFF\uFFFE',
  'the last of an astral plane': '\u{1FFFE}\u{1FFFF}\u{10FFFE}\u{10FFFF}',
  'astral characters': '😀 𝔘𝔫𝔦 👩‍👩‍👧‍👦',
  'U+FEFF': '\uFEFFfirst and last\uFEFF',
  'control codes': Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join(''),
  'U+007F to U+009F': '\u007F\u0080\u009F',
  'line ends': '\r\n\n\r\u2028\u2029',
  'what looks like an escape': "\\0 \\x00 \\u0000 %00 &#0; E'\\000'",
  'what looks like a parameter': ":account $1 ?1 {among :ids} '; drop table account; --",
  'letters composed and decomposed': 'é e\u0301 ﬀ ff',
  'white space at both ends': '  \t text \u00A0 ',
};

const at = (id: number) => ({ id, timestamp: '2026-05-01T00:00:00Z' });
const times = { timestamp_sent: '2026-05-01T00:00:00Z', timestamp_updated: '2026-05-01T00:00:00Z' };
const plan = { timestamp_scheduled: '2026-05-01T00:00:00Z', timestamp_created: '2026-05-01T00:00:00Z' };

/** Every text in every field that takes one. */
const FILE = lines(
  ...Object.values(TEXTS).map((text, index) =>
    account(`account-${String(index).padStart(2, '0')}`, {
      contactName: text,
      contactSurname: text,
      company: text,
      email: text,
      tel: text,
      fax: text,
      address: text,
      groups: [{ id: 1, name: text }],
      contacts: [{ id: 1, name: text, surname: text, mobile: text, groupid: 1 }],
      templates: [text, `${text} again`],
      blacklist: [{ mobile: `${text}1`, sample_message: text, timestamp: at(1).timestamp }],
      inbox: [{ ...at(1), sender: text, message: text, short_code: text, read: false }],
      sent: [
        {
          ...times,
          id: 1,
          user_message_id: text,
          recipient: text,
          message: text,
          delivery_status: 'SUBMITTED',
          marked: false,
        },
      ],
      scheduled: [{ ...plan, id: 1, user_message_id: text, recipient: text, message: text }],
    }),
  ),
);

async function imported(service: Service, text: string): Promise<string> {
  assert.deepEqual((await importText(service.app, text)).mistakes, []);
  return exportOf(service.app);
}

onPostgres('texts in PostgreSQL as in SQLite', () => {
  const [sqlite, postgres] = engines as readonly [Engine, Engine];

  test('both engines export any imported text with the same bytes', async () => {
    const [one, two] = await Promise.all(
      [sqlite, postgres].map((engine) => withService(engine, (service) => imported(service, FILE))),
    );
    assert.ok(one === two, firstDifference(one ?? '', two ?? ''));
    const accounts = (one ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const [index, [name, text]] of Object.entries(TEXTS).entries()) {
      const found = accounts[index];
      assert.deepEqual(found.templates, [text, `${text} again`], name);
      assert.equal(found.inbox[0].message, text, name);
      assert.equal(found.sent[0].user_message_id, text, name);
      assert.equal(found.scheduled[0].message, text, name);
      assert.equal(found.blacklist[0].mobile, `${text}1`, name);
      assert.equal(found.contacts[0].mobile, text, name);
    }
  });

  test('an export of one engine, imported into the other, is exported with the same bytes, in both directions', async () => {
    const first = await withService(sqlite, (service) => imported(service, FILE));
    const second = await withService(postgres, (service) => imported(service, first));
    const third = await withService(sqlite, (service) => imported(service, second));
    assert.ok(first === second && second === third);
  });

  test('both engines export accounts, and blocked numbers of the same instant, in the same order, whatever their names', async () => {
    const names = ['a', 'a b', 'A', 'Z', 'é', 'z', '\uFFFD', '\uFFFE', '\uFFFF', '\uFFFE0', '😀', '\uE000', '\u00A0'];
    const numbers = [...new Set([...names, ...Object.values(TEXTS)])].map((text) => `1${text}`);
    const blacklist = numbers.map((mobile) => ({ mobile, timestamp: at(1).timestamp }));
    const file = lines(...names.map((name) => account(name, { blacklist: name === 'a' ? blacklist : [] })));
    const [one, two] = await Promise.all(
      [sqlite, postgres].map((engine) => withService(engine, (service) => imported(service, file))),
    );
    const read = (text = '') =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { username: string; blacklist: { mobile: string }[] });
    const byBytes = (texts: readonly string[]) =>
      texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const [accounts, others] = [read(one), read(two)];
    assert.deepEqual(
      accounts.map(({ username }) => username),
      byBytes(names),
    );
    const blocked = accounts.flatMap((each) => each.blacklist.map(({ mobile }) => mobile));
    assert.deepEqual(blocked, byBytes(numbers));
    assert.deepEqual(others, accounts);
  });

  for (const engine of engines) {
    test(`half of a surrogate pair is refused and not changed (${engine.name})`, () =>
      withService(engine, async (service) => {
        const halves = ['\uD83D', 'a \uDE00 b', '\uDE00\uD83D'];
        const file = lines(...halves.map((text, index) => account(`account-${index}`, { templates: [text] })));
        const { accounts, mistakes } = await importText(service.app, file);
        assert.deepEqual([accounts, mistakes.length], [0, halves.length]);
        for (const mistake of mistakes) assert.match(mistake, /templates\[0\].*surrogate/);
      }));

    test(`a username with a control character is refused (${engine.name})`, () =>
      withService(engine, async (service) => {
        const { accounts, mistakes } = await importText(
          service.app,
          lines(account('a\0'), account('a\x7F'), account('\n')),
        );
        assert.deepEqual([accounts, mistakes.length], [0, 3]);
        for (const mistake of mistakes) assert.match(mistake, /username: .*control characters/);
      }));

    test(`a template of any text is saved once, listed, and deleted by that text (${engine.name})`, () =>
      withService(engine, async (service) => {
        const client = await clientOf(service, 'post').newcomer({});
        for (const message of Object.values(TEXTS)) {
          for (const _ of [1, 2]) assert.equal(await client.ask('account', 'SaveMessageTemplate', { message }), true);
        }
        const [kept = ''] = (await exportOf(service.app)).split('\n');
        assert.deepEqual(JSON.parse(kept).templates, Object.values(TEXTS));
        for (const [name, message] of Object.entries(TEXTS)) {
          assert.equal(await client.ask('account', 'DeleteMessageTemplate', { message }), true, name);
          assert.equal(await client.ask('account', 'DeleteMessageTemplate', { message }), false, name);
        }
        assert.deepEqual(await client.ask('account', 'FetchSavedMessages'), []);
      }));
  }
});

function firstDifference(one: string, two: string): string {
  let at = 0;
  while (at < one.length && one[at] === two[at]) at++;
  return `sqlite ${JSON.stringify(one.slice(at - 60, at + 60))}\npostgres ${JSON.stringify(two.slice(at - 60, at + 60))}`;
}
