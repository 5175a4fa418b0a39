import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ActionBench, type Output, openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';
import { countTurns } from '../support/turns.ts';

const acme = { params: { username: 'acme' } };

/** What the contacts of an account are, whatever their ids. */
async function contactsOf({ of }: ActionBench, username: string): Promise<string[]> {
  const groups = (await of(username, 'group list', { query: { limit: '500' } })).items;
  const nameOf = (id: string) => groups.find((group: Output) => group.id === id)?.name ?? null;
  const { items } = await of(username, 'contact list', { query: { limit: '500' } });
  return items.map(({ name, surname, mobile, groupId }: Output) =>
    JSON.stringify([name, surname, mobile, nameOf(groupId)]),
  );
}

onOneEngine('contacts from files', (engine) => {
  test('a file adds contacts and groups, changes names, and finds contacts by number', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    await bench.of('acme', 'contact add', { body: { mobile: '+27825550201', name: 'Old', surname: 'Kept' } });
    await bench.of('acme', 'contact add', { body: { mobile: '0825550202', name: 'Bob' } });
    const upload =
      'Cell;First name;Group\n082 555 0201;Ann;\n0825550202;Bob;\n0825550203;Cid;Friends\n+27825550203;Cid;Friends\n';
    const done = await bench.run('contact import', { ...acme, upload });
    assert.deepEqual(
      { ...done },
      {
        dryRun: false,
        rows: 4,
        added: 1,
        changed: 1,
        unchanged: 1,
        duplicates: 1,
        duplicateRows: [{ row: 5, firstRow: 4 }],
        bad: 0,
        groupsAdded: 1,
        errors: [],
        errorsLeftOut: 0,
      },
    );
    assert.deepEqual(await contactsOf(bench, 'acme'), [
      '["Ann","Kept","+27825550201",null]',
      '["Bob",null,"0825550202",null]',
      '["Cid",null,"0825550203","Friends"]',
    ]);
  });

  test('invisible characters are removed from a number, and a date is no number', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    const done = await bench.run('contact import', {
      ...acme,
      upload: 'mobile\n\u202a082\u200b5550201\u202c\n2026/11/15\n15.11.2026\n',
      query: { skip_bad: 'true' },
    });
    assert.deepEqual(
      done.errors.map(({ row, detail }: { row: number; detail: string }) => `${row}: ${detail}`),
      ['3: this is a date, not a phone number', '4: this is a date, not a phone number'],
    );
    assert.deepEqual(await contactsOf(bench, 'acme'), ['[null,null,"0825550201",null]']);
  });

  test('numbers that a spreadsheet has changed are named with their row and a proposal', async (t) => {
    const { account, run } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const numbers = [
      '825550201',
      '2.78E+10',
      '2.7825550201E+10',
      '27825550201.0',
      'none',
      '',
      "'825550201",
      '0825550204',
    ];
    const upload = `mobile,name\n\n${numbers.map((number) => `${number},x`).join('\n')}\n`;
    const done = await run('contact import', { ...acme, query: { dry_run: '', skip_bad: '' }, upload });
    assert.deepEqual(
      done.errors.map(({ row, field, proposal }: Output) => `${row} ${field} ${proposal}`),
      [
        '3 mobile 0825550201',
        '4 mobile null',
        '5 mobile +27825550201',
        '6 mobile 27825550201',
        '7 mobile null',
        '8 mobile null',
      ],
    );
    assert.deepEqual([done.added, done.bad], [2, 6]);
  });

  test('one bad row refuses the whole file, and skip_bad imports the others', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    const upload = 'mobile,name,group\n0825550201,Ann,New\n5,Bad,Other\n';
    const refused = await bench.refusal('contact import', { ...acme, upload });
    const place = { pointer: '#/3/mobile', row: 3, field: 'mobile', proposal: null };
    assert.deepEqual(refused.details.errors, [{ ...place, detail: 'row 3: this is not a phone number' }]);
    assert.deepEqual(await contactsOf(bench, 'acme'), []);
    assert.deepEqual((await bench.of('acme', 'group list')).items, []);
    const done = await bench.run('contact import', { ...acme, query: { skip_bad: 'true' }, upload });
    assert.deepEqual([done.added, done.bad, done.groupsAdded], [1, 1, 1]);
    assert.deepEqual(done.errors, [{ ...place, detail: 'this is not a phone number' }]);
  });

  test('a dry run says what the real run does, and does nothing', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    const { id: group } = await bench.of('acme', 'group add', { body: { name: 'A' } });
    const cell = fc.constantFrom('0825550201', '+27825550201', '0825550202', '27825550203', '82555020', '', 'x');
    const row = fc.tuple(cell, fc.constantFrom('', 'Ann', 'Bob'), fc.constantFrom('', 'A', 'B', 'C'));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), fc.boolean(), async (rows, inGroup) => {
        const upload = ['mobile,name,group', ...rows].join('\n');
        const query = { skip_bad: 'true', ...(inGroup ? { group } : {}) };
        const before = await contactsOf(bench, 'acme');
        const dry = await bench.run('contact import', { ...acme, query: { ...query, dry_run: 'true' }, upload });
        assert.deepEqual(await contactsOf(bench, 'acme'), before);
        const real = await bench.run('contact import', { ...acme, query, upload });
        assert.deepEqual({ ...real, dryRun: true }, dry);
        assert.equal((await contactsOf(bench, 'acme')).length, before.length + real.added);
        const again = await bench.run('contact import', { ...acme, query, upload });
        assert.equal(again.added, 0, 'a second time');
      }),
      { numRuns: 12 },
    );
  });

  test('an export, imported into another account, gives the same contacts', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    const bodies = [
      { mobile: '+27825550201', name: '=HYPERLINK("http://x")', surname: '@cmd', group: '-1+2' },
      { mobile: '0825550202', name: "'t Hooft", surname: '', group: 'A, "B"; C' },
      { mobile: '825550203', name: '  blanks ', surname: '3M', group: '007' },
      { mobile: '12345', name: 'Zoë 🙂', surname: '1E5', group: '' },
    ];
    for (const { group, ...body } of bodies) {
      const groupId = group === '' ? null : (await bench.of('acme', 'group add', { body: { name: group } })).id;
      await bench.of('acme', 'contact add', { body: { ...body, surname: body.surname || null, groupId } });
    }
    const file = await bench.text('contact export', acme);
    for (const line of file.slice(1).split('\r\n')) assert.doesNotMatch(line, /(^|,)"?[=+@-]/, line);
    await bench.account('globex', { region: 'ZA' });
    const done = await bench.run('contact import', { params: { username: 'globex' }, upload: file });
    assert.equal(done.added, bodies.length);
    assert.deepEqual(await contactsOf(bench, 'globex'), await contactsOf(bench, 'acme'));
    assert.equal((await bench.run('contact import', { ...acme, upload: file })).unchanged, bodies.length);
  });

  test('5,000 rows are imported into 5,000 contacts, each in one place', async (t) => {
    const { account, run } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const rows = Array.from({ length: 5_000 }, (_, index) => `0825${String(index).padStart(6, '0')},n${index % 3}`);
    const upload = `mobile,name\n${rows.join('\n')}\n`;
    assert.equal((await run('contact import', { ...acme, upload })).added, 5_000);
    assert.equal((await run('contact import', { ...acme, upload })).unchanged, 5_000);
  });

  test('the rows of a large file are read and compared in many turns, so that the service answers meanwhile', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    const upload = `mobile\n${Array.from({ length: 10_000 }, (_, index) => `+2782${5_000_000 + index}`).join('\n')}\n`;
    const turns = countTurns(t);
    const { added } = await bench.run('contact import', { ...acme, upload });
    assert.equal(added, 10_000);
    assert.ok(turns() > 15, `${turns()} turns of the event loop`);
  });
});
