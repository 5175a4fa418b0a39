import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Problem } from '../../src/base/problem.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { Fields, Mistakes, parseJson } from '../../src/transfer/json-fields.ts';
import { onEveryEngine } from '../support/engines.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { startService } from '../support/service.ts';
import { anyAccount, questions } from './accounts.ts';
import { anyText, long, runs } from './arbitraries.ts';
import { ask } from './replies.ts';

const NOW = Date.UTC(2026, 0);
const SECRET = 'correct-horse-battery-staple';

/** Accepted, or refused with a message that gives no value away. */
async function tried<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    assert.ok(thrown instanceof Problem, `${thrown}`);
    assert.equal(thrown.kind, 'bad-argument');
    assert.ok(!thrown.message.includes(SECRET), thrown.message);
    return null;
  }
}

const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 4 });
/** What may stand where something else should. */
const misplaced: fc.Arbitrary<unknown> = fc.oneof(
  json,
  fc.constantFrom(
    SECRET,
    [SECRET],
    { [SECRET.slice(0, 7)]: SECRET },
    null,
    '',
    -1,
    Number.POSITIVE_INFINITY,
    2n ** 70n,
    '1e3',
    true,
  ),
  fc.constantFrom('9999-12-31T23:59:59-14:00', '0001-01-01T00:00:00+14:00', '2026-02-30T00:00:00Z', '2026', '10:45:30'),
  long.map((value) => Number(value)),
);

/** An account with one of its values, anywhere, replaced. */
const spoilt = fc
  .record({
    account: anyAccount,
    way: fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 3 }),
    value: misplaced,
    extra: fc.option(
      fc.constantFrom('password', 'passwordHash', 'region', 'blacklist', 'userIDHashes', '__proto__', 'x'),
    ),
  })
  .map(({ account, way, value, extra }) => {
    const whole = { ...account, username: 'someone', userID: SECRET };
    if (extra === null) return spoil(whole, way, value);
    return Object.defineProperty(whole, extra, { value, enumerable: true });
  });

function spoil(target: unknown, [step = 0, ...way]: readonly number[], value: unknown): unknown {
  if (typeof target !== 'object' || target === null || Object.keys(target).length === 0) return value;
  const keys = Object.keys(target);
  const key = keys[step % keys.length] as string;
  const changed = way.length === 0 ? value : spoil((target as Record<string, unknown>)[key], way, value);
  return Array.isArray(target) ? target.with(Number(key), changed) : { ...target, [key]: changed };
}

describe('reading accounts of the import format', () => {
  test('any JSON is an account or is refused, without a secret in the message', async () => {
    const read = fc.asyncProperty(fc.oneof(json, spoilt), async (value) => {
      await tried(() => readAccount(value, NOW));
    });
    await fc.assert(read, runs(1_000));
  });

  test('a whole number in JSON is read exactly or refused, however it is written', () => {
    const write: ((value: bigint) => string)[] = [
      (value) => `${value}`,
      (value) => `"${value}"`,
      (value) => `${value}.0`,
      (value) => `${value}e0`,
    ];
    fc.assert(
      fc.property(
        fc.oneof(long, fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n })),
        fc.nat({ max: 3 }),
        (value, way) => {
          const text = `{"id":${write[way]?.(value)}}`;
          const mistakes = new Mistakes();
          const number = new Fields(parseJson(text), '', mistakes).long('id');
          if (mistakes.told.length === 0) assert.equal(number, value, text);
          else if (way < 2) assert.notEqual(value, BigInt.asIntN(64, value));
        },
      ),
      runs(1_000),
    );
  });

  test('JSON that nests too deep and text that is no JSON are refused as such', () => {
    const refused = (text: string): void => {
      try {
        parseJson(text);
      } catch (thrown) {
        assert.ok(thrown instanceof SyntaxError || thrown instanceof Problem, `${thrown}`);
      }
    };
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(100),
          json.map((value) => JSON.stringify(value)),
        ),
        refused,
      ),
      runs(300),
    );
    fc.assert(
      fc.property(fc.nat({ max: 50_000 }), fc.constantFrom('1', '1234567890123456789', '"a"', ''), (depth, inner) =>
        refused('['.repeat(depth) + inner + ']'.repeat(depth)),
      ),
      runs(100),
    );
  });
});

onEveryEngine('importing accounts', (engine) => {
  test('an account that was read can be imported and answers every call, or is refused', async () => {
    const service = await startService(engine, 'empty');
    let count = 0;
    const number = fc.constantFrom(
      '+27825550201',
      '+27 82 555 0201',
      '0825550201',
      '1',
      '١',
      '1'.repeat(3_000),
      '\uD8001',
    );
    const blacklist = fc.uniqueArray(number).map((all) => all.map((mobile) => ({ mobile, timestamp: '2026-01-01' })));
    const halves = fc.uniqueArray(fc.constantFrom('\uD800', '\uDBFF', '\uDFFF', '\uFFFD'), { maxLength: 4 });
    const odd = fc
      .tuple(spoilt, fc.option(blacklist), fc.option(halves))
      .map(([account, blocked, templates]) =>
        typeof account === 'object' && account !== null
          ? { ...account, ...(blocked && { blacklist: blocked }), ...(templates && { templates }) }
          : account,
      );
    try {
      const load = fc.asyncProperty(odd, fc.constantFrom(...PROTOCOLS), async (given, protocol) => {
        count += 1;
        const names = { username: `account ${count}`, userID: `user ${count}` };
        const value = typeof given === 'object' ? { ...given, ...names, password: null } : given;
        const account = await tried(() => readAccount(value, NOW));
        if (account === null) return;
        const loaded = await tried(() => service.app.archive.load(account).then(() => true));
        if (loaded === null) return;
        for (const [group, operation, args] of questions(NOTHING, names.userID, names.username)) {
          await ask(service, protocol, group, operation, { user_id: names.userID, ...args });
        }
      });
      await fc.assert(load, runs(300, engine));
    } finally {
      await service.stop();
    }
  });
});

/** For the questions alone, whatever the answers. */
const NOTHING = {
  credits: '0',
  usedCredits: '0',
  transmissionPriority: 0,
  tag: 0,
  datetimeCreated: '2026-01-01T00:00:00Z',
  contactName: undefined,
  contactSurname: undefined,
  company: undefined,
  email: undefined,
  tel: undefined,
  fax: undefined,
  mobile: undefined,
  address: undefined,
  datetimeLastLoggedIn: undefined,
  stopWords: undefined,
  startWords: undefined,
  helpWords: undefined,
  wordLanguages: undefined,
  stopAnswer: undefined,
  helpAnswer: undefined,
  timeZone: undefined,
  quietHours: undefined,
  unknownOutcomePolicy: undefined,
  connector: undefined,
  lowCredits: undefined,
  groups: [],
  contacts: [],
  templates: [],
  inbox: [],
  sent: [],
  scheduled: [],
};
