import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Who calls, and under which address they reach us: asked of a proxy only where the operator trusts it. */
export interface AddressRules {
  /** '' for: as the request says. */
  readonly baseUrl: string;
  readonly trustedProxies: readonly string[];
}

export interface Addresses {
  of(incoming: IncomingMessage): { base: string; basePath: string; client: string };
}

export function createAddresses({ baseUrl, trustedProxies }: AddressRules): Addresses {
  const trusted = blockList(trustedProxies);
  const isTrusted = (address: string) => {
    const family = isIP(address);
    return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };

  const basePath = pathOf(baseUrl);
  return {
    of(incoming) {
      const peer = plainAddress(incoming.socket.remoteAddress ?? '');
      if (trustedProxies.length === 0) {
        return baseUrl ? { base: baseUrl, basePath, client: peer } : new Unforwarded(incoming, peer);
      }
      const headers = isTrusted(peer) ? incoming.headers : {};
      const prefix = safe(firstOf(headers['x-forwarded-prefix']), PREFIX) ?? '';
      const base = baseUrl || `${schemeOf(headers)}://${hostOf(incoming, headers)}${prefix.replace(/\/+$/, '')}`;
      return { base, basePath: pathOf(base), client: clientOf(peer, headers, isTrusted) };
    },
  };
}

/** Without a proxy the address is needed by pages and descriptions alone, so that a call does not pay for it. */
class Unforwarded {
  readonly basePath = '';
  readonly client: string;
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage, client: string) {
    this.#incoming = incoming;
    this.client = client;
  }

  get base(): string {
    return `http://${hostOf(this.#incoming, {})}`;
  }
}

type Headers = IncomingMessage['headers'];

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const PREFIX = /^\/[\w./~-]*$/;

const safe = (text: string | undefined, pattern: RegExp): string | undefined =>
  text !== undefined && pattern.test(text) ? text : undefined;

const firstOf = (field: string | string[] | undefined): string | undefined =>
  (Array.isArray(field) ? field[0] : field)?.split(',', 1)[0]?.trim();

const schemeOf = (headers: Headers): string =>
  firstOf(headers['x-forwarded-proto'])?.toLowerCase() === 'https' ? 'https' : 'http';

/** HTTP/1.0 needs no Host, and a strange one is not repeated: then it is the address that was connected to. */
function hostOf({ headers: own, socket, url = '' }: IncomingMessage, forwarded: Headers): string {
  const target = /^https?:\/\/([^/?]*)/i.exec(url)?.[1]; // RFC 9112 §3.2.2: it counts, and Host does not
  const given = safe(firstOf(forwarded['x-forwarded-host']), HOST) ?? safe(target ?? own.host, HOST);
  if (given) return given;
  const address = plainAddress(socket.localAddress ?? 'localhost');
  return `${isIP(address) === 6 ? `[${address}]` : address}:${socket.localPort}`;
}

/** From the right: the last address that a trusted proxy saw and that is not a trusted proxy itself. */
function clientOf(peer: string, headers: Headers, isTrusted: (address: string) => boolean): string {
  const field = headers['x-forwarded-for'];
  if (field === undefined) return peer;
  const hops = (Array.isArray(field) ? field.join(',') : field).split(',').map((hop) => plainAddress(hop.trim()));
  let client = peer;
  for (const hop of hops.reverse()) {
    if (!isTrusted(client) || isIP(hop) === 0) break;
    client = hop;
  }
  return client;
}

/** An IPv4 address that came in over an IPv6 socket is still that IPv4 address. */
const plainAddress = (address: string): string =>
  address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;

const pathOf = (base: string): string => base.replace(/^https?:\/\/[^/]*/, '');

function blockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const type = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, type);
    else list.addSubnet(address, Number(bits), type);
  }
  return list;
}
