import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, exportOf, inEveryProtocol, protocolsFor } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';
import { PROTOCOLS, requestOf } from '../../support/protocols.ts';
import { ACME, startService } from '../../support/service.ts';

/** XML 1.0, production 2: Char. Of the planes above the first, their starts and ends. */
const CARRIED: readonly (readonly [number, number])[] = [
  [0x9, 0xa],
  [0xd, 0xd],
  [0x20, 0xd7ff],
  [0xe000, 0xfffd],
  ...Array.from({ length: 16 }, (_, plane) => (plane + 1) * 0x10000).flatMap(
    (start) =>
      [
        [start, start + 0x1ff],
        [start + 0xfe00, start + 0xffff],
      ] as const,
  ),
];

/** All that is carried, in texts of the size of a template. */
function carriedTexts(): string[] {
  const characters = CARRIED.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)),
  );
  const texts: string[] = [];
  for (let at = 0; at < characters.length; at += 1_999) texts.push(characters.slice(at, at + 1_999).join(''));
  return texts;
}

/** Where a parser is most easily mistaken: line ends, edges, what looks like markup, and a byte order mark. */
const DELICATE = [
  '\r\n\r\n \t lines \r and \n ends \r\n',
  ' blanks ',
  '\t',
  ']]> &amp; &#65; <!-- --> <![CDATA[x]]> %41 %u0041 + = & ? #',
  '\uFEFFmark\uFEFF',
  '\u0085\u2028\u2029\u00A0\u200B\u007F\u009F',
  '😀👨‍👩‍👧‍👦\u{10FFFF}',
];

const UNCARRIED = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter((code) => ![0x9, 0xa, 0xd].includes(code)),
  0xfffe,
  0xffff,
].map((code) => String.fromCodePoint(code));

onOneEngine('text', (engine) => {
  for (const protocol of protocolsFor(engine)) {
    test(`every character of XML 1.0 that is saved by ${protocol} is returned by every protocol`, async () => {
      const service = await startService(engine);
      try {
        const texts = [...DELICATE, ...carriedTexts()];
        const owner = await clientOf(service, protocol).newcomer({});
        for (const message of texts) assert.equal(await owner.ask('account', 'SaveMessageTemplate', { message }), true);
        for (const other of PROTOCOLS) {
          const saved = await clientOf(service, other, owner.userId).ask('account', 'FetchSavedMessages');
          assert.equal(saved.length, texts.length);
          for (const [index, text] of texts.entries()) assert.equal(saved[index], text, `read by ${other}`);
        }
        assert.deepEqual(JSON.parse(await owner.exported()).templates, texts);
        for (const message of texts) {
          assert.equal(await owner.ask('account', 'DeleteMessageTemplate', { message }), true);
        }
      } finally {
        await service.stop();
      }
    });
  }

  inEveryProtocol(
    engine,
    'every character of XML 1.0 is returned unchanged, in records and in DataSets',
    async (client) => {
      const texts = [...DELICATE, ...carriedTexts()];
      const timestamp = '2026-01-01T00:00:00Z';
      const owner = await client.newcomer({
        // U+0020 and the like alone would need a mark in a DataSet, which has a test of its own
        inbox: texts.map((message, id) => ({
          id,
          message: `${message}.`,
          sender: `${message}.`,
          timestamp,
          read: false,
        })),
      });
      const expected = texts.map((text) => `${text}.`);
      const unread = await owner.ask('inbox', 'Unread', { max_count: 1_000 });
      const { rows } = await owner.ask('inbox', 'InboxDS', { max_count: 1_000 });
      for (const messages of [unread, rows.toReversed()]) {
        for (const field of ['message', 'sender']) {
          assert.deepEqual(
            messages.map((message) => message[field]),
            expected,
          );
        }
      }
    },
  );

  inEveryProtocol(
    engine,
    'characters that XML cannot carry are returned as U+FFFD and stay as they are in the database',
    async (client) => {
      const timestamp = '2026-01-01T00:00:00Z';
      const owner = await client.newcomer({
        contactName: `name ${UNCARRIED.join('')}`,
        templates: UNCARRIED.map((character) => `<${character}>`),
        inbox: UNCARRIED.map((character, id) => ({ id, message: `a${character}b`, timestamp, read: false })),
      });
      const before = await owner.exported();
      const profile = await owner.ask('account', 'Profile');
      assert.equal(profile?.contactName, `name ${'\uFFFD'.repeat(UNCARRIED.length)}`);
      const unread = await owner.ask('inbox', 'Unread', { max_count: 100 });
      const { rows } = await owner.ask('inbox', 'InboxDS', { max_count: 100 });
      for (const messages of [unread, rows]) {
        assert.equal(messages.length, UNCARRIED.length);
        for (const { message } of messages) assert.equal(message, 'a\uFFFDb');
      }
      for (const template of await owner.ask('account', 'FetchSavedMessages')) assert.equal(template, '<\uFFFD>');

      assert.equal(await owner.exported(), before);
      const { templates, inbox, contactName } = JSON.parse(before);
      assert.deepEqual(
        templates,
        UNCARRIED.map((character) => `<${character}>`),
      );
      assert.deepEqual(
        inbox.map(({ message }: { message: string }) => message),
        UNCARRIED.map((character) => `a${character}b`),
      );
      assert.equal(contactName, `name ${UNCARRIED.join('')}`);
    },
  );

  for (const protocol of ['get', 'post'] as const) {
    test(`a text with characters that XML cannot carry is saved by ${protocol}, and found again exactly`, async () => {
      const service = await startService(engine);
      try {
        const owner = await clientOf(service, protocol).newcomer({});
        for (const character of UNCARRIED) {
          assert.equal(await owner.ask('account', 'SaveMessageTemplate', { message: character }), true);
        }
        assert.deepEqual(
          await owner.ask('account', 'FetchSavedMessages'),
          UNCARRIED.map(() => '\uFFFD'),
        );
        assert.deepEqual(JSON.parse(await owner.exported()).templates, UNCARRIED);
        assert.equal(await owner.ask('account', 'DeleteMessageTemplate', { message: '\u0001' }), true);
        assert.equal(await owner.ask('account', 'DeleteMessageTemplate', { message: '\uFFFD' }), false);
        assert.equal((await owner.ask('account', 'FetchSavedMessages')).length, UNCARRIED.length - 1);
      } finally {
        await service.stop();
      }
    });
  }

  test('a byte order mark is a character of a value, also if the form names its charset', async () => {
    const service = await startService(engine);
    try {
      const message = '\uFEFFmark';
      const request = requestOf('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message });
      const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
      assert.equal((await service.send({ ...request, headers })).status, 200);
      assert.equal(JSON.parse(await exportOf(service.app, 'acme')).templates.at(-1), message);
    } finally {
      await service.stop();
    }
  });
});
