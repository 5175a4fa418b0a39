import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { openssl, type Peer } from '../../test/support/peers.ts';
import { type Behind, CLIENT, exampleWith, folder, makeCertificate, type Running, startProxy } from './proxies.ts';

/** How each proxy is started with its files of examples/deploy. */

/** Without openssl there is no certificate; and the addresses of the clients are there on Linux only. */
export function usable(peer: Peer): Peer {
  if (process.platform !== 'linux') return { name: `${peer.name} on Linux`, command: null };
  return peer.command !== null && tool.command === null ? tool : peer;
}

const asRoot = process.getuid?.() === 0;
const tool = openssl();
const files = tool.command === null ? undefined : makeCertificate(tool.command);
export const ca = files?.certificate ?? '';
const NETWORK = { '203.0.113.0/24': `${CLIENT}/32` };

export interface Entrances {
  /** Port with TLS 1.2 and newer; stunnel has none. */
  readonly port?: string;
  /** Port with TLS 1.0 and newer; Caddy has none. */
  readonly oldPort: string;
  readonly proxy: Running;
  /** What the proxy wrote about the calls. */
  log(): string;
}

export async function startNginx(command: string, behind: Behind): Promise<Entrances> {
  const [port, oldPort] = [String(await freePort()), String(await freePort())];
  const paths = {
    '/etc/ssl/sms.example.pem': ca,
    '/etc/ssl/sms.example.key': files?.key ?? '',
    '/var/log/nginx': folder,
  };
  const main = {
    ...paths,
    'listen 443': `listen 127.0.0.1:${port}`,
    '127.0.0.1:8080': `127.0.0.1:${behind.port}`,
    '127.0.0.1:8081': `127.0.0.1:${behind.webPort}`,
  };
  writeFileSync(join(folder, 'nginx.conf'), exampleWith('nginx.conf', main));
  const old = { ...paths, ...NETWORK, 'listen 8443': `listen 127.0.0.1:${oldPort}` };
  writeFileSync(join(folder, 'nginx-old-tls.conf'), exampleWith('nginx-old-tls.conf', old));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  // What the main file of a package has around them.
  const whole = [
    `daemon off; pid ${folder}/nginx.pid; error_log stderr;${asRoot ? ' user root;' : ''}`,
    `events {} http { ${temporary.join(' ')}`,
    `include ${folder}/nginx.conf; include ${folder}/nginx-old-tls.conf; }`,
  ];
  const path = join(folder, 'whole-nginx.conf');
  writeFileSync(path, whole.join('\n'));
  const proxy = await startProxy(command, ['-c', path, '-e', 'stderr'], port);
  return { port, oldPort, proxy, log: () => readFileSync(join(folder, 'columba.log'), 'utf8') };
}

export async function startHaproxy(command: string, behind: Behind): Promise<Entrances> {
  const [port, oldPort] = [String(await freePort()), String(await freePort())];
  const paths = { '/etc/haproxy/sms.example.pem': files?.both ?? '' };
  const main = {
    ...paths,
    'bind :443': `bind 127.0.0.1:${port}`,
    '127.0.0.1:8080': `127.0.0.1:${behind.port}`,
    '127.0.0.1:8081': `127.0.0.1:${behind.webPort}`,
  };
  const old = { ...paths, ...NETWORK, 'bind :8443': `bind 127.0.0.1:${oldPort}` };
  // What the file of Debian's package has before them: TLS 1.2 and newer, unless a bind says otherwise.
  const before = [
    'global',
    '  log stdout format raw local0',
    '  ssl-default-bind-ciphers ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384',
    '  ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets',
    '',
  ];
  const path = join(folder, 'haproxy.cfg');
  const parts = [before.join('\n'), exampleWith('haproxy.cfg', main), exampleWith('haproxy-old-tls.cfg', old)];
  writeFileSync(path, parts.join('\n'));
  const proxy = await startProxy(command, ['-db', '-f', path], port);
  return { port, oldPort, proxy, log: () => proxy.output.text };
}

export async function startStunnel(command: string, behind: Behind): Promise<Entrances> {
  const oldPort = String(await freePort());
  const text = exampleWith('stunnel.conf', {
    '/etc/stunnel/sms.example.pem': ca,
    '/etc/stunnel/sms.example.key': files?.key ?? '',
    '203.0.113.2:8443': `127.0.0.1:${oldPort}`,
    '127.0.0.1:8080': `127.0.0.1:${behind.port}`,
    // Only root can become somebody else.
    ...(asRoot ? {} : { 'setuid = stunnel4\n': '', 'setgid = stunnel4\n': '' }),
  });
  const path = join(folder, 'stunnel.conf');
  writeFileSync(path, text);
  const proxy = await startProxy(command, [path], oldPort);
  return { oldPort, proxy, log: () => proxy.output.text };
}

/** With a certificate of its own instead of one from an authority, and without the port of its API. */
export async function startCaddy(command: string, behind: Behind): Promise<Entrances> {
  const port = String(await freePort());
  const text = exampleWith('Caddyfile', {
    '\nsms.example {': `\nsms.example:${port} {\n\ttls ${ca} ${files?.key}`,
    '/var/log/caddy': folder,
    '127.0.0.1:8080': `127.0.0.1:${behind.port}`,
    '127.0.0.1:8081': `127.0.0.1:${behind.webPort}`,
  });
  const path = join(folder, 'Caddyfile');
  writeFileSync(path, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${text}`);
  const proxy = await startProxy(command, ['run', '--config', path, '--adapter', 'caddyfile'], port);
  return { port, oldPort: '', proxy, log: () => readFileSync(join(folder, 'columba.log'), 'utf8') };
}
