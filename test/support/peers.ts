import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { debianBinaries } from './postgres-server.ts';

/** Programs of others that some tests need. Without one its tests are skipped, each by name and with the reason. */
export interface Peer {
  readonly name: string;
  /** How to start it; null where it is not installed. */
  readonly command: string | null;
}

const peer = (name: string, commands: string[], probe: string[]): Peer => ({
  name,
  command: commands.find((command) => spawnSync(command, probe, { stdio: 'ignore' }).status === 0) ?? null,
});

export const chromium = () => peer('chromium', ['/usr/bin/chromium', 'chromium'], ['--version']);
export const firefox = () => peer('firefox-esr', ['/usr/bin/firefox-esr', 'firefox-esr'], ['--version']);
export const curl = () => peer('curl', ['curl'], ['--version']);
export const php = () => peer('php-soap', ['php'], ['-r', 'exit(extension_loaded("soap") ? 0 : 1);']);
// The system's own first: where several are installed, the packages of the system belong to that one.
export const python = () => peer('python3-zeep', ['/usr/bin/python3', 'python3'], ['-c', 'import zeep']);
// In /usr/sbin, which is not in everybody's PATH.
export const nginx = () => peer('nginx-light', ['nginx', '/usr/sbin/nginx'], ['-v']);
export const haproxy = () => peer('haproxy', ['haproxy', '/usr/sbin/haproxy'], ['-v']);
export const caddy = () => peer('caddy', ['caddy', '/usr/bin/caddy'], ['version']);
export const stunnel = () => peer('stunnel4', ['stunnel4', 'stunnel'], ['-version']);
export const promtool = () => peer('prometheus', ['promtool'], ['--version']);
export const openssl = () => peer('openssl', ['openssl'], ['version']);
export const perlSmpp = () => peer('libnet-smpp-perl', ['perl'], ['-MNet::SMPP', '-e1']);
// With Mono's wsdl come mcs, xsd and mono.
export const mono = () => peer('mono-devel', ['wsdl'], []);
// It makes a terminal.
export const debianPostgres = (): Peer => ({ name: 'postgresql', command: debianBinaries() ?? null });
export const script = () => peer('script of util-linux', ['script'], ['--version']);
export const bash = () => peer('bash', ['bash'], ['--version']);
export const zsh = () => peer('zsh', ['zsh'], ['--version']);
export const fish = () => peer('fish', ['fish'], ['--version']);
export const node: Peer = { name: 'node', command: process.execPath };

export function testWith({ name, command }: Peer, behaviour: string, work: (command: string) => Promise<void>): void {
  if (command === null) test(behaviour, { skip: `skipped: ${name} not installed` }, () => {});
  else test(behaviour, () => work(command));
}
