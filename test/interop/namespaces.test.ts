import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { ENVELOPES, NAMESPACE, soapRequest } from '../support/protocols.ts';

import { ACME, type Service, startService } from '../support/service.ts';
import { faultOf } from './answers.ts';
import type { Version } from './phrasing.ts';

/** Prefixes are the client's business. These are the ways of declaring them that toolkits have tripped servers up with. */

/** Ways to write the same call; `E` is the namespace of the envelope, `N` that of the service. */
const STYLES: Record<string, { qualified: string; unqualified: string }> = {
  'a default namespace on the operation': {
    qualified:
      '<s:Envelope xmlns:s="E"><s:Body><Unread xmlns="N"><user_id>U</user_id><max_count>1</max_count></Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:s="E"><s:Body><Unread xmlns="N"><user_id xmlns="">U</user_id><max_count xmlns="">1</max_count></Unread></s:Body></s:Envelope>',
  },
  'a prefix of its own': {
    qualified:
      '<s:Envelope xmlns:s="E"><s:Body><ns1:Unread xmlns:ns1="N"><ns1:user_id>U</ns1:user_id><ns1:max_count>1</ns1:max_count></ns1:Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:s="E"><s:Body><ns1:Unread xmlns:ns1="N"><user_id>U</user_id><max_count>1</max_count></ns1:Unread></s:Body></s:Envelope>',
  },
  "the envelope's prefix, declared anew": {
    qualified:
      '<s:Envelope xmlns:s="E"><s:Body><s:Unread xmlns:s="N"><s:user_id>U</s:user_id><s:max_count>1</s:max_count></s:Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:s="E"><s:Body><s:Unread xmlns:s="N"><user_id>U</user_id><max_count>1</max_count></s:Unread></s:Body></s:Envelope>',
  },
  'a prefix that is declared on the Body': {
    qualified:
      '<s:Envelope xmlns:s="E"><s:Body xmlns:api="N"><api:Unread><api:user_id>U</api:user_id><api:max_count>1</api:max_count></api:Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:s="E"><s:Body xmlns:api="N"><api:Unread><user_id>U</user_id><max_count>1</max_count></api:Unread></s:Body></s:Envelope>',
  },
  'a prefix that is declared on the Envelope': {
    qualified:
      '<s:Envelope xmlns:api="N" xmlns:s="E"><s:Body><api:Unread><api:user_id>U</api:user_id><api:max_count>1</api:max_count></api:Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:api="N" xmlns:s="E"><s:Body><api:Unread><user_id>U</user_id><max_count>1</max_count></api:Unread></s:Body></s:Envelope>',
  },
  'two prefixes for each namespace': {
    qualified:
      '<a:Envelope xmlns:a="E" xmlns:b="E" xmlns:p="N" xmlns:q="N"><b:Header/><b:Body><p:Unread><q:user_id>U</q:user_id><p:max_count>1</p:max_count></p:Unread></b:Body></a:Envelope>',
    unqualified:
      '<a:Envelope xmlns:a="E" xmlns:b="E" xmlns:p="N" xmlns:q="N"><b:Header/><b:Body><p:Unread><q:user_id>U</q:user_id><max_count>1</max_count></p:Unread></b:Body></a:Envelope>',
  },
  'no prefix at all: the default namespace is declared anew': {
    qualified:
      '<Envelope xmlns="E"><Body><Unread xmlns="N"><user_id>U</user_id><max_count>1</max_count></Unread></Body></Envelope>',
    unqualified:
      '<Envelope xmlns="E"><Body><p:Unread xmlns:p="N" xmlns=""><user_id>U</user_id><max_count>1</max_count></p:Unread></Body></Envelope>',
  },
  'a prefix that every element declares for itself': {
    qualified:
      '<s:Envelope xmlns:s="E"><s:Body><a:Unread xmlns:a="N"><b:user_id xmlns:b="N">U</b:user_id><c:max_count xmlns:c="N">1</c:max_count></a:Unread></s:Body></s:Envelope>',
    unqualified:
      '<s:Envelope xmlns:s="E"><s:Body><a:Unread xmlns:a="N"><user_id>U</user_id><c:max_count xmlns:c="N">1</c:max_count></a:Unread></s:Body></s:Envelope>',
  },
};

const OTHER = 'http://sms.example/other';
const within = (operation: string) => `<s:Envelope xmlns:s="E"><s:Body>${operation}</s:Body></s:Envelope>`;
const unread = (children: string, attributes = 'xmlns="N"') => within(`<Unread ${attributes}>${children}</Unread>`);

