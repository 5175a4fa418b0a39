import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { ENVELOPES, envelope, NAMESPACE, operationElement, soapRequest } from '../../support/protocols.ts';
import { ACME, type Answer, type Service, startService } from '../../support/service.ts';

const SOAP = ['soap11', 'soap12'] as const;
type Soap = (typeof SOAP)[number];

/** What only SOAP has: mandatory headers, versions, actions. */
onOneEngine('SOAP errors', (engine) => {
  async function withService(work: (service: Service) => Promise<void>) {
    const service = await startService(engine);
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }
  const saving = operationElement('SaveMessageTemplate', { user_id: ACME, message: 'saved' });
  const save = (service: Service, protocol: Soap, blocks: string) =>
    service.send(
      soapRequest(
        protocol,
        'account',
        envelope(protocol, saving, `<s:Header>${blocks}</s:Header>`),
        'SaveMessageTemplate',
      ),
    );
  const savedCount = async (service: Service) => {
    const { text } = await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    return text.match(/<string>/g)?.length;
  };
  const block = (attributes: string) => `<h:security xmlns:h="urn:h" ${attributes}>x</h:security>`;
  const notUnderstood = (protocol: Soap, ...blocks: string[]) =>
    protocol === 'soap12' ? { detail: false, blocks: blocks.join('') } : { detail: false };
  const BLOCK = '<soap:NotUnderstood qname="h:security" xmlns:h="urn:h" />';

  const US: Record<Soap, string[]> = {
    soap11: [
      '',
      's:actor=""',
      's:actor="http://schemas.xmlsoap.org/soap/actor/next"',
      's:role="urn:x"',
      'actor="urn:x"',
    ],
    soap12: [
      '',
      's:role=""',
      `s:role="${ENVELOPES.soap12}/role/next"`,
      `s:role="${ENVELOPES.soap12}/role/ultimateReceiver"`,
      's:actor="urn:x"',
      'role="urn:x"',
    ],
  };
  const OTHERS: Record<Soap, string[]> = {
    soap11: ['s:actor="urn:somebody-else"', `s:actor="${ENVELOPES.soap12}/role/next"`],
    soap12: [
      's:role="urn:somebody-else"',
      `s:role="${ENVELOPES.soap12}/role/none"`,
      's:role="http://schemas.xmlsoap.org/soap/actor/next"',
    ],
  };

  for (const protocol of SOAP) {
    test(`${protocol}: an unknown mandatory header that is addressed to us prevents the call, and nothing is changed`, () =>
      withService(async (service) => {
        for (const role of US[protocol]) {
          for (const value of ['1', 'true', ' true ']) {
            const answer = await save(service, protocol, block(`s:mustUnderstand="${value}" ${role}`));
            const message = 'SOAP header security was not understood.';
            assertProblem(protocol, answer, 'must-understand', message, notUnderstood(protocol, BLOCK));
          }
        }
        assert.equal(await savedCount(service), 3);
      }));

    test(`${protocol}: a header that is not mandatory, or not addressed to us, is ignored`, () =>
      withService(async (service) => {
        const ignored = [
          block(''),
          ...['0', 'false', '', 'yes', 'TRUE', '2'].map((value) => block(`s:mustUnderstand="${value}"`)),
          block('mustUnderstand="1"'),
          block(`xmlns:o="${ENVELOPES[protocol === 'soap11' ? 'soap12' : 'soap11']}" o:mustUnderstand="1"`),
          `<h:outer xmlns:h="urn:h">${block('s:mustUnderstand="1"')}</h:outer>`,
          ...OTHERS[protocol].map((role) => block(`s:mustUnderstand="1" ${role}`)),
        ];
        for (const blocks of ignored) assert.equal((await save(service, protocol, blocks)).status, 200, blocks);
        assert.equal(await savedCount(service), 4);
      }));

    test(`${protocol}: every header that was not understood is named`, () =>
      withService(async (service) => {
        const mandatory = 's:mustUnderstand="1"';
        const blocks = `${block(mandatory)}<b ${mandatory}/><c xmlns="urn:a&amp;b" ${mandatory}/>${block('')}`;
        const answer = await save(service, protocol, blocks);
        const named = '<soap:NotUnderstood qname="b" /><soap:NotUnderstood qname="h:c" xmlns:h="urn:a&amp;b" />';
        const message = 'SOAP header security, b, c was not understood.';
        assertProblem(protocol, answer, 'must-understand', message, notUnderstood(protocol, BLOCK, named));

        const hostile = await save(service, protocol, `<b xmlns="&quot;&gt;&lt;x/&gt;" ${mandatory}/>`);
        assert.equal(hostile.status, 500);
        assert.ok(!/""|<x/.test(hostile.text), 'a namespace leaves its attribute');
      }));

    test(`${protocol}: a mandatory header is checked before the operation and its arguments`, () =>
      withService(async (service) => {
        for (const body of ['', operationElement('Nope', {}), operationElement('Profile', { user_id: 'nobody' })]) {
          const header = `<s:Header>${block('s:mustUnderstand="1"')}</s:Header>`;
          const answer = await service.send(soapRequest(protocol, 'account', envelope(protocol, body, header)));
          assertProblem(protocol, answer, 'must-understand', /security/, notUnderstood(protocol, BLOCK));
        }
        assert.deepEqual(service.slept, []);
      }));

    test(`${protocol}: the answer to an envelope of an unknown version names the known versions`, () =>
      withService(async (service) => {
        const upgrade =
          '<soap12:Upgrade xmlns:soap12="http://www.w3.org/2003/05/soap-envelope"><soap12:SupportedEnvelope qname="soap:Envelope" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" /><soap12:SupportedEnvelope qname="soap12:Envelope" xmlns:soap12="http://www.w3.org/2003/05/soap-envelope" /></soap12:Upgrade>';
        for (const uri of ['urn:bogus', 'http://www.w3.org/2001/12/soap-envelope', `${ENVELOPES[protocol]}x`]) {
          const bytes = envelope(protocol, saving).replace(ENVELOPES[protocol], uri);
          const answer = await service.send(soapRequest(protocol, 'account', bytes, 'SaveMessageTemplate'));
          assertProblem(protocol, answer, 'version', /^The Envelope is of no known version/, { blocks: upgrade });
        }
        const bare = envelope(protocol, saving).replace(/s:|xmlns:s="[^"]*"/g, '');
        const answer = await service.send(soapRequest(protocol, 'account', bare, 'SaveMessageTemplate'));
        assertProblem(protocol, answer, 'version', /^The Envelope is of no known version/, { blocks: upgrade });
        assert.equal(await savedCount(service), 3);
      }));

    test(`${protocol}: a Body without an operation of this group and namespace is an unknown operation`, () =>
      withService(async (service) => {
        const message = `The Body names no operation of account in the namespace ${NAMESPACE}.`;
        const elsewhere = (uri: string) => saving.replace(`xmlns="${NAMESPACE}"`, `xmlns="${uri}"`);
        const bodies = [
          ...['', ' ', 'text', '<!-- c -->', '<x/>'],
          ...['urn:x', '', `${NAMESPACE}/`, NAMESPACE.toUpperCase()].map(elsewhere),
          operationElement('CountRead', { user_id: ACME }),
          `<x>${saving}</x>`,
          `<x/>${saving}`,
        ];
        for (const body of bodies) {
          for (const operation of [undefined, 'SaveMessageTemplate']) {
            const answer = await service.send(soapRequest(protocol, 'account', envelope(protocol, body), operation));
            assertProblem(protocol, answer, 'unknown-operation', message);
          }
        }
        assert.equal(await savedCount(service), 3);
      }));
  }

  const MISMATCH = 'The SOAP action does not name the operation in the Body, CountRead.';
  const counting = operationElement('CountRead', { user_id: ACME });
  const COUNT_READ = `${NAMESPACE}/CountRead`;
  const count = (service: Service, protocol: Soap, headers: Record<string, string | undefined>) =>
    service.send({ method: 'POST', path: '/api/inbox.asmx', headers, bytes: envelope(protocol, counting) });
  const counted = ({ text }: Answer) => /<CountReadResult>(\d+)</.exec(text)?.[1];

  test('SOAPAction may be quoted, unquoted, empty or absent', () =>
    withService(async (service) => {
      const encoded = COUNT_READ.replace('api', '%61pi');
      for (const soapaction of [
        ...[`"${COUNT_READ}"`, COUNT_READ, `'${COUNT_READ}'`, `"${encoded}"`, ` "${COUNT_READ}" `],
        ...['""', "''", '', undefined],
      ]) {
        const answer = await count(service, 'soap11', { 'content-type': 'text/xml', soapaction });
        assert.equal(counted(answer), '2', soapaction);
        assert.equal(answer.headers['Content-Type'], 'text/xml; charset=utf-8');
      }
    }));

  test('a SOAPAction of another operation than the Body is an error, and so is one of no operation', () =>
    withService(async (service) => {
      for (const soapaction of [
        ...[`"${NAMESPACE}/CountUnread"`, `${NAMESPACE}/CountUnread`, `'${NAMESPACE}/DeleteAllMessages'`],
        ...[
          `"${NAMESPACE}/Profile"`,
          `"${NAMESPACE}/Nope"`,
          `"${NAMESPACE}/countread"`,
          '"CountRead"',
          '"urn:x/CountRead"',
        ],
        ...[`"${COUNT_READ}`, `" ${COUNT_READ}"`, `"${NAMESPACE}/"`, '"%"'],
      ]) {
        const answer = await count(service, 'soap11', { 'content-type': 'text/xml', soapaction });
        assertProblem('soap11', answer, 'unknown-operation', MISMATCH);
      }
    }));

  test('SOAP 1.2 takes its action from the Content-Type, and the Body decides if the action is unknown', () =>
    withService(async (service) => {
      for (const action of [
        ...[`"${COUNT_READ}"`, COUNT_READ, '""', '', '"urn:x"', `"${NAMESPACE}/Nope"`, `"${NAMESPACE}/countread"`],
      ]) {
        const type = `application/soap+xml; charset=utf-8; Action=${action}`;
        assert.equal(counted(await count(service, 'soap12', { 'content-type': type })), '2', action);
      }
      for (const action of [`"${NAMESPACE}/CountUnread"`, `${NAMESPACE}/DeleteAllMessages`]) {
        const type = `application/soap+xml; action=${action}; charset=utf-8`;
        const answer = await count(service, 'soap12', { 'content-type': type });
        assertProblem('soap12', answer, 'unknown-operation', MISMATCH);
      }
    }));

  test('SOAP 1.2 ignores SOAPAction, also under text/xml, and SOAP 1.1 the action of the Content-Type', () =>
    withService(async (service) => {
      const soapaction = `"${NAMESPACE}/DeleteAllMessages"`;
      for (const type of ['application/soap+xml', 'text/xml; charset=utf-8']) {
        const answer = await count(service, 'soap12', { 'content-type': type, soapaction });
        assert.equal(counted(answer), '2');
        assert.equal(answer.headers['Content-Type'], 'application/soap+xml; charset=utf-8');
      }
      const type = `text/xml; action=${soapaction}`;
      assert.equal(counted(await count(service, 'soap11', { 'content-type': type })), '2');
    }));

  test('the version follows the envelope, whatever SOAP type it comes under', () =>
    withService(async (service) => {
      for (const protocol of SOAP) {
        for (const type of ['text/xml', 'application/soap+xml']) {
          const answer = await count(service, protocol, { 'content-type': type });
          assert.equal(counted(answer), '2');
          assert.ok(answer.text.includes(`xmlns:soap="${ENVELOPES[protocol]}"`));
          const own = protocol === 'soap11' ? 'text/xml; charset=utf-8' : 'application/soap+xml; charset=utf-8';
          assert.equal(answer.headers['Content-Type'], own);
        }
      }
    }));
});
