import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adopt, type Client, clientOf, exportOf, protocolsFor } from '../../support/contract-client.ts';
import { type Engine, engines, onOneEngine } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { isProof } from '../../support/proof.ts';
import { type Service, startService } from '../../support/service.ts';

/** Numbers do not depend on what was configured when they came in. */

/** Services of one database, each with another COLUMBA_REGION. */
async function withRegions<const R extends string>(
  engine: Engine,
  regions: readonly R[],
  work: (services: Readonly<Record<R, Service>>, database: string) => Promise<void>,
): Promise<void> {
  const database = await engine.fresh('empty');
  const same = { ...engine, fresh: async () => database, release: () => {} };
  const services: Partial<Record<R, Service>> = {};
  try {
    for (const region of regions) services[region] = await startService(same, 'empty', { region });
    await work(services as Record<R, Service>, database);
  } finally {
    for (const service of Object.values<Service | undefined>(services)) await service?.stop();
  }
}

const at = '2031-01-01T00:00:00Z';
const contact = (mobile: string, index: number) => ({ id: index + 1, mobile });
const scheduled = (recipient: string, index: number) => ({
  id: index + 1,
  recipient,
  message: 'x',
  timestamp_scheduled: at,
  timestamp_created: at,
});

const found = async (client: Client, operation: 'FetchContact' | 'LookupContact', mobile: string) =>
  (await client.ask('account', operation, { mobile }))?.id;
const block = (client: Client, mobile: string) =>
  client.ask('account', 'BlackListNumber', { mobile, sample_message: 'STOP' });
async function exported(service: Service, username: string) {
  const { blacklist = [], scheduled = [], credits } = JSON.parse(await exportOf(service.app, username));
  return { blacklist: blacklist.map(({ mobile }: { mobile: string }) => mobile), scheduled, credits };
}

/** A mobile number of each of these, in notations that say which country it is of, and in others that do not. */
const NUMBERS: readonly (readonly [region: string, international: readonly string[], local: readonly string[]])[] = [
  ['ZA', ['+27825550201', '0027825550201', '+27 (0)82 555-0201'], ['27825550201', '0825550201', '(082) 555 0201']],
  ['GB', ['+447400123456', '00447400123456', '+44 7400 123456'], ['447400123456', '07400123456', '07400 123 456']],
  ['US', ['+12015550123', '0012015550123', '+1 (201) 555-0123'], ['12015550123', '2015550123', '(201) 555-0123']],
  ['DE', ['+4915123456789', '004915123456789', '+49 1512 3456789'], ['4915123456789', '015123456789', '01512/3456789']],
  ['BR', ['+5511961234567', '005511961234567', '+55 11 96123-4567'], ['5511961234567', '11961234567', '011961234567']],
  [
    'AR',
    ['+5491123456789', '005491123456789', '+54 9 11 2345-6789'],
    ['5491123456789', '01115 2345-6789', '91123456789'],
  ],
  ['FK', ['+50051234', '0050051234', '+500 51234'], ['50051234', '51234', '51 234']],
  [
    'EG',
    ['+201001234567', '00201001234567', '\uff0b201001234567'],
    ['\u0660\u0661\u0660\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667', '01001234567'],
  ],
];
/** No local number of any of them is one there, with or without plus sign. */
const ELSEWHERE = 'SG';

