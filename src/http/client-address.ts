import { isIP, type Socket } from 'node:net';
import { customerNetwork, forwardedClient, HOST, networkList, plainAddress } from '../base/networks.ts';
import type { Problem } from '../base/problem.ts';
import { createHostCheck, targetHost } from './host-header.ts';
import type { RequestHead } from './request-head.ts';

/** The client's address and our base URL. X-Forwarded fields count only from trusted proxies. */
export interface AddressRules {
  /** '' to derive it from the request. */
  readonly baseUrl: string;
  readonly trustedProxies: readonly string[];
  /** The hosts of this service; any host if the list is empty. */
  readonly hosts: readonly string[];
}

/** The other end of a connection. */
export interface Peer {
  readonly socket: Socket;
  readonly address: string;
}

export interface Addresses {
  /** Reads the remote address while the socket is open. */
  peer(socket: Socket): Peer;
  of(head: RequestHead, peer: Peer): { base: string; basePath: string; client: string };
  /** Why the Host is rejected, if it is. */
  hostProblem(head: RequestHead, peer: Peer): Problem | undefined;
  /** The client whose connections are limited together; null for a trusted proxy. */
  countedAs(peer: Peer): string | null;
}

export function createAddresses({ baseUrl, trustedProxies, hosts }: AddressRules): Addresses {
  const isTrusted = networkList(trustedProxies);
  const checkHost = createHostCheck(hosts);
  const forwardedBy = ({ address }: Peer, { headers }: RequestHead): Headers => (isTrusted(address) ? headers : {});

  const basePath = pathOf(baseUrl);
  return {
    peer: (socket) => ({ socket, address: plainAddress(socket.remoteAddress ?? '') }),
    of(head, peer) {
      if (trustedProxies.length === 0) {
        return baseUrl ? { base: baseUrl, basePath, client: peer.address } : new DirectAddress(head, peer);
      }
      const headers = forwardedBy(peer, head);
      const prefix = safe(firstOf(headers['x-forwarded-prefix']), PREFIX) ?? '';
      const base = baseUrl || `${schemeOf(headers)}://${hostOf(head, peer, headers)}${prefix.replace(/\/+$/, '')}`;
      return {
        base,
        basePath: pathOf(base),
        client: forwardedClient(peer.address, headers['x-forwarded-for'], isTrusted),
      };
    },
    hostProblem(head, peer) {
      if (trustedProxies.length === 0) return checkHost(head, undefined);
      return checkHost(head, forwardedHost(forwardedBy(peer, head)));
    },
    countedAs({ address }) {
      if (isTrusted(address)) return null;
      return isIP(address) === 6 ? customerNetwork(address) : address;
    },
  };
}

/** Without a proxy only pages and WSDL need the base URL, so calls do not compute it. */
class DirectAddress {
  readonly basePath = '';
  readonly client: string;
  readonly #head: RequestHead;
  readonly #peer: Peer;

  constructor(head: RequestHead, peer: Peer) {
    this.#head = head;
    this.#peer = peer;
    this.client = peer.address;
  }

  get base(): string {
    return `http://${hostOf(this.#head, this.#peer, {})}`;
  }
}

type Headers = RequestHead['headers'];

const PREFIX = /^\/[\w./~-]*$/;

const safe = (text: string | undefined, pattern: RegExp): string | undefined =>
  text !== undefined && pattern.test(text) ? text : undefined;

const firstOf = (field: string | undefined): string | undefined => field?.split(',', 1)[0]?.trim();

const schemeOf = (headers: Headers): string =>
  firstOf(headers['x-forwarded-proto'])?.toLowerCase() === 'https' ? 'https' : 'http';

const forwardedHost = (headers: Headers): string | undefined => safe(firstOf(headers['x-forwarded-host']), HOST);

/** Without a Host (HTTP/1.0), or with one that is no URL host: the local address of the socket. */
function hostOf({ headers, target }: RequestHead, { socket }: Peer, forwarded: Headers): string {
  const given = forwardedHost(forwarded) ?? safe(targetHost(target) ?? headers.host, HOST);
  if (given && URL.canParse(`http://${given}`)) return given.replace(/:$/, '');
  const address = plainAddress(socket.localAddress ?? 'localhost');
  return `${isIP(address) === 6 ? `[${address}]` : address}:${socket.localPort}`;
}

const pathOf = (base: string): string => base.replace(/^https?:\/\/[^/]*/, '');
