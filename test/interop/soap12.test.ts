import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readXml } from '../../src/asmx/xml/reader.ts';
import { onOneEngine } from '../support/engines.ts';
import { LIMITS } from '../support/limits.ts';
import { ENVELOPES, NAMESPACE, soapRequest } from '../support/protocols.ts';
import { ACME, type Answer, type Service, startService } from '../support/service.ts';

/**
 * Cases of the W3C's SOAP 1.2 test collection (T and a number), and a few beside them, with a call of ours in the Body.
 * What they ask for and how we stand is in docs/CONFORMANCE.md, row by row.
 */

const TS = 'http://example.org/ts-tests';
const CALL = `<CountUnread xmlns="${NAMESPACE}"><user_id>${ACME}</user_id></CountUnread>`;
const NEXT = 'env:role="http://www.w3.org/2003/05/soap-envelope/role/next"';
const LAST = 'env:role="http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver"';
const NONE = 'env:role="http://www.w3.org/2003/05/soap-envelope/role/none"';
const OTHER = 'env:role="http://example.org/ts-tests/B"';

const block = (attributes = '', name = 'Unknown') => `<t:${name} xmlns:t="${TS}" ${attributes}>foo</t:${name}>`;
const message = (header: string, body = CALL, envelope = '', bodyAttributes = '') =>
  `<?xml version='1.0' ?>\n<env:Envelope xmlns:env="${ENVELOPES.soap12}"${envelope}>${header && `<env:Header>${header}</env:Header>`}<env:Body${bodyAttributes}>${body}</env:Body></env:Envelope>`;
const fetchContact = (child: string) =>
  message(
    '',
    `<FetchContact xmlns="${NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><user_id>${ACME}</user_id>${child}</FetchContact>`,
  );
const ENCODING = 'env:encodingStyle="http://www.w3.org/2003/05/soap-encoding"';

/** What the answer is; `MustUnderstand` with the names of the blocks. */
type Outcome = 'served' | 'Sender' | 'VersionMismatch' | 'refused' | { MustUnderstand: string[] };
const misunderstood = (...blocks: string[]): Outcome => ({ MustUnderstand: blocks });

