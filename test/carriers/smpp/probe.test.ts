import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { smppConfig } from '../../../src/carriers/smpp/config.ts';
import { answerTo, COMMAND } from '../../../src/carriers/smpp/pdu.ts';
import { probeSmpp } from '../../../src/carriers/smpp/probe.ts';
import { record } from '../../support/kannel-recording.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { capture } from './captures.ts';
import { CONFIG, createScriptedSmsc, type ScriptedSmsc } from './scripted-smsc.ts';

async function probed(prepare: (smsc: ScriptedSmsc) => void = () => {}, more: object = {}) {
  const smsc = createScriptedSmsc();
  prepare(smsc);
  const clock = createVirtualClock();
  const notes: string[] = [];
  const deps = { clock, log: record().deps.log };
  const config = smppConfig.parse({ ...CONFIG, ...more });
  const probing = probeSmpp(config, deps, smsc.openWire, (note) => notes.push(note));
  let mistakes: string[] | undefined;
  void probing.then((found) => {
    mistakes = found;
  });
  for (let seconds = 0; mistakes === undefined && seconds < 60; seconds++) await clock.advance(1_000);
  return { smsc, mistakes: mistakes ?? assert.fail('it does not end'), notes: notes.join('\n') };
}

/** Refuses binds of these commands with a status. */
const refusing =
  (status: number, commands: readonly number[] = [1, 2, 9]) =>
  (smsc: ScriptedSmsc): void => {
    smsc.rule = ({ command, sequence }, connection) => {
      if (!commands.includes(command)) return false;
      connection.send({ command: answerTo(command), status, sequence });
      return true;
    };
  };

describe('the check of an SMSC', () => {
  test('the check of a right configuration binds, sends enquire_link, unbinds, submits nothing and finds no mistake', async () => {
    const { smsc, mistakes, notes } = await probed();
    assert.deepEqual(mistakes, []);
    assert.deepEqual(
      smsc.received.map(({ command }) => command),
      [COMMAND.bindTransceiver, COMMAND.enquireLink, COMMAND.unbind],
    );
    assert.match(notes, /The SMSC smsc\.example:2775 takes us as a transceiver, calls itself smsc\./);
    assert.match(notes, /opens 1 bind of each kind with a window of 100/);
  });

  const words: [string, (smsc: ScriptedSmsc) => void, RegExp][] = [
    [
      'a wrong password',
      refusing(0x0e),
      /refuses the bind as a transceiver: SMPP 0x0000000e: the password is wrong\. Compare/,
    ],
    ['a wrong system id', refusing(0x0f), /the system id is wrong\. Compare systemId/],
    ['a wrong system type', refusing(0x53), /the system type is wrong\. Compare systemType/],
    ['an address that is not allowed', refusing(0x0d), /the bind failed: .* allow our IP address/],
    [
      'a wrong kind of bind',
      refusing(0x03, [9]),
      /refuses a transceiver and takes a transmitter: set bind to transmitter\+receiver/,
    ],
    ['binding too often', refusing(0x58), /SMPP 0x00000058: we submit too fast\. It was bound too often/],
    [
      'a connection that is closed at once',
      (smsc) => {
        smsc.rule = (_, connection) => {
          queueMicrotask(() => connection.drop());
          return true;
        };
      },
      /closed by the SMSC before the bind was answered: it may not allow our address, or the port may expect TLS/,
    ],
    [
      'a bind without an answer',
      (smsc) => {
        smsc.rule = () => true;
      },
      /no answer to the bind/,
    ],
    [
      'an SMSC that does not answer enquire_link',
      (smsc) => {
        smsc.rule = ({ command }) => command === COMMAND.enquireLink;
      },
      /binds, and does not answer enquire_link/,
    ],
    [
      'an HTTP port',
      (smsc) => {
        smsc.rule = (_, connection) => {
          connection.sendOctets(capture('hostile-http-answer'));
          return true;
        };
      },
      /not an SMPP port: an HTTP server answers there/,
    ],
  ];
  for (const [name, prepare, said] of words) {
    test(`the check names ${name} in words`, async () => {
      const { mistakes } = await probed(prepare);
      assert.equal(mistakes.length, 1);
      assert.match(mistakes[0] ?? '', said);
      assert.ok(!mistakes.join().includes('secret'));
    });
  }

  for (const [code, said] of [
    ['ECONNREFUSED', /nothing listens there \(ECONNREFUSED\)\. Compare host and port/],
    ['no connection in time', /A firewall may drop our packets/],
    ['no TLS in time', /TLS was not answered\. The port may not speak TLS/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /asks for a certificate of ours\. Set tlsClientCertificate/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /signed by itself\. Put it into tlsCertificate/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /Set tlsServerName/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS/],
  ] as const) {
    test(`the check explains ${code} in words`, async () => {
      const { mistakes } = await probed((smsc) => {
        smsc.unreachable = code;
      });
      assert.match(mistakes[0] ?? '', said);
    });
  }

  test('a bind that the running service holds is a note of the check, and no mistake', async () => {
    const { mistakes, notes } = await probed(refusing(0x05));
    assert.deepEqual(mistakes, []);
    assert.match(notes, /bound already\. The service that runs may hold the only bind/);
  });

  test('a long password and receipts that are not requested are notes of the check', async () => {
    assert.match((await probed(undefined, { password: '123456789' })).notes, /more than 8 characters/);
    assert.match((await probed(undefined, { receipts: 'none' })).notes, /No receipts are asked for/);
    assert.match((await probed(undefined, { receipts: 'failures' })).notes, /failures only/);
  });

  test('the check tries both directions of transmitter+receiver', async () => {
    const { smsc, mistakes } = await probed(refusing(0x0d, [1]), {
      bind: 'transmitter+receiver',
      receiverHost: 'other.example',
    });
    assert.deepEqual(
      smsc.connections.map(({ kind }) => kind),
      ['transmitter', 'receiver'],
    );
    assert.match(mistakes[0] ?? '', /^The SMSC other\.example:2775 refuses the bind as a receiver/);
  });

  test('a message that comes during the check is refused temporarily, so that the service gets it', async () => {
    const { smsc } = await probed((own) => {
      own.rule = ({ command }, connection) => {
        if (command === COMMAND.enquireLink) connection.sendOctets(capture('mo-gsm7'));
        return false;
      };
    });
    assert.deepEqual(
      smsc.of(answerTo(COMMAND.deliverSm)).map(({ status }) => status),
      [0x64],
    );
  });
});
