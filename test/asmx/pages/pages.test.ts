import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { contract } from '../../../src/asmx/contract/contract.ts';
import { onOneEngine } from '../../support/engines.ts';
import { addresses, decoded, rows, section, textOf } from '../../support/markup.ts';
import { type Service, startService } from '../../support/service.ts';
import { exchangeBytes } from '../../support/socket.ts';

const GROUPS = ['account', 'inbox', 'sent', 'compose'] as const;

onOneEngine('pages', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());

  const pageOf = async (path: string, query = ''): Promise<string> => {
    const { status, headers, text } = await service.send({ path, query });
    assert.equal(status, 200);
    assert.equal(headers['Content-Type'], 'text/html; charset=utf-8');
    return text;
  };

  test('the front page leads to every operation, with its summary, to the groups and to their WSDL', async () => {
    const html = await pageOf('/');
    const operations = section(html, 'Operations');
    assert.deepEqual(
      addresses(operations),
      GROUPS.flatMap((name) => [
        ...[`api/${name}.asmx`, `api/${name}.asmx?WSDL`],
        ...Object.keys(contract[name])
          .sort()
          .map((operation) => `api/${name}.asmx?op=${operation}`),
      ]),
    );
    const summaries = GROUPS.flatMap((name) =>
      Object.entries(contract[name])
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([operation, { summary }]) => [operation, summary]),
    );
    assert.deepEqual(rows(operations), summaries);
    assert.match(textOf(section(html, 'What a user_id is')), /the secret that names the account/);
    assert.doesNotMatch(html, /demo/);
  });

  test('the front page answers any other method than GET and HEAD with 405 and Allow', async () => {
    const { status, headers } = await service.send({ method: 'POST', path: '/' });
    assert.equal(status, 405);
    assert.equal(headers.Allow, 'GET, HEAD');
  });

  test('an unknown path is answered with 404 and the address of the service', async () => {
    for (const path of ['/api', '/api/', '/api/other.asmx', '/favicon.ico', '/index.html']) {
      const { status, text } = await service.send({ path });
      assert.equal(status, 404, path);
      for (const name of GROUPS) assert.ok(text.includes(`/api/${name}.asmx`), path);
    }
  });

  for (const group of GROUPS) {
    test(`the page of ${group} lists its operations by name, each with its summary and a link, and links the WSDL`, async () => {
      const html = await pageOf(`/api/${group}.asmx`);
      const list = section(html, 'Operations');
      const names = Object.keys(contract[group]).sort();
      const table: Record<string, { summary: string }> = contract[group];
      assert.deepEqual(
        rows(list),
        names.map((name) => [name, table[name]?.summary]),
      );
      assert.deepEqual(
        addresses(list),
        names.map((name) => `${group}.asmx?op=${name}`),
      );
      assert.ok(addresses(html).includes(`${group}.asmx?WSDL`));
      assert.match(html, new RegExp(`<title>${group} – Columba</title>`));
    });
  }

  test('the address of a group is the same page in any letter case', async () => {
    assert.equal(await pageOf('/api/INBOX.Asmx'), await pageOf('/api/inbox.asmx'));
  });

  const STRANGE = [
    'Nothing',
    'unread',
    'Profile', // of another group
    '',
    'constructor',
    '__proto__',
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '</p></main></body></html>',
    '&lt;b&gt;&#60;',
    '二箱 😀',
  ];
  for (const name of STRANGE) {
    test(`an unknown operation ${JSON.stringify(name)} is named as text above the list of the known ones`, async () => {
      // What stands around the name in the page of a harmless one.
      const [start = '', end = ''] = (await pageOf('/api/inbox.asmx', 'op=MARK')).split('MARK');
      const html = await pageOf('/api/inbox.asmx', `op=${encodeURIComponent(name)}`);
      assert.ok(html.startsWith(start) && html.endsWith(end));
      const shown = html.slice(start.length, html.length - end.length);
      assert.doesNotMatch(shown, /[<>"']|&(?!#\d+;)/);
      assert.equal(decoded(shown), name);
      assert.match(start, /role="alert"/);
      assert.equal(rows(section(html, 'Operations')).length, 8);
      assert.match(textOf(html), /There is no operation/);
    });
  }

  test('the policy allows the style and script of the page by their hashes and nothing else, and the other header fields are as strict', async () => {
    for (const [path, query] of [
      ['/', ''],
      ['/api/sent.asmx', ''],
      ['/api/sent.asmx', 'op=FetchSentDS'],
      ['/api/sent.asmx', 'op=Nothing'],
    ] as const) {
      const { headers, text } = await service.send({ path, query });
      const policy = Object.fromEntries(
        String(headers['Content-Security-Policy'] ?? '')
          .split('; ')
          .map((directive) => {
            const [name = '', ...sources] = directive.split(' ');
            return [name, sources.join(' ')];
          }),
      );
      const hashes = (element: string) =>
        [...text.matchAll(new RegExp(`<${element}>([\\s\\S]*?)</${element}>`, 'g'))]
          .map(([, content = '']) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`)
          .join(' ');
      assert.deepEqual(policy, {
        'default-src': "'none'",
        'style-src': hashes('style'),
        'script-src': hashes('script'),
        'connect-src': "'self'",
        'img-src': 'data:',
        'form-action': "'self'",
        'base-uri': "'none'",
        'frame-ancestors': "'none'",
      });
      // Neither would run: the policy has no hash for them.
      assert.doesNotMatch(text.replace(/<(style|script)>[\s\S]*?<\/\1>/g, ''), /<[^>]*\s(?:style|on[a-z]+)\s*=/);
      const { 'Content-Security-Policy': _, ...others } = headers;
      assert.deepEqual(others, {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'private, max-age=0',
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Permissions-Policy':
          'camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
        'X-Frame-Options': 'DENY',
      });
    }
  });

  /** Everything that can be reached by links from the front page, by its address. */
  async function crawl(front: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const open = [front];
    for (let address = open.pop(); address !== undefined; address = open.pop()) {
      if (found.has(address)) continue;
      const reply = await fetch(address);
      const text = await reply.text();
      assert.equal(reply.status, 200, address);
      found.set(address, text);
      if (!reply.headers.get('content-type')?.startsWith('text/html')) continue;
      for (const reference of addresses(text)) {
        if (reference.startsWith('data:')) continue;
        assert.doesNotMatch(reference, /^\/|:/, `${address} refers to ${reference}`);
        const next = new URL(reference, address);
        assert.ok(next.href.startsWith(front), next.href);
        if (next.hash) assert.ok(text.includes(`id="${next.hash.slice(1)}"`), next.hash);
        // The target of a form is of another form of call.
        else if (!/\.asmx\/\w+$/.test(next.pathname)) open.push(next.href);
      }
    }
    return found;
  }

  for (const [where, prefix] of [
    ['at the root', ''],
    ['under a path', '/some/gateway'],
  ] as const) {
    test(`${where}, every link leads to a page or WSDL of this server, and every page and WSDL is linked`, async () => {
      const baseUrl = prefix && `https://sms.example${prefix}`;
      const other = await startService(engine, 'empty', { baseUrl });
      try {
        const front = `${await other.app.start()}${prefix}/`;
        const found = await crawl(front);
        const expected = Object.entries(contract).flatMap(([group, operations]) => [
          ...[`api/${group}.asmx`, `api/${group}.asmx?WSDL`],
          ...Object.keys(operations).map((name) => `api/${group}.asmx?op=${name}`),
        ]);
        assert.equal(expected.length, 4 + 4 + 32);
        assert.deepEqual([...found.keys()].sort(), ['', ...expected].map((path) => front + path).sort());
      } finally {
        await other.stop();
      }
    });
  }

  test('pages load nothing from other hosts, and name a host only in samples', async () => {
    for (const [path, query] of [
      ['/', ''],
      ['/api/inbox.asmx', 'op=Unread'],
    ] as const) {
      const html = (await pageOf(path, query)).replace(/<code>[\s\S]*?<\/code>/g, '');
      // The icon is a data: address with its slashes encoded.
      assert.doesNotMatch(html, /https?:|\/\/\w|@import|url\(/);
    }
  });

  test('HEAD is answered with the header fields of GET and without a body', async () => {
    const other = await startService(engine, 'empty');
    try {
      const address = await other.app.start();
      for (const target of ['/', '/api/inbox.asmx', '/api/inbox.asmx?op=Unread', '/api/inbox.asmx?op=No', '/nowhere']) {
        const [get, head] = await Promise.all(
          ['GET', 'HEAD'].map(async (method) => {
            const request = `${method} ${target} HTTP/1.1\r\nHost: sms.example\r\nConnection: close\r\n\r\n`;
            const [fields = '', body = ''] = String(await exchangeBytes(address, Buffer.from(request))).split(
              /\r\n\r\n(.*)/s,
            );
            return { fields: fields.replace(/^(Date|X-Request-Id): .*$/gm, '$1'), body };
          }),
        );
        assert.equal(head?.fields, get?.fields, target);
        assert.equal(head?.body, '', target);
        assert.match(get?.fields ?? '', new RegExp(`^Content-Length: ${Buffer.byteLength(get?.body ?? '')}$`, 'm'));
      }
    } finally {
      await other.stop();
    }
  });
});