const REFUSED: Record<string, { envelope: string; kind: string }> = {
  'a parameter in a foreign namespace': {
    envelope: unread(`<user_id>U</user_id><x:max_count xmlns:x="${OTHER}">1</x:max_count>`),
    kind: 'bad-argument',
  },
  'a user_id in a foreign namespace': {
    envelope: unread(`<x:user_id xmlns:x="${OTHER}">U</x:user_id><max_count>1</max_count>`),
    kind: 'bad-argument',
  },
  "parameters that inherit the envelope's default namespace": {
    envelope:
      '<Envelope xmlns="E"><Body><p:Unread xmlns:p="N"><user_id>U</user_id><max_count>1</max_count></p:Unread></Body></Envelope>',
    kind: 'bad-argument',
  },
  'a parameter whose name differs in case': {
    envelope: unread('<user_id>U</user_id><Max_Count>1</Max_Count>'),
    kind: 'bad-argument',
  },
  'an operation in no namespace': {
    envelope: within('<Unread><user_id>U</user_id><max_count>1</max_count></Unread>'),
    kind: 'unknown-operation',
  },
  'an operation in a foreign namespace': {
    envelope: unread('<user_id>U</user_id><max_count>1</max_count>', `xmlns="${OTHER}"`),
    kind: 'unknown-operation',
  },
  'a namespace with a slash more': {
    envelope: unread('<user_id>U</user_id><max_count>1</max_count>', 'xmlns="N/"'),
    kind: 'unknown-operation',
  },
  'an operation whose name differs in case': {
    envelope: within('<unread xmlns="N"><user_id>U</user_id><max_count>1</max_count></unread>'),
    kind: 'unknown-operation',
  },
};

const filled = (envelope: string, version: Version): string =>
  envelope
    .replaceAll('"E"', `"${ENVELOPES[version]}"`)
    .replaceAll('"N', `"${NAMESPACE}`)
    .replaceAll('>U<', `>${ACME}<`);

onOneEngine('namespaces in every style', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());
  const send = (envelope: string, version: Version) =>
    service.send(soapRequest(version, 'inbox', filled(envelope, version)));

  for (const version of ['soap11', 'soap12'] as const) {
    for (const [style, { qualified, unqualified }] of Object.entries(STYLES)) {
      for (const [children, envelope] of Object.entries({ qualified, unqualified })) {
        test(`${style} is understood, parameters ${children} (${version})`, async () => {
          const { status, text } = await send(envelope, version);
          assert.equal(status, 200, text);
          assert.match(text, /<UnreadResult><ReceivedMessage><id>1003<\/id>/);
          assert.doesNotMatch(text, /<id>1004<\/id>/);
        });
      }
    }

    for (const [what, { envelope, kind }] of Object.entries(REFUSED)) {
      test(`${what} is refused as ${kind} (${version})`, async () => {
        assert.equal(faultOf(await send(envelope, version)).kind, kind);
      });
    }

    test(`items of a list may be unqualified, and may not be foreign (${version})`, async () => {
      const list = (items: string) =>
        filled(
          within(
            `<p:DeleteContact xmlns:p="N"><p:user_id>U</p:user_id><p:contact_id>${items}</p:contact_id></p:DeleteContact>`,
          ),
          version,
        );
      const foreign = list(`<string>101</string><x:string xmlns:x="${OTHER}">102</x:string>`);
      assert.equal(faultOf(await service.send(soapRequest(version, 'account', foreign))).kind, 'bad-argument');
      const id = version === 'soap11' ? '101' : '102';
      const { status, text } = await service.send(
        soapRequest(version, 'account', list(`<string xmlns="">${id}</string>`)),
      );
      assert.equal(status, 200, text);
      assert.match(text, />true</);
    });

    test(`a prefix that nothing declares is malformed (${version})`, async () => {
      const { status } = await send(within('<p:Unread><p:user_id>U</p:user_id></p:Unread>'), version);
      assert.equal(status, 400);
    });

    test(`elements that the contract does not have are ignored, whatever their namespace (${version})`, async () => {
      const extra = `<user_id>U</user_id><x:note xmlns:x="${OTHER}"><x:deep/></x:note><extra/>text<max_count>1</max_count>`;
      const { status, text } = await send(unread(extra), version);
      assert.equal(status, 200, text);
      assert.match(text, /<id>1003<\/id>/);
    });
  }
});
