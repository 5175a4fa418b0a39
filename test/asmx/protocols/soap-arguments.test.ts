import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestEndpoint } from '../../support/endpoint.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { envelope, NAMESPACE, soapRequest } from '../../support/protocols.ts';
import { ACME, startService } from '../../support/service.ts';

/** How SOAP parameters are read. The operation's element and its prefixes are written out, as toolkits write them. */
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const USER = `<user_id>${ACME}</user_id>`;
const SOAP = ['soap11', 'soap12'] as const;
const own = (operation: string, inside: string, attributes = '') =>
  `<${operation} xmlns="${NAMESPACE}" ${XSI} ${attributes}>${inside}</${operation}>`;

/** Of BlackListNumber: two texts, which may be null. */
const TEXTS: readonly (readonly [what: string, element: string, mobile: string | null, sample: string | null])[] = [
  ['in any order', own('BlackListNumber', `<sample_message>b</sample_message><mobile>a</mobile>${USER}`), 'a', 'b'],
  [
    'with unknown elements before, between and after',
    own('BlackListNumber', `<x/><y>1<z/></y>${USER}<mobile>a</mobile><x>2</x><sample_message>b</sample_message><x/>`),
    'a',
    'b',
  ],
  [
    'with unknown elements of other namespaces',
    own('BlackListNumber', `<x xmlns="urn:x">${USER}</x>${USER}<mobile>a</mobile><sample_message>b</sample_message>`),
    'a',
    'b',
  ],
  [
    'with text, comments and processing instructions between',
    own('BlackListNumber', `x<!-- c -->${USER}<?p i?>y<mobile>a</mobile> z <sample_message>b</sample_message>`),
    'a',
    'b',
  ],
  [
    'with unknown attributes, right and wrong types and an encodingStyle',
    own(
      'BlackListNumber',
      `${USER}<mobile a="1" xsi:type="xsd:int" xmlns:xsd="http://www.w3.org/2001/XMLSchema">a</mobile><sample_message xsi:type="nobody:knows">b</sample_message>`,
      'encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"',
    ),
    'a',
    'b',
  ],
  [
    'where the first of a repeated element counts',
    own(
      'BlackListNumber',
      `${USER}<mobile>a</mobile><mobile>c</mobile><sample_message/><sample_message>b</sample_message>`,
    ),
    'a',
    '',
  ],
  ['missing as null', own('BlackListNumber', `${USER}<mobile>a</mobile>`), 'a', null],
  [
    'nil as null',
    own('BlackListNumber', `${USER}<mobile xsi:nil="true"/><sample_message xsi:nil="1"></sample_message>`),
    null,
    null,
  ],
  [
    'not nil as they are',
    own('BlackListNumber', `${USER}<mobile xsi:nil="false">a</mobile><sample_message nil="true">b</sample_message>`),
    'a',
    'b',
  ],
  ['empty as empty', own('BlackListNumber', `${USER}<mobile/><sample_message></sample_message>`), '', ''],
  [
    'in CDATA, several of them, mixed with text',
    own(
      'BlackListNumber',
      `${USER}<mobile><![CDATA[<a>&amp;]]>b<![CDATA[c]]></mobile><sample_message><![CDATA[]]></sample_message>`,
    ),
    '<a>&amp;bc',
    '',
  ],
  [
    'in references',
    own(
      'BlackListNumber',
      `${USER}<mobile>&#x61;&#98;&lt;&gt;&amp;&quot;&apos;</mobile><sample_message>&#x1F600;&#13;</sample_message>`,
    ),
    'ab<>&"\'',
    '😀\r',
  ],
  [
    'with the white space around them',
    own('BlackListNumber', `${USER}<mobile> a\t</mobile><sample_message>\n b \n</sample_message>`),
    ' a\t',
    '\n b \n',
  ],
  [
    'whose line ends are those of XML',
    own('BlackListNumber', `${USER}<mobile>a\r\nb</mobile><sample_message>a\rb</sample_message>`),
    'a\nb',
    'a\nb',
  ],
  [
    'under any prefix',
    `<p:BlackListNumber xmlns:p="${NAMESPACE}" xmlns:q="${NAMESPACE}"><p:user_id>${ACME}</p:user_id><q:mobile>a</q:mobile><sample_message xmlns="${NAMESPACE}">b</sample_message></p:BlackListNumber>`,
    'a',
    'b',
  ],
  [
    'without a namespace',
    `<p:BlackListNumber xmlns:p="${NAMESPACE}">${USER}<mobile>a</mobile><sample_message>b</sample_message></p:BlackListNumber>`,
    'a',
    'b',
  ],
  [
    'whose namespace was taken off',
    own('BlackListNumber', `${USER}<mobile xmlns="">a</mobile><sample_message xmlns="">b</sample_message>`),
    'a',
    'b',
  ],
  [
    'in another letter case as unknown',
    own('BlackListNumber', `${USER}<Mobile>x</Mobile><MOBILE>y</MOBILE><sample_message>b</sample_message>`),
    null,
    'b',
  ],
  [
    'in front of further elements in the Body',
    `${own('BlackListNumber', `${USER}<mobile>a</mobile><sample_message>b</sample_message>`)}<multiRef id="1">c</multiRef>`,
    'a',
    'b',
  ],
];

