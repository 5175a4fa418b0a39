import fc from 'fast-check';
import { contract } from '../../src/asmx/contract/contract.ts';
import { ENVELOPES, envelope, NAMESPACE, operationElement } from '../support/protocols.ts';
import { ACME } from '../support/service.ts';
import { anyText, xmlText } from './arbitraries.ts';
import { type AnyRequest, latin1, operation, rightCall, utf8 } from './requests.ts';

/** Requests that nobody would send on purpose: noise in all places, and envelopes of the right words in any order. */
const oneOf = (words: string): fc.Arbitrary<string> => fc.constantFrom(...words.split(' '));

const charset = oneOf(
  'utf-8 "UTF-8" utf-16 utf-16le utf-16be unicode iso-8859-1 us-ascii windows-1252 koi8-r shift_jis euc-jp iso-2022-jp gb18030 big5 euc-kr x-user-defined replacement hz-gb-2312 iso-2022-kr iso-8859-16 macintosh utf-7 utf-32 nonsense __proto__ "',
);
const known = oneOf('text/xml application/soap+xml application/x-www-form-urlencoded');
const other = oneOf('Text/XML text/xml,text/xml application/xml application/json multipart/form-data text/plain ; =');
const contentType = fc.oneof(
  { weight: 4, arbitrary: known },
  { weight: 4, arbitrary: fc.tuple(known, charset).map(([type, set]) => `${type}; charset=${set}`) },
  { weight: 1, arbitrary: other },
  { weight: 1, arbitrary: anyText(100) },
);
const action = fc.oneof(
  operation.map(({ name }) => `"${NAMESPACE}/${name}"`),
  oneOf(`"" " ${NAMESPACE}/ % "%zz"`),
  anyText(100),
);

const token = fc.string({ unit: fc.constantFrom(...'abcXYZ09.-_~%/'), maxLength: 20 });
const group = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...Object.keys(contract)) },
  oneOf('Account __proto__ x'),
);
const rest = oneOf('/ // /Profile /profile /%50rofile /constructor /__proto__ /Profile/x /% /%u0050rofile');
const path = fc.oneof(
  { weight: 4, arbitrary: group.map((name) => `/api/${name}.asmx`) },
  { weight: 4, arbitrary: operation.map(({ group: name, name: own }) => `/api/${name}.asmx/${own}`) },
  { weight: 2, arbitrary: fc.tuple(group, rest).map(([name, more]) => `/api/${name}.asmx${more}`) },
  token.map((text) => `/${text}`),
  token.map((text) => `/api/${text}`),
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'POST') },
  oneOf('HEAD PUT DELETE OPTIONS PATCH TRACE PROPFIND get __proto__'),
);

const octets = fc.uint8Array({ maxLength: 200 }).map(latin1);
const pairs = fc
  .array(fc.tuple(oneOf('user_id USER_ID contact_id max id message from x'), octets), { maxLength: 6 })
  .map((all) => all.map(([name, value]) => `${name}=${value}`).join('&'));
const query = fc.oneof(
  oneOf('WSDL wsdl disco wsdl=1 schema=x op=Profile op= op=% x=1&WSDL op=__proto__'),
  octets,
  pairs,
);

export const anyRequest: fc.Arbitrary<AnyRequest> = fc.record({
  method,
  path,
  query,
  headers: fc.record({ 'content-type': contentType, soapaction: action }, { requiredKeys: ['content-type'] }),
  body: fc.oneof(
    fc.uint8Array({ maxLength: 2_000 }).map(latin1),
    pairs.map((text) => `user_id=${ACME}&${text}`),
    rightCall.map(({ operation: name, args }) => utf8(envelope('soap11', operationElement(name, args)))),
  ),
});

const names = fc.oneof(
  oneOf('Envelope Body Header Fault string user_id message from max contact_id __proto__ \u00e9'),
  operation.map(({ name }) => name),
);
const prefixes = fc.constantFrom('', '', 's:', 't:', 't:', 'x:', 'xml:');
const attributes = fc.uniqueArray(
  fc.oneof(
    oneOf('s:mustUnderstand="1" s:mustUnderstand="true" s:actor="urn:a" s:role="" i:nil="true" i:type="x" xmlns=""'),
    oneOf('xmlns:s="urn:z" xmlns:t="urn:z" __proto__="1" constructor="&amp;" xml:space="preserve" a="&#13;"'),
  ),
  { maxLength: 3, selector: (each) => each.split('=')[0] },
);
const escaped = (text: string): string => text.replace(/[&<>\r]/g, (character) => `&#${character.charCodeAt(0)};`);

const { tree } = fc.letrec<{ tree: string; node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    xmlText(20).map(escaped),
    fc.constantFrom('', '<!-- c -->', '<?p i?>', '<![CDATA[<&]]>', '&lt;', '&#x10FFFF;', ' \n'),
    tie('tree'),
  ),
  tree: fc
    .tuple(prefixes, names, attributes, fc.array(tie('node'), { maxLength: 5 }))
    .map(([prefix, name, given, children]) => {
      const start = [`<${prefix}${name}`, ...given].join(' ');
      return `${start}>${children.join('')}</${prefix}${name}>`;
    }),
}));

const DECLARED = `xmlns:t="${NAMESPACE}" xmlns:x="urn:x" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"`;

export const xmlRequest: fc.Arbitrary<AnyRequest> = fc
  .record({
    call: rightCall,
    version: fc.constantFrom(...Object.values(ENVELOPES), ...Object.values(ENVELOPES), 'urn:none'),
    type: fc.constantFrom('text/xml', 'application/soap+xml'),
    header: fc.array(tree, { maxLength: 2 }),
    body: fc.option(fc.array(tree, { maxLength: 3 })),
    soapaction: fc.option(action, { nil: '' }),
  })
  .map(({ call, version, type, header, body, soapaction }) => {
    const content = body?.join('') ?? operationElement(call.operation, call.args);
    return {
      method: 'POST',
      path: `/api/${call.group}.asmx`,
      query: '',
      headers: { 'content-type': type, soapaction },
      body: utf8(
        `<s:Envelope xmlns:s="${version}" ${DECLARED}><s:Header>${header.join('')}</s:Header><s:Body>${content}</s:Body></s:Envelope>`,
      ),
    };
  });

/** An operation's own element with anything in it. */
export const oddArguments: fc.Arbitrary<AnyRequest> = fc
  .tuple(operation, fc.constantFrom('soap11', 'soap12'), fc.array(tree, { maxLength: 4 }))
  .map(([{ group: own, name }, version, children]) => ({
    method: 'POST',
    path: `/api/${own}.asmx`,
    query: '',
    headers: { 'content-type': version === 'soap11' ? 'text/xml' : 'application/soap+xml' },
    body: utf8(
      `<s:Envelope xmlns:s="${ENVELOPES[version]}" ${DECLARED}><s:Body><t:${name}><t:user_id>${ACME}</t:user_id>${children.join('')}</t:${name}></s:Body></s:Envelope>`,
    ),
  }));
