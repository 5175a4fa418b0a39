import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { freePort } from '../../test/support/free-port.ts';
import { haproxy, nginx, testWith } from '../../test/support/peers.ts';
import { read } from './formats.ts';
import { CLIENT, folder, STRANGER, startProxy } from './proxies.ts';

/** The balancers of docs/MIGRATION.md, as they are there but for ports and addresses. */

const snippet = (language: string): string => {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(read('docs/MIGRATION.md'))?.[1];
  assert.ok(found, `docs/MIGRATION.md has no ${language}`);
  return found;
};

function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  let changed = text;
  for (const [from, to] of Object.entries(replacements)) {
    assert.ok(changed.includes(from), from);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}

const servers: Server[] = [];
const ports = { old: '', proxy: '' };
/** Each answers its name, and the address that it was told. */
before(async () => {
  for (const name of ['old', 'proxy'] as const) {
    const server = createServer((call, answer) => answer.end(`${name} ${call.headers['x-forwarded-for']} ${call.url}`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ports[name] = String((server.address() as { port: number }).port);
    servers.push(server);
  }
});
after(() => {
  for (const server of servers) server.close();
});

const ask = (port: string, from: string, headers: Record<string, string> = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, path: '/api/inbox.asmx?WSDL', localAddress: from, headers };
    request(target, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });

async function startNginx(command: string, text: string, name: string): Promise<string> {
  const port = String(await freePort());
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${folder}/${name}-${each};`,
  );
  const asRoot = process.getuid?.() === 0 ? ' user root;' : '';
  const http = replaced(text, {
    'listen 80': `listen 127.0.0.1:${port}`,
    '10.0.0.5:80': `127.0.0.1:${ports.old}`,
    '127.0.0.1:8090': `127.0.0.1:${ports.proxy}`,
  });
  const path = join(folder, `${name}.conf`);
  const main = `daemon off; pid ${folder}/${name}.pid; error_log stderr;${asRoot} events {}`;
  writeFileSync(path, `${main} http { access_log off; ${temporary.join(' ')} ${http} }`);
  await startProxy(command, ['-c', path, '-e', 'stderr'], port);
  return port;
}

async function startHaproxy(command: string, text: string, name: string): Promise<string> {
  const port = String(await freePort());
  const path = join(folder, `${name}.cfg`);
  const changed = replaced(text, {
    'bind :80': `bind 127.0.0.1:${port}`,
    '10.0.0.5:80': `127.0.0.1:${ports.old}`,
    '127.0.0.1:8090': `127.0.0.1:${ports.proxy}`,
  });
  writeFileSync(path, changed);
  await startProxy(command, ['-db', '-f', path], port);
  return port;
}

const BALANCERS = [
  { peer: nginx(), language: 'nginx', start: startNginx, line: / {2}10\.0\.0\.17\/32 1;\n/ },
  { peer: haproxy(), language: 'haproxy', start: startHaproxy, line: / {2}acl moved src 10\.0\.0\.17\n/ },
] as const;

describe('balancers before the proxy of a migration', () => {
  for (const { peer, language, start, line } of BALANCERS) {
    testWith(
      peer,
      `${language}: a client is moved by its address or a header field, and back without its line`,
      async (command) => {
        const text = snippet(language);
        assert.match(text, line);
        const port = await start(command, text.replace('10.0.0.17', CLIENT), `migration-${language}`);
        assert.equal(await ask(port, CLIENT), `proxy ${CLIENT} /api/inbox.asmx?WSDL`);
        assert.equal(await ask(port, STRANGER), `old ${STRANGER} /api/inbox.asmx?WSDL`);
        assert.match(await ask(port, STRANGER, { 'X-Client': 'invoices' }), /^proxy /);
        assert.match(await ask(port, STRANGER, { 'X-Client': 'invoices2' }), /^old /);
        assert.match(await ask(port, STRANGER, { 'X-Forwarded-For': '192.0.2.1' }), new RegExp(`^old ${STRANGER} `));
        const back = await start(command, text.replace(line, ''), `migration-back-${language}`);
        assert.match(await ask(back, CLIENT), /^old /);
        assert.match(await ask(back, CLIENT, { 'X-Client': 'invoices' }), /^proxy /);
      },
    );
  }
});
