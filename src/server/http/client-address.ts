import { isIP, type Socket } from 'node:net';
import { HOST, neighbourhood, networkList } from '../../networks.ts';
import type { Problem } from '../../problem.ts';
import { createHostCheck, targetHost } from './host-header.ts';
import type { Head } from './request-head.ts';

/** Who calls, and under which address they reach us: asked of a proxy only where the operator trusts it. */
export interface AddressRules {
  /** '' for: as the request says. */
  readonly baseUrl: string;
  readonly trustedProxies: readonly string[];
  /** Ours; any is where there are none. */
  readonly hosts: readonly string[];
}

/** The other end of a connection. */
export interface Peer {
  readonly socket: Socket;
  readonly address: string;
}

export interface Addresses {
  /** What is asked of a socket at the beginning, while it is open. */
  peer(socket: Socket): Peer;
  of(head: Head, peer: Peer): { base: string; basePath: string; client: string };
  /** What is wrong with the Host, if anything is. */
  hostProblem(head: Head, peer: Peer): Problem | undefined;
  /** As whose a connection counts; null for a trusted proxy, which stands for many. */
  countedAs(peer: Peer): string | null;
}

export function createAddresses({ baseUrl, trustedProxies, hosts }: AddressRules): Addresses {
  const isTrusted = networkList(trustedProxies);
  const checkHost = createHostCheck(hosts);
  const forwardedBy = ({ address }: Peer, { headers }: Head): Headers => (isTrusted(address) ? headers : {});

  const basePath = pathOf(baseUrl);
  return {
    peer: (socket) => ({ socket, address: plainAddress(socket.remoteAddress ?? '') }),
    of(head, peer) {
      if (trustedProxies.length === 0) {
        return baseUrl ? { base: baseUrl, basePath, client: peer.address } : new Unforwarded(head, peer);
      }
      const headers = forwardedBy(peer, head);
      const prefix = safe(firstOf(headers['x-forwarded-prefix']), PREFIX) ?? '';
      const base = baseUrl || `${schemeOf(headers)}://${hostOf(head, peer, headers)}${prefix.replace(/\/+$/, '')}`;
      return { base, basePath: pathOf(base), client: clientOf(peer.address, headers, isTrusted) };
    },
    hostProblem(head, peer) {
      if (trustedProxies.length === 0) return checkHost(head, undefined);
      return checkHost(head, forwardedHost(forwardedBy(peer, head)));
    },
    countedAs({ address }) {
      if (isTrusted(address)) return null;
      return isIP(address) === 6 ? neighbourhood(address) : address;
    },
  };
}

/** Without a proxy the address is needed by pages and descriptions alone, so that a call does not pay for it. */
class Unforwarded {
  readonly basePath = '';
  readonly client: string;
  readonly #head: Head;
  readonly #peer: Peer;

  constructor(head: Head, peer: Peer) {
    this.#head = head;
    this.#peer = peer;
    this.client = peer.address;
  }

  get base(): string {
    return `http://${hostOf(this.#head, this.#peer, {})}`;
  }
}

type Headers = Head['headers'];

const PREFIX = /^\/[\w./~-]*$/;

const safe = (text: string | undefined, pattern: RegExp): string | undefined =>
  text !== undefined && pattern.test(text) ? text : undefined;

const firstOf = (field: string | undefined): string | undefined => field?.split(',', 1)[0]?.trim();

const schemeOf = (headers: Headers): string =>
  firstOf(headers['x-forwarded-proto'])?.toLowerCase() === 'https' ? 'https' : 'http';

const forwardedHost = (headers: Headers): string | undefined => safe(firstOf(headers['x-forwarded-host']), HOST);

/** HTTP/1.0 needs no Host, and a strange one is not repeated: then it is the address that was connected to. */
function hostOf({ headers, target }: Head, { socket }: Peer, forwarded: Headers): string {
  const given = forwardedHost(forwarded) ?? safe(targetHost(target) ?? headers.host, HOST);
  if (given && URL.canParse(`http://${given}`)) return given.replace(/:$/, '');
  const address = plainAddress(socket.localAddress ?? 'localhost');
  return `${isIP(address) === 6 ? `[${address}]` : address}:${socket.localPort}`;
}

/** From the right: the last address that a trusted proxy saw and that is not a trusted proxy itself. */
function clientOf(peer: string, headers: Headers, isTrusted: (address: string) => boolean): string {
  const field = headers['x-forwarded-for'];
  if (field === undefined) return peer;
  const hops = field.split(',').map((hop) => plainAddress(hop.trim()));
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
