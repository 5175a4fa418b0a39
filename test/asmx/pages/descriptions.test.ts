import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contract } from '../../../src/asmx/contract/contract.ts';
import { describeBoolean, describeParameter, resultFields } from '../../../src/asmx/contract/descriptions.ts';
import { errorsOf, refusedArguments } from '../../../src/asmx/contract/errors.ts';
import type { Operation } from '../../../src/asmx/contract/types.ts';
import { readAccount } from '../../../src/transfer/account-json.ts';
import { onOneEngine } from '../../support/engines.ts';
import { rows, section } from '../../support/markup.ts';
import { type Arguments, PROTOCOLS } from '../../support/protocols.ts';
import { ACME, type Service, startService } from '../../support/service.ts';

/** What pages and reference say about results and errors is what the service does. */

const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations).map(([name, operation]) => ({ group, name, operation })),
);

/** Of each operation that answers with a boolean: what is there to be found. */
const THERE: Record<string, Arguments> = {
  'account.RemoveContactFromGroup': { contact_id: ['101'], group_id: '1' },
  'account.MoveContactToNewGroup': { contact_id: ['102'], group_id: '2' },
  'account.DeleteContact': { contact_id: ['103'] },
  'account.DeleteContactsById': { id: '104' },
  'account.SaveMessageTemplate': { message: 'new' },
  'account.DeleteMessageTemplate': { message: 'new' },
  'account.BlackListNumber': { mobile: '+27825550999', sample_message: '' },
  'inbox.MarkMessageAsRead': { message_id: '1003' },
  'inbox.DeleteMessage': { message_id: '1003' },
  'inbox.DeleteAllMessages': {},
  'sent.MarkMessageAsRead': { id: '2002' },
  'sent.DeleteSentMessage': { message_id: '2002' },
  'compose.DeleteScheduledMessage': { message_id: '3001' },
  'compose.DeleteAllScheduled': {},
};

onOneEngine('descriptions of results', (engine) => {
  test('true and false mean what the descriptions say, also for a second call and for what does not exist', async () => {
    const service = await startService(engine);
    try {
      const booleans = OPERATIONS.flatMap(({ group, name }) =>
        describeBoolean(group, name) ? [`${group}.${name}`] : [],
      );
      assert.deepEqual(Object.keys(THERE).sort(), booleans.sort());
      for (const [place, args] of Object.entries(THERE)) {
        const [group = '', name = ''] = place.split('.');
        const answer = async () => {
          const { text } = await service.call('get', group, name, { user_id: ACME, ...args });
          return />(true|false)</.exec(text)?.[1];
        };
        assert.equal(await answer(), 'true', place);
        const secondIsFalse = /second call is false/.test(describeBoolean(group, name)?.false ?? '');
        assert.equal(await answer(), secondIsFalse ? 'false' : 'true', `${place}, again`);
        if (!secondIsFalse) assert.match(describeBoolean(group, name)?.true ?? '', /also/, place);
      }
    } finally {
      await service.stop();
    }
  });

  test('a record with only its required values lacks the fields that may be absent, and has all others', async () => {
    const service = await startService(engine, 'empty');
    try {
      await service.app.archive.load(await readAccount(BARE, 0));
      for (const { group, name, operation } of OPERATIONS) {
        const fields = resultFields(operation.result);
        if (fields.length === 0 || 'mobile' in operation.parameters) continue;
        const args = { user_id: 'bare', groupid: '1', max: '5', max_count: '5', ...RANGE };
        const { text } = await service.call('get', group, name, args);
        const [, inside = ''] = text.split(
          /<Table |<(?:Contact|Group|ReceivedMessage|DeliveryStatus)>|<AccountDetail /,
        );
        assert.notEqual(inside, '', `${group}.${name}: ${text}`);
        for (const { name: field, mayBeAbsent } of fields) {
          // The contacts of a group are in one.
          const isThere = field === 'groupid' ? inside.includes('<groupid>') : !mayBeAbsent;
          assert.equal(new RegExp(`<${field}[ />]`).test(inside), isThere, `${group}.${name}: ${field}`);
        }
      }
    } finally {
      await service.stop();
    }
  });
});

