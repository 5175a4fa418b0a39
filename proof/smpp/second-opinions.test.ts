import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, type TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import smpp from 'smpp';
import { systemClock } from '../../src/base/clock.ts';
import type { Connector, ReceivedReceipt } from '../../src/carriers/connector.ts';
import { smppConfig } from '../../src/carriers/smpp/config.ts';
import { createSmpp } from '../../src/carriers/smpp/smpp.ts';
import { submissionsOf } from '../../src/carriers/submissions.ts';
import { freshPath } from '../../test/support/command.ts';
import { openssl, perlSmpp, testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { startSmsc } from '../../test/support/smsc.ts';

/** What peers that share no code with Columba see of its SMPP: an SMSC on Net::SMPP, the encoder of npm smpp, and TLS. */

const log = { info: () => {}, warn: () => {} };
const SMSC = fileURLToPath(new URL('smsc.pl', import.meta.url));

interface Seen {
  readonly to: string;
  readonly coding: number;
  readonly esm: number;
  readonly octets: string;
  readonly template: string;
}

async function startPerl(t: Pick<TestContext, 'after'>, perl: string) {
  const child = spawn(perl, [SMSC], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const seen: Seen[] = [];
  let port = 0;
  child.stderr.resume(); // it warns about TLVs that it does not know
  createInterface({ input: child.stdout }).on('line', (line) => {
    const read = JSON.parse(line);
    if ('port' in read) port = read.port;
    else seen.push(read);
  });
  await until('Net::SMPP listens', () => port !== 0);
  return { port, seen };
}

function connector(
  t: Pick<TestContext, 'after'>,
  config: object,
): { connector: Connector; receipts: ReceivedReceipt[] } {
  const given = smppConfig.parse({ host: '127.0.0.1', systemId: 'esme', password: 'secret', ...config });
  const made = createSmpp('carrier', given, { clock: systemClock, log });
  t.after(() => made.stop());
  const receipts: ReceivedReceipt[] = [];
  void made.start({
    receipt: async (each) => void receipts.push(each),
    incoming: async () => {},
    late: async () => {},
  });
  return { connector: made, receipts };
}

const RECIPIENT = '+27825550201';

async function send(made: Connector, id: number, text: string, fields = {}): Promise<string[]> {
  const { parts } = layout(text);
  const message = {
    account: 1n,
    id: BigInt(id),
    fence: 1n,
    attempt: 1,
    sender: 'Acme',
    recipient: RECIPIENT,
    text,
    priority: 1,
    notAfter: null,
    expiresAt: 0,
    isAnswer: false,
    fields,
    partsTotal: parts.length,
    parts: parts.map((_, index) => ({
      number: index + 1,
      attemptId: `${id}`.padStart(28, '0') + `${index}`.padStart(4, '0'),
    })),
  };
  const results: string[] = [];
  // Parts leave in any order that the window gives; one at a time shows them in theirs.
  for (const part of submissionsOf(message)) {
    const [result] = await made.submit([part], new AbortController().signal);
    results.push(result?.kind ?? '');
  }
  return results;
}

const gsm = smpp.encodings.ASCII as Required<(typeof smpp.encodings)[string]>;
const ucs2 = smpp.encodings.UCS2 as Required<(typeof smpp.encodings)[string]>;

/** The parts of a text as 3GPP TS 23.040 has them: nothing that belongs together is divided. */
function layout(text: string): { coding: number; parts: string[] } {
  const isGsm = gsm.match(text);
  const sizeOf = (unit: string) => (isGsm ? gsm.encode(unit).length : unit.length);
  const [alone, together] = isGsm ? [160, 153] : [70, 67];
  const parts = [''];
  const sizes = [0];
  const total = [...text].reduce((sum, unit) => sum + sizeOf(unit), 0);
  if (total <= alone) return { coding: isGsm ? 0 : 8, parts: [text] };
  for (const unit of text) {
    const last = parts.length - 1;
    if ((sizes[last] as number) + sizeOf(unit) <= together) {
      parts[last] += unit;
      sizes[last] = (sizes[last] as number) + sizeOf(unit);
    } else {
      parts.push(unit);
      sizes.push(sizeOf(unit));
    }
  }
  return { coding: isGsm ? 0 : 8, parts };
}

const TABLE =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const EXTENSION = '^{}\\[~]|€';

/** 47 texts: both alphabets, the extension table and surrogate pairs around every seam, 1 to 66 parts. */
const TEXTS: readonly string[] = [
  'a',
  TABLE,
  EXTENSION,
  `${TABLE}${EXTENSION}${TABLE}`,
  ...[160, 161, 306, 307, 459, 460, 1_531, 9_945, 10_000].map((length) => 'x'.repeat(length)),
  ...[151, 152, 153, 158, 159, 305, 306].map((length) => `${'y'.repeat(length)}€${'z'.repeat(20)}`),
  '€'.repeat(80),
  '€'.repeat(81),
  '€'.repeat(500),
  'я',
  'Привет, мир',
  '你好，世界',
  'é́',
  ...[69, 70, 71, 134, 135, 201, 202, 670, 4_400].map((length) => 'ж'.repeat(length)),
  ...[65, 66, 67, 68, 132, 133, 134].map((length) => `${'ш'.repeat(length)}😀${'щ'.repeat(10)}`),
  '😀'.repeat(35),
  '😀'.repeat(36),
  '👨‍👩‍👧‍👦'.repeat(12),
  `${'q'.repeat(200)}’`,
];

describe('SMPP as others see it', () => {
  testWith(
    perlSmpp(),
    'the octets of 47 texts in 1 to 66 parts reach an SMSC on Net::SMPP as npm smpp encodes them',
    async (perl) => {
      const after: (() => unknown)[] = [];
      const t = { after: (work: () => unknown) => void after.push(work) } as unknown as TestContext;
      try {
        assert.equal(TEXTS.length, 47);
        const { port, seen } = await startPerl(t, perl);
        const { connector: made, receipts } = connector(t, { port });
        await until('it is bound', async () => (await send(made, 0, 'bound'))[0] === 'accepted');
        const before = seen.length;
        const wanted: object[] = [];
        for (const [index, text] of TEXTS.entries()) {
          const { coding, parts } = layout(text);
          const results = await send(made, index + 1, text);
          assert.deepEqual(new Set(results), new Set(['accepted']), `text ${index}`);
          for (const part of parts) {
            const octets = (coding === 0 ? gsm : ucs2).encode(part).toString('hex');
            wanted.push({ text: index, coding, octets, isLong: parts.length > 1 });
          }
        }
        await until('all are seen', () => seen.length - before === wanted.length);
        let place = 0;
        for (const each of wanted as { text: number; coding: number; octets: string; isLong: boolean }[]) {
          const { coding, esm, octets } = seen[before + place++] as Seen;
          const header = each.isLong ? octets.slice(0, 12) : '';
          assert.deepEqual(
            [coding, esm & 0x40, octets.slice(header.length)],
            [each.coding, each.isLong ? 0x40 : 0, each.octets],
            `text ${each.text}`,
          );
          if (each.isLong) assert.match(header, /^050003[0-9a-f]{6}$/);
        }
        await until('all receipts', () => receipts.length >= wanted.length);
        assert.deepEqual(new Set(receipts.map(({ status }) => status)), new Set(['DELIVERED']));
      } finally {
        for (const work of after.reverse()) await work();
      }
    },
  );

  testWith(perlSmpp(), 'the id of a template reaches an SMSC on Net::SMPP in its TLV', async (perl) => {
    const after: (() => unknown)[] = [];
    const t = { after: (work: () => unknown) => void after.push(work) } as unknown as TestContext;
    try {
      const { port, seen } = await startPerl(t, perl);
      const { connector: made } = connector(t, { port, tlvs: [{ tag: '0x1401', field: 'templateId' }] });
      const fields = { templateId: '1107160000000012345' };
      await until('it is taken', async () => (await send(made, 1, 'Your OTP is 4711', fields))[0] === 'accepted');
      assert.equal(Buffer.from(seen.at(-1)?.template ?? '', 'hex').toString(), '1107160000000012345\0');
    } finally {
      for (const work of after.reverse()) await work();
    }
  });
});

/** An authority, and the certificate of an SMSC that it has signed. */
function makeCertificates(name: string) {
  const paths = Object.fromEntries(
    ['ca', 'caKey', 'key', 'request', 'names', 'certificate'].map((each) => [each, freshPath('pem')]),
  );
  const { ca = '', caKey = '', key = '', request = '', names = '', certificate = '' } = paths;
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', timeout: 60_000 });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  run('req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=Authority', '-keyout', caKey, '-out', ca);
  run('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
  writeFileSync(names, `subjectAltName=DNS:${name}`);
  run('x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-days', '2', '-extfile', names, '-out', certificate);
  const read = (path: string) => readFileSync(path, 'utf8');
  return { ca: read(ca), key: read(key), certificate: read(certificate) };
}

describe('SMPP over TLS', () => {
  testWith(
    openssl(),
    'a message goes through TLS with an authority of our own, and a wrong name is refused with a sentence',
    async () => {
      const NAME = 'smsc.example.org';
      const { ca, key, certificate } = makeCertificates(NAME);
      const smsc = await startSmsc();
      const server = createServer({ key, cert: certificate }, (outer) => {
        const inner = connect(smsc.port, '127.0.0.1');
        outer.pipe(inner).pipe(outer);
        outer.on('error', () => inner.destroy());
        inner.on('error', () => outer.destroy());
      });
      server.on('tlsClientError', () => {});
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const after: (() => unknown)[] = [() => server.close(), () => smsc.close()];
      const t = { after: (work: () => unknown) => void after.push(work) } as unknown as TestContext;
      const secure = { port: (server.address() as AddressInfo).port, tls: true };
      try {
        const right = connector(t, { ...secure, tlsCertificate: ca, tlsServerName: NAME });
        await until('it is taken', async () => (await send(right.connector, 1, 'over TLS'))[0] === 'accepted');
        await until('its receipt', () => right.receipts.some(({ status }) => status === 'DELIVERED'));
        const faults = async (more: object) =>
          (await connector(t, { ...secure, ...more }).connector.probe?.())?.join() ?? '';
        assert.match(await faults({ tlsCertificate: ca, tlsServerName: 'other.example.org' }), /Set tlsServerName/);
        assert.match(await faults({ tlsServerName: NAME }), /tlsCertificate/);
        assert.equal(await faults({ tlsCertificate: ca, tlsServerName: NAME }), '');
      } finally {
        for (const work of after.reverse()) await work();
      }
    },
  );
});
