import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isWhole, type Reply } from '../../src/base/exchange.ts';
import { adopt, protocolsFor } from '../../test/support/contract-client.ts';
import { createTestEndpoint } from '../../test/support/endpoint.ts';
import { type Engine, engines, onEveryEngine } from '../../test/support/engines.ts';
import { ends, load, type Many, manyOf, mixed, QUESTIONS, START, TOGETHER } from '../../test/support/long-lists.ts';
import { type Arguments, type Phrased, PROTOCOLS, type Protocol, requestOf } from '../../test/support/protocols.ts';
import { type Service, startService, textOf } from '../../test/support/service.ts';

/** Lists that are too long for one go: they are read and written in pages, and nobody can tell. */
const SIZES = [0, 1, 199, 200, 201, 400, 499, 500, 501, 700, 701, 2_500];
const ALL = 10_000;
const VALIDATED_MAX = 201;

/** The answer that is written in one go from all of the values. */
let values: readonly unknown[] = [];
const endpoint = createTestEndpoint(async () => values);

type Question = (typeof QUESTIONS)[number];

async function agree(service: Service, protocol: Protocol, question: Question, many: Many, max = ALL, limit = ALL) {
  const { group, operation, cap, args, answer } = question;
  const wanted: Arguments = { user_id: many.username, ...args, ...(cap && { [cap]: max }) };
  const expected = answer(many);
  values = cap ? expected.slice(0, Math.min(max, limit)) : expected;
  const request = requestOf(protocol, group, operation, wanted);
  const inOneGo = await endpoint.send(request);
  const what = `${operation} (${protocol}), ${max} of ${expected.length}`;
  // Sent to the service, it is validated against the schema, which takes longest of all: so only short ones are.
  const isShort = values.length <= VALIDATED_MAX && max === ALL;
  const { status, headers, text } = isShort ? await service.send(request) : await asked(service, request);
  assert.deepEqual([status, headers], [inOneGo.status, inOneGo.headers], what);
  // Not by assert.equal: the difference of two such texts takes minutes to show.
  const at = text === inOneGo.text ? -1 : [...text].findIndex((character, index) => character !== inOneGo.text[index]);
  const differs = `${text.slice(Math.max(0, at - 200), at + 200)}\nand not\n${inOneGo.text.slice(Math.max(0, at - 200), at + 200)}`;
  assert.ok(text === inOneGo.text, `${what}: ${differs}`);
  if (!operation.endsWith('DS')) return;
  const rows = [...text.matchAll(/diffgr:id="Table(\d+)" msdata:rowOrder="(\d+)"/g)];
  assert.equal(rows.length, values.length, what);
  for (const [index, row] of rows.entries()) assert.deepEqual(row.slice(1), [`${index + 1}`, `${index}`], what);
}

function answered({ app }: Service, { bytes, ...phrased }: Phrased): Reply | Promise<Reply> {
  const body = async () => Buffer.from(bytes);
  return app.endpoint({ ...phrased, base: 'http://sms.example', client: '192.0.2.1', body });
}

async function asked(service: Service, request: Phrased) {
  const reply = await answered(service, request);
  return { ...reply, text: await textOf(reply) };
}

async function piecesOf(reply: Reply): Promise<string[]> {
  if (isWhole(reply.body)) return [Buffer.from(reply.body as Uint8Array).toString()];
  const pieces: string[] = [];
  for await (const piece of reply.body) pieces.push(String(piece));
  return pieces;
}

async function filled(engine: Engine, all: readonly Many[], settings = {}): Promise<Service> {
  const service = await startService(engine, 'empty', settings);
  for (const each of all) await load(service.app, each);
  return service;
}

const everything = ({ username }: Many, operation: string): Phrased => {
  const { group, cap, args } = QUESTIONS.find((each) => each.operation === operation) as Question;
  return requestOf('get', group, operation, { user_id: username, ...args, ...(cap && { [cap]: ALL }) });
};