const RANGE = { from: '2026-01-01', to: '2026-12-31' };
const AT = '2026-10-01T00:00:00Z';
const BARE = {
  username: 'bare',
  userID: 'bare',
  credits: 0,
  usedCredits: 0,
  datetimeCreated: '2026-01-01',
  groups: [{ id: 1 }],
  contacts: [{ id: 1, groupid: 1 }],
  inbox: [{ id: 1, timestamp: AT, read: false }],
  sent: [{ id: 1, delivery_status: 'QUEUED', timestamp_sent: AT, timestamp_updated: AT, marked: false }],
  scheduled: [{ id: 1, timestamp_scheduled: AT, timestamp_created: AT }],
};

onOneEngine('descriptions of errors', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());

  const exampleOf = (operation: Operation): Arguments =>
    Object.fromEntries(Object.keys(operation.parameters).map((key) => [key, describeParameter(key).example]));

  test('an argument is refused if the description of its operation says so, and a missing text is accepted elsewhere', async () => {
    for (const { group, name, operation } of OPERATIONS) {
      const said = refusedArguments(group, name, operation).map((sentence) => sentence.split(':')[0]);
      for (const parameter of Object.keys(operation.parameters)) {
        if (parameter === 'user_id') continue;
        const args: Arguments = { ...exampleOf(operation), user_id: ACME, [parameter]: null };
        const { status, text } = await service.call('post', group, name, args);
        assert.equal(status, said.includes(parameter) ? 400 : 200, `${group}.${name} without ${parameter}: ${text}`);
        if (status === 400) assert.ok(text.startsWith(`${parameter}: `), text);
      }
    }
  });

  test('the limits that the descriptions name are the real limits', async () => {
    const refused = async (group: string, name: string, args: Arguments) => {
      const { status } = await service.call('post', group, name, { user_id: ACME, ...args });
      assert.equal(status, 400, `${name} ${JSON.stringify(args).slice(0, 80)}`);
    };
    await refused('account', 'SaveMessageTemplate', { message: 'x'.repeat(2_001) });
    await refused('account', 'SaveMessageTemplate', { message: '' });
    await refused('account', 'BlackListNumber', { mobile: 'none', sample_message: '' });
    await refused('account', 'BlackListNumber', { mobile: '1'.repeat(201), sample_message: '' });
    await refused('account', 'DeleteContact', { contact_id: Array(1_001).fill('1') });
    await refused('inbox', 'Unread', { max_count: '-1' });
    await refused('sent', 'FetchSentDS', { max: '-1' });
  });

  test('each protocol answers with the statuses and faults that the page names', async () => {
    const { text: html } = await service.send({ path: '/api/inbox.asmx', query: 'op=Unread' });
    const shown = new Map(rows(section(html, 'Errors')));
    const cases: [string, Arguments][] = [
      ['denied', { user_id: 'nobody', max_count: '1' }],
      ['bad-argument', { user_id: ACME, max_count: 'x' }],
    ];
    for (const [kind, args] of cases) {
      for (const protocol of PROTOCOLS) {
        const { status, text } = await service.call(protocol, 'inbox', 'Unread', args);
        const code = /soap:(Client|Sender)/.exec(text)?.[1];
        const words = { get: 'in GET and POST', post: 'in GET and POST', soap11: 'in SOAP 1.1', soap12: 'in SOAP 1.2' };
        const expected = `${[status, ...(code ? [code] : [])].join(' ')} ${words[protocol]}`;
        assert.ok(shown.get(kind)?.includes(expected), `${kind}: ${expected} in ${shown.get(kind)}`);
      }
    }
    assert.match(shown.get('unavailable') ?? '', /503 in all forms/);
    assert.match(
      shown.get('must-understand') ?? '',
      /500 MustUnderstand in SOAP 1\.1, 500 MustUnderstand in SOAP 1\.2/,
    );
    assert.equal(shown.size, errorsOf('inbox', 'Unread', contract.inbox.Unread).length);
  });
});
