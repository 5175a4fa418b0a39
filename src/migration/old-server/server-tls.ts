import { isIP } from 'node:net';
import { type ConnectionOptions, connect, rootCertificates } from 'node:tls';

/** TLS to a server: which certificates are accepted, and what to do about a refused one. */
export interface OldServerTls {
  /** PEM certificates that are trusted besides those of the system. */
  readonly ca?: string;
  /** Accepts any certificate, if the operator said so. */
  readonly insecure?: boolean;
  /** Speaks TLS 1.0 and 1.1 too, with the ciphers of their time. */
  readonly legacy?: boolean;
}

const LEGACY: ConnectionOptions = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' };

export const tlsOptions = ({ ca, insecure, legacy }: OldServerTls, host: string): ConnectionOptions => ({
  rejectUnauthorized: insecure !== true,
  servername: serverName(host),
  ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
  ...(legacy ? LEGACY : {}),
});

/** RFC 6066 §3: an address is no server name. */
const serverName = (host: string): string => (isIP(host) === 0 ? host : '');

/** The host of an address, without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|KEY_TOO_SMALL|MD_TOO_WEAK/;
/** Node has no error code for a certificate that is too weak by today's rules. */
const WEAK = /certificate.*(?:too weak|too small)|(?:key|md).too.(?:weak|small)/i;

export const isCertificate = ({ code = '', message }: NodeJS.ErrnoException): boolean =>
  CERTIFICATE.test(code) || WEAK.test(message);

/** Whether no connection was made because of TLS, so that nothing was sent. */
export const isTlsFailure = (code: string | undefined): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/.test(code);

/** Trying later does not help, so the text names both ways out and what the certificate says. */
export async function refusedCertificate(url: string, { code, message }: NodeJS.ErrnoException): Promise<string> {
  const isWeak = WEAK.test(message) || /TOO_(?:SMALL|WEAK)/.test(code ?? '');
  const why = isWeak ? 'is too weak by the rules of today' : `is not trusted (${code})`;
  const ca = isWeak
    ? 'Trust this one alone, and allow its weakness, with --old-ca FILE --old-legacy-tls'
    : 'Name its authority, or the certificate itself if it is self-signed, with --old-ca FILE';
  const shown = await certificateOf(new URL(url));
  return `The certificate of the old server ${why}${shown === null ? '' : `: ${shown}`}. ${ca}, or accept any certificate with --old-insecure-certificate.`;
}

const LOOK_MS_MAX = 5_000;

/** Describes the certificate of the server; null if it shows none. Nothing is sent to it. */
function certificateOf(url: URL): Promise<string | null> {
  const host = hostOf(url);
  return new Promise((resolve) => {
    const socket = connect({
      ...tlsOptions({ insecure: true, legacy: true }, host),
      host,
      port: Number(url.port || 443),
      timeout: LOOK_MS_MAX,
    });
    const end = (shown: string | null): void => {
      socket.destroy();
      resolve(shown);
    };
    socket.on('error', () => end(null)).on('timeout', () => end(null));
    socket.on('secureConnect', () => {
      const { subject, issuer, valid_to, bits, fingerprint256 } = socket.getPeerCertificate();
      const issued = subject?.CN === issuer?.CN ? 'issued by itself' : `issued by ${issuer?.CN}`;
      end(`${subject?.CN}, ${issued}, a key of ${bits} bits, valid until ${valid_to}, SHA-256 ${fingerprint256}`);
    });
  });
}
