import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { neighbourhood, networkList } from '../networks.ts';
import type { Problem } from '../problem.ts';
import { createHostCheck, HOST, targetHost } from './hosts.ts';

/** Who calls, and under which address they reach us: asked of a proxy only where the operator trusts it. */
export interface AddressRules {
  /** '' for: as the request says. */
  readonly baseUrl: string;
  readonly trustedProxies: readonly string[];
  /** Ours; any is where there are none. */
  readonly hosts: readonly string[];
}

export interface Addresses {
  of(incoming: IncomingMessage): { base: string; basePath: string; client: string };
  /** What is wrong with the Host, if anything is. */
  hostProblem(incoming: IncomingMessage): Problem | undefined;
  /** As whose a connection counts; null for a trusted proxy, which stands for many. */
  countedAs(socket: Socket): string | null;
}

export function createAddresses({ baseUrl, trustedProxies, hosts }: AddressRules): Addresses {
  const isTrusted = networkList(trustedProxies);
  const checkHost = createHostCheck(hosts);
  const peerOf = ({ remoteAddress }: Socket) => plainAddress(remoteAddress ?? '');
  const forwardedBy = (peer: string, { headers }: IncomingMessage): Headers => (isTrusted(peer) ? headers : {});

  const basePath = pathOf(baseUrl);
  return {
    of(incoming) {
      const peer = peerOf(incoming.socket);
      if (trustedProxies.length === 0) {
        return baseUrl ? { base: baseUrl, basePath, client: peer } : new Unforwarded(incoming, peer);
      }
      const headers = forwardedBy(peer, incoming);
      const prefix = safe(firstOf(headers['x-forwarded-prefix']), PREFIX) ?? '';
      const base = baseUrl || `${schemeOf(headers)}://${hostOf(incoming, headers)}${prefix.replace(/\/+$/, '')}`;
      return { base, basePath: pathOf(base), client: clientOf(peer, headers, isTrusted) };
    },
    hostProblem(incoming) {
      if (trustedProxies.length === 0) return checkHost(incoming, undefined);
      return checkHost(incoming, forwardedHost(forwardedBy(peerOf(incoming.socket), incoming)));
    },
    countedAs(socket) {
      const peer = peerOf(socket);
      if (isTrusted(peer)) return null;
      return isIP(peer) === 6 ? neighbourhood(peer) : peer;
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

const PREFIX = /^\/[\w./~-]*$/;

const safe = (text: string | undefined, pattern: RegExp): string | undefined =>
  text !== undefined && pattern.test(text) ? text : undefined;

const firstOf = (field: string | string[] | undefined): string | undefined =>
  (Array.isArray(field) ? field[0] : field)?.split(',', 1)[0]?.trim();

const schemeOf = (headers: Headers): string =>
  firstOf(headers['x-forwarded-proto'])?.toLowerCase() === 'https' ? 'https' : 'http';

const forwardedHost = (headers: Headers): string | undefined => safe(firstOf(headers['x-forwarded-host']), HOST);

/** HTTP/1.0 needs no Host, and a strange one is not repeated: then it is the address that was connected to. */
function hostOf({ headers: own, socket, url = '' }: IncomingMessage, forwarded: Headers): string {
  const given = forwardedHost(forwarded) ?? safe(targetHost(url) ?? own.host, HOST);
  if (given) return given.replace(/:$/, '');
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
