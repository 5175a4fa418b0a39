import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';
import { account as accountOf, document, exportText, importText, withService } from '../support/import-files.ts';

const SMPP = { host: 'smsc.example.org', systemId: 'esme', password: 'secret' };
const tlvs = [
  { tag: '0x1400', field: 'entityId' },
  { tag: '0x1401', field: 'templateId' },
];
const to = (number: string, more: object = {}) => ({ body: { recipients: [number], text: 'Hello', ...more } });

onOneEngine('fields that carriers demand', (engine) => {
  test('a message leaves with its own fields and those of its account, and names that no connector has are refused', async (t) => {
    const { run, of, account, refusal, database, clock } = await openActions(engine, t);
    await account('acme', { credits: '100', region: 'ZA' });
    const unknown = { params: { username: 'acme' }, ...to('+27825550201', { carrierFields: { templateId: '1107' } }) };
    assert.match(
      JSON.stringify((await refusal('message send', unknown)).details),
      /no connector has a field templateId. No connector has any./,
    );
    const put = { params: { name: 'india' }, body: { kind: 'smpp', isDefault: true, config: { ...SMPP, tlvs } } };
    await run('connector put', put);
    const changed = await of('acme', 'account change', { body: { carrierFields: { entityId: '1101' } } });
    assert.deepEqual(changed.carrierFields, { entityId: '1101' });
    await of('acme', 'message send', to('+27825550201'));
    await of('acme', 'message send', to('+27825550202', { carrierFields: { templateId: '1107', entityId: '1102' } }));
    const wrong = { params: { username: 'acme' }, ...to('+27825550203', { carrierFields: { templatId: '1107' } }) };
    assert.match(
      JSON.stringify((await refusal('message send', wrong)).details),
      /no connector has a field templatId. The connectors know entityId, templateId./,
    );
    const claiming = createClaiming(database, {
      now: () => clock.now,
      owner: 'test',
      newAttemptId,
      leaseMs: 60_000,
      unknownOutcomeMs: 60_000,
    });
    const claimed = await claiming.claim({ connector: 'india', isDefault: true }, 10);
    assert.deepEqual(
      claimed.map(({ fields }) => fields),
      [{ entityId: '1101' }, { entityId: '1102', templateId: '1107' }],
    );
  });

  test('the fields of an account are exported and imported, and mistakes in them are named', () =>
    withService(engine, async (service) => {
      const stored = '{"entityId":"1101","templateId":"1107"}';
      const given = accountOf('india', { carrierFields: '{"templateId":"1107","entityId":"1101"}' });
      await importText(service.app, document(given));
      assert.equal(JSON.parse(await exportText(service.app, false)).accounts[0].carrierFields, stored);
      for (const [text, words] of [
        ['[]', /carrierFields: expected the JSON text of an object/],
        ['{"a b":"1"}', /carrierFields: expected names such as templateId/],
        ['{"entityId":""}', /carrierFields: expected values of 1 to 100/],
      ] as const) {
        const { mistakes } = await importText(service.app, document(accountOf('other', { carrierFields: text })));
        assert.match(mistakes.join(), words);
      }
    }));
});
