import { execFileSync } from 'node:child_process';
import { cpSync, createReadStream, globSync, realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { until } from '../../test/support/program.ts';
import { type Smsc, startSmsc } from '../../test/support/smsc.ts';
import { type CleanRoot, createCleanRoot } from './clean-root.ts';

/**
 * From the download to a message at a carrier, in the lines that a newcomer types, for every way in which Columba is
 * installed; then its removal.
 */
export interface Walk {
  readonly root: CleanRoot;
  /** Where the files of the release are downloaded from. */
  readonly url: string;
  readonly version: string;
  readonly smsc: Smsc;
  readonly ports: { readonly port: number; readonly webPort: number };
}

export interface Way {
  /** What a machine has that runs this kind of program. */
  readonly prepare?: (walk: Walk) => Promise<void>;
  readonly install: (walk: Walk) => Promise<void>;
  /** Ends with the service that runs and the test message that it has sent. */
  readonly begin: (walk: Walk) => Promise<void>;
  /** Removes the program, and resolves with what of it may stay. */
  readonly remove: (walk: Walk) => Promise<RegExp>;
}

const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';
const carrierLine = ({ smsc }: Walk) =>
  `echo '{"host": "127.0.0.1", "port": ${smsc.port}, "systemId": "columba", "password": "secret"}' > carrier.json`;
const SETUP = 'columba setup --operator ann --account acme --region ZA --credits 10 --carrier smpp --carrier-config';
const SEND = "columba message send acme '082 555 0201' --text 'The first message.'";

async function isServing({ root, ports }: Walk): Promise<boolean> {
  const answer = await root.look(
    `curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:${ports.port}/health/ready || true`,
  );
  return answer === '200';
}

/** Sets up, serves and sends with a command that works in the folder where it is. */
async function beginHere(walk: Walk): Promise<void> {
  const { root, ports } = walk;
  await root.type(carrierLine(walk));
  await root.type(`${SETUP} @carrier.json`);
  await root.type(`columba serve --port ${ports.port} --web-port ${ports.webPort} >serve.log 2>&1 &`);
  await until('the service is ready', () => isServing(walk));
  await root.type(SEND);
}

const SERVING = `grep -lsa '[s]erve' $(grep -lsa '[c]olumba' /proc/[0-9]*/cmdline) /dev/null | cut -d/ -f3`;

async function stop({ root }: Walk): Promise<void> {
  await root.look(`kill $(${SERVING})`);
  await until('the service has ended', async () => (await root.look(SERVING)) === '');
}

const file: Way = {
  async install({ root, url, version }) {
    const name = `columba-${version}-linux-${process.arch}`;
    await root.type(`curl -sSf -O ${url}/${name} -O ${url}/SHA256SUMS`);
    await root.type('sha256sum --check --ignore-missing SHA256SUMS');
    await root.type(`install -m 0755 ${name} /usr/local/bin/columba`);
  },
  begin: beginHere,
  async remove(walk) {
    await stop(walk);
    await walk.root.look('rm /usr/local/bin/columba columba-* SHA256SUMS');
    return /^\/srv\/(data\/columba\.db|carrier\.json|serve\.log)/;
  },
};

/** systemd does not run here, so its line and its environment are read from the unit. */
const START = `set -a; eval "$(sed -n 's/^Environment=//p' /lib/systemd/system/columba.service)"
cd /var/lib/columba && setsid setpriv --reuid columba --regid columba --init-groups $(sed -n 's/^ExecStart=//p' \
/lib/systemd/system/columba.service) >/tmp/serve.log 2>&1 &`;

const deb: Way = {
  async install({ root, url, version }) {
    const name = `columba_${version}_${ARCHITECTURE}.deb`;
    await root.type(`curl -sSf -O ${url}/${name}`);
    await root.type('apt-get -qq update');
    await root.type(`apt-get -qq install --yes ./${name}`);
  },
  async begin(walk) {
    const { root, ports } = walk;
    await root.type(
      `printf 'COLUMBA_PORT=%s\\nCOLUMBA_WEB_PORT=%s\\n' ${ports.port} ${ports.webPort} >> /etc/columba/columba.conf`,
    );
    await root.type(carrierLine(walk));
    await root.type(`${SETUP} - < carrier.json`);
    await root.type(START);
    await until('the service is ready', () => isServing(walk));
    await root.type(SEND);
  },
  async remove(walk) {
    const { root } = walk;
    await stop(walk);
    await root.look('apt-get -qq remove --yes columba');
    await root.look('test ! -e /usr/lib/columba && test -e /etc/columba/columba.conf');
    await root.look('apt-get -qq purge --yes columba && rm columba_*');
    return /^\/(srv\/carrier\.json|var\/(?:lib|backups)\/columba\/)/;
  },
};

const npm: Way = {
  async prepare({ root }) {
    const command = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
    cpSync(process.execPath, join(root.folder, 'usr/local/bin/node'));
    cpSync(dirname(dirname(command)), join(root.folder, 'usr/local/lib/node_modules/npm'), { recursive: true });
    await root.look('ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && npm --version');
  },
  async install({ root, url, version }) {
    await root.type(`curl -sSf -O ${url}/columba-${version}.tgz`);
    await root.type(`npm install --global --no-audit --no-fund ./columba-${version}.tgz`);
  },
  begin: beginHere,
  async remove(walk) {
    await stop(walk);
    await walk.root.look('npm uninstall --global columba && rm columba-*');
    return /^\/srv\/(data\/columba\.db|carrier\.json|serve\.log|\.npm\/)/;
  },
};

export const ways: Readonly<Record<string, Way>> = { file, deb, npm };

export interface Gone {
  readonly lines: CleanRoot['typed'];
  readonly faults: readonly string[];
}

const LINES_MAX = 10;
const SECONDS_MAX = 300;

/** Goes a way in a root of its own, and looks at what is left. */
export async function go(way: Way, archive: string, release: string, version: string): Promise<Gone> {
  const [root, server, smsc] = [await createCleanRoot(archive), serveFiles(release), await startSmsc()];
  try {
    const ports = { port: await freePort(), webPort: await freePort() };
    const walk: Walk = { root, url: await server.url, version, smsc, ports };
    await way.prepare?.(walk);
    await way.install(walk);
    await way.begin(walk);
    await until('the carrier has the message', () => smsc.submitted.length === 1);
    const faults = smsc.submitted[0]?.to === '27825550201' ? [] : ['the carrier has another number'];
    const lines = [...root.typed];
    const seconds = lines.reduce((sum, line) => sum + line.seconds, 0);
    if (lines.length > LINES_MAX) faults.push(`${lines.length} lines are more than ${LINES_MAX}`);
    if (seconds > SECONDS_MAX) faults.push(`${Math.round(seconds)} s are more than ${SECONDS_MAX}`);
    const mayStay = await way.remove(walk);
    const left = root.files().filter((path) => /columba/.test(path) || path.startsWith('/srv/'));
    faults.push(...left.filter((path) => !mayStay.test(path)).map((path) => `left: ${path}`));
    if (!left.some((path) => path.endsWith('/columba.db'))) faults.push('the data is gone');
    return { lines, faults };
  } finally {
    await Promise.all([root.close(), smsc.close(), server.close()]);
  }
}

function serveFiles(folder: string) {
  const names = globSync('*', { cwd: folder });
  const server = createServer(({ url = '' }, response) => {
    const name = basename(url);
    if (!names.includes(name)) response.writeHead(404).end();
    else createReadStream(join(folder, name)).pipe(response);
  }).listen(0, '127.0.0.1');
  const url = new Promise<string>((resolve) => {
    server.once('listening', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
  return { url, close: () => void server.close() };
}