/** Of DeleteContact: one list, which may be null. */
const LISTS: readonly (readonly [what: string, element: string, list: (string | null)[] | null])[] = [
  ['with items', '<contact_id><string>101</string><string>102</string></contact_id>', ['101', '102']],
  ['without items', '<contact_id/>', []],
  ['that is missing', '', null],
  ['that is nil', '<contact_id xsi:nil="true"/>', null],
  ['with text instead of items', '<contact_id>101</contact_id>', []],
  [
    'with items under another name',
    '<contact_id><int>101</int><contact_id>102</contact_id><String>103</String></contact_id>',
    [],
  ],
  [
    'with items between others',
    '<contact_id><x/><string>101</string><!-- c -->y<string>102</string></contact_id>',
    ['101', '102'],
  ],
  ['that is repeated, each with text', '<contact_id>101</contact_id><contact_id>102</contact_id>', []],
  [
    'that is repeated, each with an item',
    '<contact_id><string>101</string></contact_id><contact_id><string>102</string></contact_id>',
    ['101'],
  ],
  ['with a nil item', '<contact_id><string xsi:nil="true"/><string>101</string></contact_id>', [null, '101']],
  ['with an empty item', '<contact_id><string/><string></string></contact_id>', ['', '']],
  ['with commas', '<contact_id><string>101,102</string></contact_id>', ['101,102']],
  ['with CDATA and references', '<contact_id><string><![CDATA[10]]>&#49;</string></contact_id>', ['101']],
  ['without a namespace', '<contact_id xmlns=""><string>101</string></contact_id>', ['101']],
];