onOneEngine('numbers, whatever the region was and is', (engine) => {
  // The rules are the same on every engine; the second one shows that it stores what they need. So do the first countries.
  for (const [place, [own, international, local]] of NUMBERS.entries()) {
    if ((engine !== engines[0] || !isProof) && place > 1) break;
    const isWhole = place < 2;
    const texts = [...international, ...local];

    test(`a number of ${own} is the same in all notations, under every region at import and every region at the call`, async () => {
      const regions = ['', own, ELSEWHERE] as const;
      await withRegions(engine, regions, async (services) => {
        for (const before of regions) {
          for (const now of regions) {
            if (!isWhole && before === now) continue;
            const what = `imported with ${before || 'none'}, asked with ${now || 'none'}`;
            const username = `${before}-${now}`;
            await adopt((services[before] as Service).app, {
              username,
              userID: username,
              credits: 0,
              contacts: texts.map(contact),
              scheduled: texts.map(scheduled),
            });
            const service = services[now] as Service;
            const client = clientOf(service, 'post', username, username);
            for (const [index, text] of texts.entries()) {
              assert.equal(await found(client, 'FetchContact', text), `${index + 1}`, `${text} ${what}`);
            }
            const same = now === own ? texts : international;
            for (const text of same) assert.equal(await found(client, 'LookupContact', text), '1', `${text} ${what}`);
            for (const text of same) {
              assert.equal(await block(client, text), true, `${text} ${what}`);
              const after = await exported(service, username);
              assert.deepEqual(after.blacklist, [same[0]], `${text} ${what}`);
              const left = after.scheduled.map(({ recipient }: { recipient: string }) => recipient);
              for (const other of same) assert.ok(!left.includes(other), `${other} ${what}`);
              assert.equal(Number(after.credits) + left.length, texts.length, what);
            }
            for (const text of texts) assert.equal(await block(client, text), true, `${text} ${what}`);
            assert.deepEqual((await exported(service, username)).scheduled, [], what);
          }
        }
      });
    });
  }

  test('without a region LookupContact and BlackListNumber know 27825550201 and 0027825550201 as +27825550201', async () => {
    await withRegions(engine, [''], async ({ '': service }) => {
      const mobile = '+27825550201';
      await adopt(service.app, {
        username: 'a',
        userID: 'a',
        contacts: [{ id: 1, mobile }],
        blacklist: [{ mobile, timestamp: at }],
      });
      for (const protocol of protocolsFor(engine)) {
        const client = clientOf(service, protocol, 'a', 'a');
        for (const text of ['27825550201', '0027825550201', '00 27 82 555 0201', mobile]) {
          assert.equal(await found(client, 'LookupContact', text), '1', text);
          assert.equal(await block(client, text), true, text);
        }
        assert.equal(await found(client, 'LookupContact', '0825550201'), undefined);
      }
      assert.deepEqual((await exported(service, 'a')).blacklist, [mobile]);
    });
  });

  test('after COLUMBA_REGION changed FetchContact finds the exact text, and BlackListNumber what it has blacklisted', async () => {
    await withRegions(engine, ['ZA', ''], async ({ ZA, '': none }) => {
      const texts = ['0825550201', '082 555 0202', '+27825550203'];
      await adopt(ZA.app, {
        username: 'a',
        userID: 'a',
        credits: 0,
        contacts: texts.map(contact),
        scheduled: texts.map(scheduled),
        blacklist: texts.map((mobile) => ({ mobile, timestamp: at })),
      });
      for (const [index, text] of texts.entries()) {
        const client = clientOf(none, 'get', 'a', 'a');
        assert.equal(await found(client, 'FetchContact', text), `${index + 1}`);
        assert.equal(await block(client, text), true);
      }
      assert.deepEqual(await exported(none, 'a'), { blacklist: texts.toSorted(), scheduled: [], credits: '3' });
    });
  });

  test("a change of an account's region takes effect at once, also for cached answers", async () => {
    await withRegions(engine, [''], async ({ '': service }, database) => {
      const contacts = [{ id: 1, mobile: '020 7946 0018' }];
      await adopt(service.app, { username: 'a', userID: 'a', region: 'ZA', contacts });
      const client = clientOf(service, 'get', 'a', 'a');
      const outside = await openOutside(database);
      try {
        for (const region of ['ZA', 'GB', 'ZA', 'GB']) {
          await outside.query(`update account set region = '${region}'`);
          for (let time = 0; time < 3; time++) {
            assert.equal(await found(client, 'LookupContact', '+442079460018'), region === 'GB' ? '1' : undefined);
            assert.equal(await found(client, 'FetchContact', '020 7946 0018'), '1');
          }
        }
      } finally {
        await outside.close();
      }
    });
  });

  test('a plus sign that arrived as a blank in a query is read as a plus sign', async () => {
    await withRegions(engine, ['', 'GB'], async (services) => {
      // In Great Britain 023 8991 1234 is a local number, and +238 991 12 34 one of Cape Verde.
      const contacts = ['+27825550201', '2389911234', '+2389911234'].map(contact);
      await adopt(services[''].app, {
        username: 'a',
        userID: 'a',
        contacts,
        scheduled: contacts.map(({ mobile }, id) => scheduled(mobile, id)),
      });
      const raw = async (service: Service, operation: string, mobile: string) => {
        const query = `user_id=a&mobile=${mobile}&sample_message=x`;
        const get = await service.send({ path: `/api/account.asmx/${operation}`, query });
        assert.equal(get.status, 200, get.text);
        return /<id>(.*?)<\/id>/.exec(get.text)?.[1];
      };
      for (const service of [services[''], services.GB]) {
        assert.equal(await raw(service, 'FetchContact', '+27825550201'), '1');
        assert.equal(await raw(service, 'LookupContact', '+27825550201'), '1');
        assert.equal(await raw(service, 'LookupContact', '+27+82+555+0201'), '1');
        assert.equal(await raw(service, 'FetchContact', '+2389911234'), '2');
        assert.equal(await raw(service, 'FetchContact', '%2B2389911234'), '3');
      }
      assert.equal(await raw(services.GB, 'LookupContact', '+2389911234'), '3');
      assert.equal(await raw(services.GB, 'LookupContact', '2389911234'), '2');
      for (const mobile of ['+27825550201', '%2B27825550201', '0027825550201'])
        await raw(services.GB, 'BlackListNumber', mobile);
      const after = await exported(services.GB, 'a');
      assert.deepEqual(after.blacklist, [' 27825550201']);
      assert.deepEqual(after.scheduled.length, 2);
    });
  });

  test('a local number does not match a number of another country, and numbers with the same last digits do not match', async () => {
    await withRegions(engine, ['GB'], async ({ GB }) => {
      const contacts = ['+2389911234', '+27829911234', '+442389911234'].map(contact);
      await adopt(GB.app, {
        username: 'a',
        userID: 'a',
        contacts,
        scheduled: contacts.map(({ mobile }, id) => scheduled(mobile, id)),
      });
      const client = clientOf(GB, 'soap12', 'a', 'a');
      for (const text of ['2389911234', '02389911234', '442389911234']) {
        assert.equal(await found(client, 'LookupContact', text), '3', text);
      }
      for (const text of ['9911234', '911234', '+911234', '+119911234']) {
        assert.equal(await found(client, 'LookupContact', text), undefined, text);
        await block(client, text);
      }
      assert.equal((await exported(GB, 'a')).scheduled.length, 3);
    });
  });

  test('FetchContact finds any text that is stored, however long and of whatever characters', async () => {
    await withRegions(engine, ['ZA', ''], async ({ ZA, '': none }) => {
      const texts = [
        'reception',
        'x',
        '\0ab\0\x01cde\0',
        '\u{1f600}'.repeat(9),
        '\u0967\u0968\u0969',
        '+',
        '7',
        'ext. 7',
        '#7',
      ];
      const long = [
        '1'.repeat(64),
        '1'.repeat(65),
        '1'.repeat(20),
        '1'.repeat(21),
        'x'.repeat(65),
        '082 '.repeat(2_000).trim(),
      ];
      const contacts = [...texts, ...long, ...long.map((text) => `+${text}`)].map(contact);
      await adopt(ZA.app, { username: 'a', userID: 'a', contacts });
      const client = clientOf(none, 'post', 'a', 'a');
      for (const { id, mobile } of contacts) {
        for (const text of [mobile, `  ${mobile}`, `${mobile}${' '.repeat(300)}`]) {
          assert.equal(await found(client, 'FetchContact', text), `${id}`, JSON.stringify(text));
        }
      }
    });
  });

  test('among thousands of numbers that end in the same digits the right one is found, and all messages to it are cancelled', async () => {
    await withRegions(engine, ['ZA'], async ({ ZA }) => {
      const others = Array.from({ length: 2_500 }, (_, index) => `+1${2_000 + index}550201`);
      const contacts = [...others, '0825550201', '+27825550201'].map(contact);
      await adopt(ZA.app, {
        username: 'a',
        userID: 'a',
        credits: 0,
        contacts,
        scheduled: [...others, ...Array.from({ length: 2_500 }, () => '082 555 0201')].map(scheduled),
        blacklist: others.map((mobile) => ({ mobile, timestamp: at })),
      });
      const client = clientOf(ZA, 'soap11', 'a', 'a');
      assert.equal(await found(client, 'LookupContact', '27825550201'), '2501');
      assert.equal(await found(client, 'FetchContact', '+27825550201'), '2502');
      for (const text of ['27825550201', '0825550201']) assert.equal(await block(client, text), true);
      const after = await exported(ZA, 'a');
      assert.equal(after.credits, '2500');
      assert.deepEqual([after.scheduled.length, after.blacklist.length], [2_500, 2_501]);
    });
  });
});