onEveryEngine('long lists', (engine) => {
  const isFirst = engine === engines[0];
  const sizes = new Map(SIZES.map((size) => [size, manyOf(`of ${size}`, size)]));
  const longest = sizes.get(2_500) as Many;
  const others = { mixed: manyOf('mixed', 1_800, mixed), ends: manyOf('ends', 1_000, ends) };
  let service: Service;
  before(async () => {
    service = await filled(engine, [...sizes.values(), ...Object.values(others)]);
  });
  after(() => service.stop());

  for (const [index, [size, many]] of [...sizes].entries()) {
    test(`a list of ${size} has the same bytes as if it were written at once`, async () => {
      const protocols = protocolsFor(engine);
      for (const [place, question] of QUESTIONS.entries()) {
        // Each size meets each protocol, and each question too.
        await agree(service, protocols[(index + place) % protocols.length] as Protocol, question, many);
      }
    });
  }

  for (const protocol of protocolsFor(engine)) {
    test(`a list of 501 has the same bytes as if it were written at once (${protocol})`, async () => {
      for (const question of QUESTIONS) await agree(service, protocol, question, sizes.get(501) as Many);
    });
  }

  for (const max of isFirst
    ? [0, 1, 199, 200, 201, 400, 499, 500, 501, 700, 701, 1_001, 2_500, 2_501, 2 ** 31 - 1]
    : [500, 501, 1_001]) {
    test(`a list of 2,500 items returns ${max} items if the call asks for ${max}`, async () => {
      for (const [index, question] of QUESTIONS.filter(({ cap }) => cap).entries()) {
        await agree(service, PROTOCOLS[index % PROTOCOLS.length] as Protocol, question, longest, max);
      }
    });
  }

  test('every page of a long list leaves out rows that are read, marked or in another group', async () => {
    for (const question of QUESTIONS) await agree(service, 'get', question, others.mixed);
    for (const max of [500, 501]) {
      for (const question of QUESTIONS.filter(({ cap }) => cap))
        await agree(service, 'post', question, others.mixed, max);
    }
  });

  test('a page that ends with the largest or smallest possible id is followed by the next page', async () => {
    for (const question of QUESTIONS) await agree(service, 'soap12', question, others.ends);
  });

  test('a time range may begin and end within pages, and includes all messages of the same time', async () => {
    const times = [START, START + 1_000, START + 2_000, START + 3_000];
    const read = QUESTIONS.find(({ operation }) => operation === 'Read') as Question;
    for (const [from, to] of times.flatMap((each) => times.map((other) => [each, other] as const))) {
      const args = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      const answer = (many: Many) =>
        (read.answer(many) as Many['received']).filter(({ timestamp }) => timestamp >= from && timestamp <= to);
      assert.equal(answer(longest).length >= Math.min(TOGETHER, 400), from <= to);
      await agree(service, 'get', { ...read, args, answer }, longest);
      await agree(service, 'get', { ...read, args, answer }, longest, 501);
    }
  });

  test('no piece holds much more than 32,768 characters, and a long list is never one piece', async () => {
    for (const { operation } of QUESTIONS) {
      const pieces = await piecesOf(await answered(service, everything(longest, operation)));
      const longestPiece = Math.max(...pieces.map((piece) => piece.length));
      assert.ok(longestPiece < 34_000, `${operation}: ${longestPiece} characters`);
      assert.ok(pieces.length > 5, operation);
    }
  });

  test('a page is read from the database when it is needed, not before', async () => {
    const reply = await answered(service, everything(others.mixed, 'InboxDS'));
    assert.ok(!isWhole(reply.body));
    const pieces = reply.body[Symbol.asyncIterator]();
    const first = String((await pieces.next()).value);
    const ids = [...first.matchAll(/<id>(-?\d+)</g)].map((match) => match[1] as string);
    // One that was sent, and one that was not yet.
    const unsent = others.mixed.received.filter(({ id }) => !ids.includes(String(id)))[0]?.id as bigint;
    for (const message_id of [ids.at(-1) as string, String(unsent)]) {
      const { text } = await service.call('post', 'inbox', 'DeleteMessage', { user_id: 'mixed', message_id });
      assert.match(text, />true</);
    }
    let rest = '';
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) rest += next.value;
    const all = [...(first + rest).matchAll(/<id>(-?\d+)</g)].map((match) => match[1] as string);
    const expected = QUESTIONS.find(({ operation }) => operation === 'InboxDS')?.answer(
      others.mixed,
    ) as Many['received'];
    assert.deepEqual(
      all,
      expected.map(({ id }) => String(id)).filter((id) => id !== String(unsent)),
    );
  });
});

/** 10 MB when they are escaped, and as many groups as make several pages. */
const TEMPLATES = Array.from({ length: 1_000 }, (_, index) => `${index} `.padEnd(2_000, '&'));
const GROUPS = Array.from({ length: 1_201 }, (_, index) => ({ id: 3 * index - 700, name: `group <${index}>` }));

onEveryEngine('long lists of templates and groups', (engine) => {
  for (const protocol of protocolsFor(engine)) {
    test(`templates and groups have the same bytes as if they were written at once, and no piece is long (${protocol})`, async () => {
      const service = await startService(engine, 'empty');
      try {
        await adopt(service.app, { username: 'long', userID: 'long', groups: GROUPS, templates: TEMPLATES });
        for (const [operation, answer] of [
          ['FetchSavedMessages', TEMPLATES],
          ['FetchGroups', GROUPS.map((group) => ({ ...group, total: 0 }))],
        ] as const) {
          const request = requestOf(protocol, 'account', operation, { user_id: 'long' });
          values = answer;
          const expected = (await endpoint.send(request)).text;
          const pieces = await piecesOf(await answered(service, request));
          assert.ok(pieces.join('') === expected, operation);
          const longest = Math.max(...pieces.map((piece) => piece.length));
          assert.ok(longest < 32_768 + 10_100, `${operation}: a piece of ${longest} characters`);
        }
      } finally {
        await service.stop();
      }
    });
  }
});

onEveryEngine('long lists with a limit', (engine) => {
  const many = manyOf('many', 1_001);
  for (const listLimit of engine === engines[0] ? [1, 500, 501, 1_000] : [501]) {
    test(`COLUMBA_LIST_LIMIT=${listLimit} limits every list, whatever is asked for`, async () => {
      const service = await filled(engine, [many], { listLimit });
      try {
        for (const question of QUESTIONS) {
          for (const max of [listLimit, listLimit + 1]) await agree(service, 'get', question, many, max, listLimit);
        }
      } finally {
        await service.stop();
      }
    });
  }
});
