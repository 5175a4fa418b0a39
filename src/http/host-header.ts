import { HOST } from '../base/networks.ts';
import { Problem } from '../base/problem.ts';
import type { RequestHead } from './request-head.ts';

/** The Host of a request (RFC 9112 §3.2). */

/** The authority of the absolute form, which overrides Host (RFC 9112 §3.2.2). */
export const targetHost = (url: string): string | undefined =>
  url.startsWith('/') ? undefined : /^https?:\/\/([^/?]*)/i.exec(url)?.[1];

/** Why the Host of a request is rejected, if it is. */
export type HostCheck = (head: RequestHead, forwarded: string | undefined) => Problem | undefined;

/** Health probes use the address of a process, not its host name. */
export const isProbe = ({ target }: RequestHead): boolean => target.startsWith('/health/');

/** `hosts` are those of this service: all if empty. A host without a port stands for every port. */
export function createHostCheck(hosts: readonly string[]): HostCheck {
  const ours = new Set(hosts);
  const isOurs = (host: string) => ours.has(host) || ours.has(host.replace(/:\d*$/, ''));
  return (head, forwarded) => {
    const { target: address, version, hosts: count } = head;
    const own = head.headers.host;
    if (own === undefined && version !== '1.0') return refused('A request of HTTP/1.1 must have a Host.');
    if (count > 1) return refused('A request must have exactly one Host.');
    const target = targetHost(address);
    // RFC 9110 §7.2 allows an empty Host.
    if ((own && !HOST.test(own)) || (target !== undefined && !HOST.test(target))) {
      return refused('The Host of this request is not a valid name with or without a port.');
    }
    if (ours.size === 0 || isProbe(head) || isOurs((forwarded ?? target ?? own ?? '').toLowerCase())) return undefined;
    return refused('There is no service under the Host of this request.');
  };
}

/** A proxy that mixes up hosts may mix up requests too, so the connection is closed. */
const refused = (message: string): Problem => new Problem('malformed', message, { closes: true });
