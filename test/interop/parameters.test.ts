import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { envelope, NAMESPACE, soapRequest } from '../support/protocols.ts';
import { ACME, type Answer, type Service, startService } from '../support/service.ts';
import { faultOf } from './answers.ts';

/** Absence in all its spellings, for a parameter of each type, in each protocol. Never a silent default. */

/** How toolkits write a value that they do not have. */
const SPELLINGS: Record<string, { soap: (name: string) => string; absent: boolean }> = {
  missing: { soap: () => '', absent: true },
  nil: { soap: (name) => `<${name} xsi:nil="true"/>`, absent: true },
  'nil written 1': { soap: (name) => `<${name} xsi:nil="1"></${name}>`, absent: true },
  'nil and a value': { soap: (name) => `<${name} xsi:nil="true">1</${name}>`, absent: true },
  empty: { soap: (name) => `<${name}></${name}>`, absent: false },
  'self-closed': { soap: (name) => `<${name}/>`, absent: false },
  'self-closed, nil denied': { soap: (name) => `<${name} xsi:nil="false"/>`, absent: false },
  'white space': { soap: (name) => `<${name}> \n </${name}>`, absent: false },
};
const PAIR_SPELLINGS: Record<string, { pair: (name: string) => string; absent: boolean }> = {
  missing: { pair: () => '', absent: true },
  'a name without equals sign': { pair: (name) => `&${name}`, absent: true },
  empty: { pair: (name) => `&${name}=`, absent: false },
  'white space': { pair: (name) => `&${name}=+%20`, absent: false },
};

interface Target {
  readonly group: string;
  readonly operation: string;
  readonly name: string;
  /** The other parameters, all well given. */
  readonly others: Readonly<Record<string, string>>;
  check(answer: Answer, absent: boolean, refusal: (answer: Answer) => Refusal): void;
}
type Refusal = { kind: string; message: string };

/** A number or a date that is not there is an error that names it, absent or empty. */
const required: Target['check'] = (answer, absent, refusal) => {
  const { kind, message } = refusal(answer);
  assert.equal(kind, 'bad-argument');
  assert.match(message, absent ? /^(id|max_count|from): missing$/ : /^(id|max_count|from): expected /);
};

let toNobody = '';

const TARGETS: Record<string, Target> = {
  string: {
    group: 'account',
    operation: 'FetchContact',
    name: 'mobile',
    others: { user_id: ACME },
    check: ({ status, text }) => {
      assert.equal(status, 200, text);
      assert.match(text, /FetchContactResponse xmlns="[^"]*" \/>|<Contact [^>]*xsi:nil="true"/);
    },
  },
  'string that says who calls': {
    group: 'inbox',
    operation: 'CountUnread',
    name: 'user_id',
    others: {},
    // As for a user_id of nobody: who guesses learns nothing from the difference.
    check: (answer, _, refusal) => assert.deepEqual(refusal(answer), { kind: 'denied', message: toNobody }),
  },
  int: {
    group: 'inbox',
    operation: 'Unread',
    name: 'max_count',
    others: { user_id: ACME },
    check: required,
  },
  long: {
    group: 'sent',
    operation: 'MarkMessageAsRead',
    name: 'id',
    others: { user_id: ACME },
    check: required,
  },
  dateTime: {
    group: 'inbox',
    operation: 'Read',
    name: 'from',
    check: required,
    others: { user_id: ACME, to: '2026-10-31T00:00:00Z', max_count: '1' },
  },
};

const KINDS: Record<number, string> = { 400: 'bad-argument', 403: 'denied' };
const plain = ({ status, text }: Answer): Refusal => ({
  kind: KINDS[status] ?? `${status}`,
  message: text.trimEnd(),
});

const soap = (version: 'soap11' | 'soap12', group: string, operation: string, children: string) =>
  soapRequest(
    version,
    group,
    envelope(
      version,
      `<${operation} xmlns="${NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">${children}</${operation}>`,
    ),
    operation,
  );