const CASES: readonly { name: string; document: string; outcome: Outcome }[] = [
  { name: 'T1: a block for the next node', document: message(block(NEXT)), outcome: 'served' },
  { name: 'T3: a block that names no role', document: message(block()), outcome: 'served' },
  { name: 'T4, T78: a block for the last node', document: message(block(LAST, 'echoOk')), outcome: 'served' },
  { name: 'T5: a block for another node', document: message(block(OTHER)), outcome: 'served' },
  { name: 'T10, T37: an unknown block for the last node', document: message(block(LAST)), outcome: 'served' },
  {
    name: 'T11: an unknown block, mandatory false',
    document: message(block(`${LAST} env:mustUnderstand="false"`)),
    outcome: 'served',
  },
  {
    name: 'T12, T36: an unknown block, mandatory 1',
    document: message(block(`${LAST} env:mustUnderstand="1"`)),
    outcome: misunderstood('Unknown'),
  },
  {
    name: 'T13: an unknown block, mandatory true',
    document: message(block(`${LAST} env:mustUnderstand="true"`)),
    outcome: misunderstood('Unknown'),
  },
  {
    name: 'T14: a block whose mandatory says wrong',
    document: message(block(`${LAST} env:mustUnderstand="wrong"`)),
    outcome: 'served',
  },
  {
    name: 'T15: a mandatory block for another node',
    document: message(block(`${OTHER} env:mustUnderstand="1"`)),
    outcome: 'served',
  },
  {
    name: 'T19: a mandatory block for no node',
    document: message(block(`${NONE} env:mustUnderstand="true"`)),
    outcome: 'served',
  },
  {
    name: 'T23: a mandatory block and one whose mandatory says wrong',
    document: message(block('env:mustUnderstand="1"') + block('env:mustUnderstand="wrong"', 'echoOk')),
    outcome: misunderstood('Unknown'),
  },
  {
    name: 'T24: an envelope of no known version',
    document: message('').replace(ENVELOPES.soap12, 'http://wrong-version/'),
    outcome: 'VersionMismatch',
  },
  {
    name: 'T25: an external DTD',
    document: message('').replace('<env:', '<!DOCTYPE env:Envelope SYSTEM "env.dtd"[]><env:'),
    outcome: 'refused',
  },
  {
    name: 'T26: a processing instruction in the Envelope',
    document: message('').replace('<env:Body>', '<?xml-stylesheet href="a.xsl" type="text/xsl"?><env:Body>'),
    outcome: 'served',
  },
  { name: 'T28: encodingStyle on the Body', document: message('', CALL, '', ` ${ENCODING}`), outcome: 'served' },
  {
    name: 'T29: a role with a very long name',
    document: message(block(`env:role="${TS}/C${'z'.repeat(2000)}" env:mustUnderstand="1"`)),
    outcome: 'served',
  },
  {
    name: 'T33: an operation that does not exist',
    document: message('', `<t:DoesNotExist xmlns:t="${TS}"/>`),
    outcome: 'Sender',
  },
  {
    name: 'T34: mustUnderstand in the namespace of SOAP 1.1',
    document: message(block(`xmlns:old="${ENVELOPES.soap11}" old:mustUnderstand="1"`)),
    outcome: 'served',
  },
  {
    name: 'T35: a mandatory block that names no role',
    document: message(block('env:mustUnderstand="1"')),
    outcome: misunderstood('Unknown'),
  },
  {
    name: 'T38: two blocks, mandatory false and 0',
    document: message(block('env:mustUnderstand="false"') + block('env:mustUnderstand="0"', 'echoOk')),
    outcome: 'served',
  },
  {
    name: 'two mandatory blocks are both named',
    document: message(block('env:mustUnderstand="true"') + block(`env:mustUnderstand="1" ${NEXT}`, 'echoOk')),
    outcome: misunderstood('Unknown', 'echoOk'),
  },
  {
    name: 'a mandatory block for the next node',
    document: message(block(`${NEXT} env:mustUnderstand="1"`)),
    outcome: misunderstood('Unknown'),
  },
  {
    name: 'T39: a block whose mandatory says 9',
    document: message(block('env:mustUnderstand="9"')),
    outcome: 'served',
  },
  {
    name: 'T40: a block in a namespace with an IPv6 address',
    document: message(`<t:U xmlns:t="http://[FEDC:BA98:7654:3210:FEDC:BA98:7654:3210]/ts">foo</t:U>`),
    outcome: 'served',
  },
  {
    name: 'T64: a DTD with a notation',
    document: message('').replace('<env:', "<!DOCTYPE D [<!NOTATION n SYSTEM 'http://example.org/'>]><env:"),
    outcome: 'refused',
  },
  {
    name: 'T65: a DTD with elements',
    document: message('').replace('<env:', '<!DOCTYPE D [<!ELEMENT Envelope (Body)>]><env:'),
    outcome: 'refused',
  },
  {
    name: 'T66, T67, T68: white space wherever it may be',
    document: message(block(NEXT)).replace(/></g, '>\n\n     <').replace('<env:Body>', '<env:Body   \n >'),
    outcome: 'served',
  },
  {
    name: 'T69: an Envelope without Body',
    document: message(block()).replace(/<env:Body>.*<\/env:Body>/, ''),
    outcome: 'refused',
  },
  {
    name: 'T70: an element after the Body',
    document: message('').replace('</env:Envelope>', '<Trailer></Trailer></env:Envelope>'),
    outcome: 'served',
  },
  {
    name: 'T71: an attribute of no namespace on the Envelope',
    document: message('', CALL, ' a="b"'),
    outcome: 'served',
  },
  { name: 'T72: encodingStyle on the Envelope', document: message('', CALL, ` ${ENCODING}`), outcome: 'served' },
  {
    name: 'T73: encodingStyle on an operation and its parameter',
    document: message('', CALL.replace('<user_id>', `<user_id ${ENCODING}>`).replace(' xmlns', ` ${ENCODING} xmlns`)),
    outcome: 'served',
  },
  {
    name: 'T74: mustUnderstand within a block',
    document: message(`<t:U xmlns:t="${TS}"><t:raiseFault env:mustUnderstand="1" ${NEXT}/></t:U>`),
    outcome: 'served',
  },
  {
    name: 'T80: an encodingStyle that nobody knows',
    document: message('', CALL.replace(' xmlns', ' env:encodingStyle="http://example.org/PoisonEncoding" xmlns')),
    outcome: 'served',
  },
  { name: 'a Body with nothing in it', document: message('', '\n'), outcome: 'Sender' },
  {
    name: 'an operation in an unknown namespace',
    document: message('', CALL.replace(NAMESPACE, 'urn:unknown')),
    outcome: 'Sender',
  },
];

