import { spawnSync } from 'node:child_process';

/** The Debian packages with the programs of others that proofs need, and the command that tells whether each is there. */
const PACKAGES: Readonly<Record<string, string>> = {
  curl: 'curl --version',
  'php-cli': 'php --version',
  'php-soap': `php -r 'exit(class_exists("SoapClient") ? 0 : 1);'`,
  'php-sqlite3': `php -r 'exit(class_exists("SQLite3") ? 0 : 1);'`,
  'python3-zeep': `/usr/bin/python3 -c 'import zeep'`,
  'mono-devel': 'command -v wsdl',
  chromium: 'chromium --version',
  'firefox-esr': 'firefox-esr --version',
  'fonts-noto-core': 'ls /usr/share/fonts/truetype/noto/NotoSans-Regular.ttf',
  'fonts-noto-cjk': 'ls /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc',
  'fonts-noto-color-emoji': 'ls /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf',
  kannel: 'command -v bearerbox smsbox',
  'nginx-light': 'PATH=$PATH:/usr/sbin nginx -v',
  haproxy: 'PATH=$PATH:/usr/sbin haproxy -v',
  caddy: 'caddy version',
  stunnel4: 'stunnel4 -version',
  openssl: 'openssl version',
  'libnet-smpp-perl': 'perl -MNet::SMPP -e1',
  prometheus: 'promtool --version',
  systemd: 'systemd-analyze --version',
  mmdebstrap: 'mmdebstrap --version',
  buildah: 'buildah --version',
  podman: 'podman --version',
  runc: 'runc --version',
  lintian: 'lintian --version',
  bsdutils: 'script --version',
  fish: 'fish --version',
  zsh: 'zsh --version',
  'g++': 'g++ --version',
  gsoap: 'soapcpp2 -V',
  'libgsoap-dev': 'test -e /usr/include/stdsoap2.h',
  'libsqlite3-dev': 'test -e /usr/include/sqlite3.h',
  'libapache2-mod-php': 'ls /usr/lib/apache2/modules/libphp*.so',
  postgresql: 'ls /usr/lib/postgresql/*/bin/initdb',
};

export const missingPackages = (): string[] =>
  Object.entries(PACKAGES)
    .filter(([, probe]) => spawnSync('bash', ['-c', probe], { stdio: 'ignore' }).status !== 0)
    .map(([name]) => name);

/** `node bin/node.cjs proof/packages.ts` prints those that are missing, one a line: .ci/run installs them. */
if (import.meta.main) for (const name of missingPackages()) process.stdout.write(`${name}\n`);