const DATES: Record<string, { soap: boolean; pairs: boolean }> = {
  '2026-10-02T10:45:30Z': { soap: true, pairs: true },
  '2026-10-02T10:45:30z': { soap: true, pairs: true },
  '2026-10-02T10:45:30': { soap: true, pairs: true },
  '2026-10-02T10:45:30+00:00': { soap: true, pairs: true },
  '2026-10-02T12:45:30.000+02:00': { soap: true, pairs: true },
  '2026-10-02T05:15:30-05:30': { soap: true, pairs: true },
  '2026-10-02T10:45:30.000Z': { soap: true, pairs: true },
  '2026-10-02T10:45:30.000000Z': { soap: true, pairs: true },
  '2026-10-02T10:45:30.0000000Z': { soap: true, pairs: true },
  ' 2026-10-02T10:45:30Z\n': { soap: true, pairs: true },
  '2026-10-02': { soap: true, pairs: true },
  '2026-10-02+02:00': { soap: true, pairs: true },
  '2026-10-02 10:45:30': { soap: false, pairs: true },
  '10/02/2026 10:45:30 AM': { soap: false, pairs: true },
  'Fri, 02 Oct 2026 10:45:30 GMT': { soap: false, pairs: true },
  '2026-10-02T10:45:30.': { soap: false, pairs: false },
  '20261002T104530Z': { soap: false, pairs: false },
  '2026-10-01T24:00:00Z': { soap: false, pairs: false },
  '1790937930': { soap: false, pairs: false },
  today: { soap: false, pairs: false },
};

onOneEngine('missing parameters, and dates', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
    toNobody = plain(await service.call('get', 'inbox', 'CountUnread', { user_id: 'nobody' })).message;
    assert.notEqual(toNobody, '');
  });
  after(() => service.stop());

  for (const [type, { group, operation, name, others, check }] of Object.entries(TARGETS)) {
    for (const protocol of ['soap11', 'soap12'] as const) {
      for (const [spelling, { soap: element, absent }] of Object.entries(SPELLINGS)) {
        test(`a ${type} that is ${spelling} is never a silent default (${protocol})`, async () => {
          const given = Object.entries(others).map(([other, value]) => `<${other}>${value}</${other}>`);
          const request = soap(protocol, group, operation, given.join('') + element(name));
          check(await service.send(request), absent, faultOf);
        });
      }
    }
    for (const [spelling, { pair, absent }] of Object.entries(PAIR_SPELLINGS)) {
      test(`a ${type} that is ${spelling} is never a silent default (get, post)`, async () => {
        const given = Object.entries(others).map(([other, value]) => `${other}=${encodeURIComponent(value)}`);
        const pairs = given.join('&') + pair(name);
        const path = `/api/${group}.asmx/${operation}`;
        check(await service.send({ path, query: pairs }), absent, plain);
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        check(await service.send({ method: 'POST', path, headers, bytes: pairs }), absent, plain);
      });
    }
  }

  for (const [text, accepted] of Object.entries(DATES)) {
    for (const protocol of ['soap11', 'soap12', 'get', 'post'] as const) {
      const fine = protocol === 'get' || protocol === 'post' ? accepted.pairs : accepted.soap;
      test(`the date ${JSON.stringify(text)} is ${fine ? 'understood' : 'refused'} (${protocol})`, async () => {
        const args = { user_id: ACME, from: text, to: '2026-10-02T10:45:30Z', max_count: 10 };
        const answer = await service.call(protocol, 'inbox', 'Read', args);
        if (fine) assert.match(answer.text, /<id>1003<\/id>(?!.*<id>1004<)/s);
        else
          assert.match(
            (protocol === 'get' || protocol === 'post' ? plain : faultOf)(answer).message,
            /^from: expected /,
          );
      });
    }
  }

  test('the first and the last moment that .NET knows are understood in every protocol', async () => {
    for (const protocol of ['soap11', 'soap12', 'get', 'post'] as const) {
      const args = { user_id: ACME, from: '0001-01-01T00:00:00', to: '9999-12-31T23:59:59.9999999', max_count: 100 };
      const { text } = await service.call(protocol, 'inbox', 'Read', args);
      assert.equal(text.match(/<ReceivedMessage>/g)?.length, 6, protocol);
    }
  });
});