onOneEngine('the SOAP 1.2 test collection', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());
  const send = (document: string) => service.send(soapRequest('soap12', 'inbox', document));

  for (const { name, document, outcome } of CASES) {
    test(name, async () => check(await send(document), outcome));
  }

  test('T30: an envelope of SOAP 1.1 is answered in SOAP 1.1', async () => {
    const { status, text } = await send(message('').replace(ENVELOPES.soap12, ENVELOPES.soap11));
    assert.equal(status, 200, text);
    assert.ok(text.includes(`<soap:Envelope xmlns:soap="${ENVELOPES.soap11}"`));
  });

  test('T77: nil and absent are null, a value is the value', async () => {
    const ask = (child: string) => service.send(soapRequest('soap12', 'account', fetchContact(child)));
    for (const child of ['<mobile xsi:nil="1"/>', '']) {
      assert.match((await ask(child)).text, /<FetchContactResponse xmlns="[^"]*" \/>/);
    }
    assert.match((await ask('<mobile>+27825550201</mobile>')).text, /<FetchContactResult>.*<id>101<\/id>/);
  });

  test('a fault of the sender is sent with status 500', async () => {
    const { status, text } = await send(message('', CALL.replace(ACME, 'nobody')));
    assert.match(text, /<soap:Code><soap:Value>soap:Sender<\/soap:Value><\/soap:Code>/);
    assert.equal(status, 500);
  });
});

function check({ status, text, headers }: Answer, outcome: Outcome): void {
  if (outcome === 'refused') {
    assert.deepEqual([status, headers['Content-Type']], [400, 'text/plain; charset=utf-8']);
    return;
  }
  if (outcome === 'served') {
    assert.match(text, /<CountUnreadResult>4<\/CountUnreadResult>/);
    return;
  }
  assert.equal(status, 500, text);
  const [first, second] = readXml(text, LIMITS).children;
  const code = typeof outcome === 'string' ? outcome : 'MustUnderstand';
  assert.equal(/<soap:Value>soap:(\w+)</.exec(text)?.[1], code);
  if (code === 'VersionMismatch') {
    const supported = [...text.matchAll(/<soap12:SupportedEnvelope qname="\w+:Envelope" xmlns:\w+="([^"]*)"/g)];
    assert.deepEqual(
      supported.map((match) => match[1]),
      [ENVELOPES.soap11, ENVELOPES.soap12],
    );
  }
  if (typeof outcome === 'string') return;
  assert.deepEqual([first?.local, second?.local], ['Header', 'Body']);
  const named = [...text.matchAll(/<soap:NotUnderstood qname="h:(\w+)" xmlns:h="([^"]*)" \/>/g)];
  assert.deepEqual(
    named.map((match) => [match[1], match[2]]),
    outcome.MustUnderstand.map((name) => [name, TS]),
  );
}