describe('SOAP parameters', () => {
  const endpoint = createTestEndpoint(async () => true);

  for (const protocol of SOAP) {
    const request = (operation: string, body: string) =>
      soapRequest(protocol, 'account', envelope(protocol, body), operation);

    for (const [what, element, mobile, sample_message] of TEXTS) {
      test(`${protocol}: texts are read ${what}`, async () => {
        const args = { user_id: ACME, mobile, sample_message };
        const call = { group: 'account', operation: 'BlackListNumber', arguments: args };
        assert.deepEqual(await endpoint.receive(request('BlackListNumber', element)), call);
      });
    }

    for (const [what, element, contact_id] of LISTS) {
      test(`${protocol}: a list ${what} is ${JSON.stringify(contact_id)}`, async () => {
        const call = { group: 'account', operation: 'DeleteContact', arguments: { user_id: ACME, contact_id } };
        assert.deepEqual(await endpoint.receive(request('DeleteContact', own('DeleteContact', USER + element))), call);
      });
    }

    const INSIDE = { comment: '<!-- c -->', 'processing instruction': '<?p i?>', element: '<b/>' };
    for (const [what, node] of Object.entries(INSIDE)) {
      test(`${protocol}: ${what} inside a value is malformed, first, last or between`, async () => {
        const message = /^groupid: a value holds text only/;
        for (const value of [`${node}2`, `2${node}`, `2${node}3`, node]) {
          const body = own('FetchContactsByGroupId', `${USER}<groupid>${value}</groupid>`);
          assertProblem(protocol, await endpoint.send(request('FetchContactsByGroupId', body)), 'malformed', message);
        }
        const user = own('Profile', `<user_id>${ACME}${node}</user_id>`);
        assertProblem(protocol, await endpoint.send(request('Profile', user)), 'malformed', /^user_id: /);
        const list = own('DeleteContact', `${USER}<contact_id><string>101${node}</string></contact_id>`);
        assertProblem(protocol, await endpoint.send(request('DeleteContact', list)), 'malformed', /^contact_id: /);
      });
    }

    const NUMBERS: readonly (readonly [what: string, element: string, message: string])[] = [
      ['missing', '', 'groupid: missing'],
      ['nil', '<groupid xsi:nil="true"/>', 'groupid: missing'],
      ['in another letter case', '<GroupId>2</GroupId>', 'groupid: missing'],
      [
        'in a foreign namespace',
        '<groupid xmlns="urn:x">2</groupid>',
        `groupid: the element is not in the namespace ${NAMESPACE}`,
      ],
    ];
    for (const [what, element, message] of NUMBERS) {
      test(`${protocol}: a number that is ${what} is a bad argument`, async () => {
        const body = own('FetchContactsByGroupId', USER + element);
        assertProblem(protocol, await endpoint.send(request('FetchContactsByGroupId', body)), 'bad-argument', message);
      });
    }

    test(`${protocol}: a parameter in our namespace is read although one of the same name is in a foreign namespace`, async () => {
      const body = own('FetchContactsByGroupId', `${USER}<groupid xmlns="urn:x">1</groupid><groupid>2</groupid>`);
      const args = { user_id: ACME, groupid: 2 };
      const call = { group: 'account', operation: 'FetchContactsByGroupId', arguments: args };
      assert.deepEqual(await endpoint.receive(request('FetchContactsByGroupId', body)), call);
    });

    test(`${protocol}: texts, lists and items of a foreign namespace are bad arguments`, async () => {
      const foreign = [
        ['user_id', own('DeleteContact', `<user_id xmlns="urn:x">${ACME}</user_id>`)],
        ['contact_id', own('DeleteContact', `${USER}<contact_id xmlns="urn:x"><string>101</string></contact_id>`)],
        ['contact_id', own('DeleteContact', `${USER}<contact_id><string xmlns="urn:x">101</string></contact_id>`)],
      ] as const;
      for (const [name, body] of foreign) {
        const answer = await endpoint.send(request('DeleteContact', body));
        assertProblem(protocol, answer, 'bad-argument', new RegExp(`^${name}: .*not in the namespace`));
      }
    });
  }
});

onOneEngine('SOAP lists', (engine) => {
  for (const protocol of SOAP) {
    test(`${protocol}: a list without items is refused and deletes nothing, and a list with an odd item is false`, async () => {
      const service = await startService(engine);
      const deleteContact = (list: string) =>
        service.send(
          soapRequest(protocol, 'account', envelope(protocol, own('DeleteContact', USER + list)), 'DeleteContact'),
        );
      try {
        for (const [, element] of LISTS.filter(([, , list]) => list === null || list.length === 0)) {
          const answer = await deleteContact(element);
          assertProblem(protocol, answer, 'bad-argument', 'contact_id: the list is missing or empty');
        }
        for (const item of [
          '<string xsi:nil="true"/>',
          '<string/>',
          '<string>101,102</string>',
          '<string>x</string>',
        ]) {
          const { text } = await deleteContact(`<contact_id><string>101</string>${item}</contact_id>`);
          assert.match(text, /<DeleteContactResult>false</, item);
        }
        const { text } = await service.call(protocol, 'account', 'FetchContacts', { user_id: ACME });
        assert.equal(text.match(/<Contact>/g)?.length, 6);
        assert.match((await deleteContact('<contact_id><string> +0101 </string></contact_id>')).text, />true</);
      } finally {
        await service.stop();
      }
    });
  }
});
