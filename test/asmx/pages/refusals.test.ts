import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Request, replyHeader } from '../../../src/base/exchange.ts';
import { onOneEngine } from '../../support/engines.ts';
import { addresses, textOf } from '../../support/markup.ts';
import { requestOf } from '../../support/protocols.ts';
import { type Answer, type Service, startService } from '../../support/service.ts';

/** Errors are pages for people in a browser. For programs they are one line of text, whatever they say they accept. */

const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const NAVIGATION = { accept: CHROME, 'sec-fetch-mode': 'navigate' };
/** A browser where there is no TLS. */
const PLAIN_BROWSER = { accept: CHROME };

const PROGRAMS: Record<string, Request['headers']> = {
  'a program without Accept': {},
  'curl and .NET': { accept: '*/*' },
  'HttpURLConnection of Java': { accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2' },
  'wget and PHP with text/html': { accept: 'text/html' },
  'a script in a page': { accept: CHROME, 'sec-fetch-mode': 'cors' },
};
/** What is refused, with what is sent to get there. */
const REFUSALS: [name: string, status: number, request: Partial<Request> & { bytes?: string }][] = [
  ['an address of nothing', 404, { path: '/nowhere/at/all' }],
  ['an unknown operation', 404, { path: '/api/inbox.asmx/Nothing' }],
  ['a WSDL that is not there', 404, { path: '/api/inbox.asmx', query: 'wsdl=x' }],
  ['a wrong method', 405, { method: 'DELETE', path: '/api/inbox.asmx' }],
  ['a user_id that is not valid', 403, { path: '/api/inbox.asmx/CountRead', query: 'user_id=nobody' }],
  ['an argument that is not valid', 400, { path: '/api/inbox.asmx/Unread', query: 'user_id=x&max_count=y' }],
];
const isOperation = ({ path = '' }: Partial<Request>) => /\.asmx\/(?!Nothing)/.test(path);

onOneEngine('refusals as pages', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());

  const typeOf = (answer: Answer) => replyHeader(answer, 'Content-Type');

  for (const [name, status, request] of REFUSALS) {
    test(`${name} is a page for a person who navigates, with the same status, header fields and reason`, async () => {
      const plain = await service.send(request);
      const page = await service.send({ ...request, headers: NAVIGATION });
      assert.deepEqual([plain.status, page.status], [status, status]);
      assert.equal(typeOf(plain), 'text/plain; charset=utf-8');
      assert.equal(typeOf(page), 'text/html; charset=utf-8');
      assert.equal(page.headers.Allow, plain.headers.Allow);
      assert.ok(page.headers['Content-Security-Policy']);
      assert.ok(textOf(page.text).includes(plain.text.trim()));
      assert.equal(textOf(/<h1>.*<\/h1>/.exec(page.text)?.[0] ?? '').slice(0, 4), `${status} `);
      const front = addresses(page.text).map((each) => new URL(each, `http://x/a/b${request.path}`).href);
      assert.ok(front.includes('http://x/a/b/'), 'it leads to the front page');
    });

    for (const [program, headers] of Object.entries(PROGRAMS)) {
      test(`${name} is the same line of text for ${program}`, async () => {
        const plain = await service.send(request);
        const { status: got, headers: fields, text } = await service.send({ ...request, headers });
        assert.deepEqual({ got, fields, text }, { got: status, fields: plain.headers, text: plain.text });
      });
    }

    // The browser control of Windows, in which old programs call operations, sends the same.
    const what = request.path?.includes('.asmx/') ? 'a line of text' : 'a page';
    test(`${name} is ${what} for a browser that does not send Sec-Fetch-Mode`, async () => {
      const answer = await service.send({ ...request, headers: PLAIN_BROWSER });
      assert.equal(typeOf(answer)?.startsWith('text/html'), what === 'a page');
    });
  }

  test('the page of a refused call leads back to its operation', async () => {
    for (const [name, , request] of REFUSALS.filter(([, , each]) => isOperation(each))) {
      const { text } = await service.send({ ...request, headers: NAVIGATION });
      const links = addresses(text).map((each) => new URL(each, `http://x${request.path}`).href);
      assert.ok(links.includes(`http://x${request.path?.replace('/api/inbox.asmx/', '/api/inbox.asmx?op=')}`), name);
    }
  });

  test('an error page escapes the path and the query of its request', async () => {
    const { text } = await service.send({ path: '/api/inbox.asmx/Unread"><script>x</script>', headers: NAVIGATION });
    assert.equal(text.match(/<script>/g)?.length, 1);
    assert.doesNotMatch(text, /<script>x/);
  });

  test('successful answers and answers of SOAP are the same in a browser as elsewhere', async () => {
    const valid = requestOf('get', 'inbox', 'CountRead', { user_id: '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11' });
    assert.equal(typeOf(await service.send({ ...valid, headers: NAVIGATION })), 'text/xml; charset=utf-8');
    const soap = requestOf('soap11', 'inbox', 'CountRead', { user_id: 'nobody' });
    const fault = await service.send(soap);
    const same = await service.send({ ...soap, headers: { ...soap.headers, ...NAVIGATION } });
    assert.deepEqual([same.status, same.headers, same.text], [fault.status, fault.headers, fault.text]);
    const broken = { method: 'POST', path: '/api/inbox.asmx', bytes: '<', headers: { 'content-type': 'text/xml' } };
    const line = await service.send(broken);
    const sameLine = await service.send({ ...broken, headers: { ...broken.headers, ...NAVIGATION } });
    assert.deepEqual([sameLine.headers, sameLine.text], [line.headers, line.text]);
  });
});
