import type { BindKind, SmppConfig, SmppDependencies } from './config.ts';
import { peerOf } from './config.ts';
import { type BoundTo, openSession, type SessionEnd } from './session.ts';
import { meaningOf, STATUS, statusWords } from './status.ts';
import type { OpenWire } from './wire.ts';

/** Finds the usual mistakes. It binds, asks for a sign and unbinds, and submits nothing. */

const PASSWORD_MAX = 8;
type Note = (sentence: string) => void;

export async function probeSmpp(
  config: SmppConfig,
  deps: SmppDependencies,
  openWire: OpenWire,
  note: Note = () => {},
): Promise<string[]> {
  noteSettings(config, note);
  const kinds: BindKind[] = config.bind === 'transceiver' ? ['transceiver'] : ['transmitter', 'receiver'];
  for (const kind of kinds) {
    const tried = await tryBind(config, kind, deps, openWire);
    if (!('end' in tried)) {
      note(`${peerName(config, kind)} takes us as a ${kind}${told(tried.to)}.`);
      if (!tried.isAlive) return [`${peerName(config, kind)} binds, and does not answer enquire_link.`];
      continue;
    }
    if (tried.end.refusal === STATUS.alreadyBound) {
      note(`${peerName(config, kind)} says that we are bound already. The service that runs may hold the only bind.`);
      continue;
    }
    const isOtherKind = kind === 'transceiver' && (await takesTransmitter(config, tried.end, deps, openWire));
    return [isOtherKind ? otherKind(config) : faultOf(config, kind, tried.end)];
  }
  return [];
}

/** Settings that are allowed and that people regret. */
function noteSettings({ password, receipts, binds, window }: SmppConfig, note: Note): void {
  if (password.length > PASSWORD_MAX) {
    note(`The password has more than ${PASSWORD_MAX} characters, which some SMSCs cut off or refuse.`);
  }
  if (receipts === 'none') note('No receipts are asked for: messages stay SUBMITTED and become UNKNOWN in the end.');
  if (receipts === 'failures')
    note('Receipts are asked for failures only: delivered messages become UNKNOWN in the end.');
  note(
    `Each process of the service opens ${binds} ${binds === 1 ? 'bind' : 'binds'} of each kind with a window of ${window}. Carriers limit both.`,
  );
}

type Tried = { readonly to: BoundTo; readonly isAlive: boolean } | { readonly end: SessionEnd };

async function tryBind(config: SmppConfig, kind: BindKind, deps: SmppDependencies, openWire: OpenWire): Promise<Tried> {
  const { promise: bound, resolve: onBound } = Promise.withResolvers<BoundTo>();
  // What comes in meanwhile is refused for now, so that the service gets it.
  const receive = async () => STATUS.temporaryError;
  const session = openSession({ kind, config, clock: deps.clock, openWire, onBound, receive, onLate: () => {} });
  const first = await Promise.race([bound, session.ended]);
  if ('reason' in first) return { end: first };
  const isAlive = config.quirks.enquireLinkUnanswered || (await session.enquire());
  await session.unbind();
  return { to: first, isAlive };
}

/** A refusal that may be about the kind of the bind. */
async function takesTransmitter(
  config: SmppConfig,
  { refusal }: SessionEnd,
  deps: SmppDependencies,
  openWire: OpenWire,
): Promise<boolean> {
  if (refusal === null || meaningOf(refusal) === 'credentials') return false;
  return !('end' in (await tryBind(config, 'transmitter', deps, openWire)));
}

const peerName = (config: SmppConfig, kind: BindKind): string => {
  const { host, port } = peerOf(config, kind);
  return `The SMSC ${host}:${port}`;
};

const told = ({ systemId, version }: BoundTo): string => {
  const name = systemId === '' ? '' : `, calls itself ${systemId.slice(0, 16)}`;
  return `${name}${version === null ? '' : ` and speaks version ${version >> 4}.${version & 0xf}`}`;
};

const otherKind = (config: SmppConfig): string =>
  `${peerName(config, 'transceiver')} refuses a transceiver and takes a transmitter: set bind to transmitter+receiver.`;

const REMEDIES: ReadonlyMap<number, string> = new Map([
  [0x0d, ' The carrier may have to allow our IP address, or another process holds all binds that it allows.'],
  [0x0e, ' Compare the password with the one of the carrier.'],
  [0x0f, ' Compare systemId with the name that the carrier gave.'],
  [0x53, ' Compare systemType with what the carrier gave; mostly it is empty.'],
  [0x58, ' It was bound too often in a short time. Wait some minutes.'],
]);

function faultOf(config: SmppConfig, kind: BindKind, { reason, refusal }: SessionEnd): string {
  const peer = peerName(config, kind);
  if (refusal !== null)
    return `${peer} refuses the bind as a ${kind}: ${statusWords(refusal)}.${REMEDIES.get(refusal) ?? ''}`;
  return `${peer} cannot be used: ${WORDS[reason] ?? reason}.`;
}

/** Errors of the system and of TLS that people meet. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (ECONNREFUSED). Compare host and port',
  ENOTFOUND: 'there is no such host (ENOTFOUND)',
  EAI_AGAIN: 'the name of the host cannot be resolved now (EAI_AGAIN)',
  ETIMEDOUT:
    'no connection in time (ETIMEDOUT). A firewall may drop our packets, or the carrier does not allow our IP address',
  'no connection in time':
    'no connection in time. A firewall may drop our packets, or the carrier does not allow our IP address',
  'no TLS in time':
    'the connection was taken, and TLS was not answered. The port may not speak TLS: then set tls to false',
  EHOSTUNREACH: 'there is no way to that host (EHOSTUNREACH)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS. Set tls to false, or take the port that does',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS. Set tls to false, or take the port that does',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'it asks for a certificate of ours. Set tlsClientCertificate and tlsClientKey',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'it does not know who signed our certificate. Compare tlsClientCertificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name. Set tlsServerName to the name in it',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself. Put it into tlsCertificate if you trust it',
  SELF_SIGNED_CERT_IN_CHAIN:
    'nobody that the system knows signed its certificate. Put the one that signed it into tlsCertificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'nobody that the system knows signed its certificate. Put the one that signed it into tlsCertificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'nobody that the system knows signed its certificate. Put the one that signed it into tlsCertificate',
  CERT_HAS_EXPIRED: 'its certificate has expired',
};
