import { HOST } from '../../networks.ts';
import { Problem } from '../../problem.ts';
import type { Head } from './request-head.ts';

/** The Host of a request, which names the service it is meant for. */

/** The authority of the absolute form, which counts where there is one, and Host does not (RFC 9112 §3.2.2). */
export const targetHost = (url: string): string | undefined =>
  url.startsWith('/') ? undefined : /^https?:\/\/([^/?]*)/i.exec(url)?.[1];

/** What is wrong with the Host of a request, if anything is (RFC 9112 §3.2). */
export type HostCheck = (head: Head, forwarded: string | undefined) => Problem | undefined;

/** Probes of load balancers and supervisors know a process by its address, not by our names. */
export const isProbe = ({ target }: Head): boolean => target.startsWith('/health/');

/** `hosts` are ours; any is where there are none. One without a port stands for every port. */
export function createHostCheck(hosts: readonly string[]): HostCheck {
  const ours = new Set(hosts);
  const isOurs = (host: string) => ours.has(host) || ours.has(host.replace(/:\d*$/, ''));
  return (head, forwarded) => {
    const { target: address, version, hosts: count } = head;
    const own = head.headers.host;
    if (own === undefined && version !== '1.0') return refused('A request of HTTP/1.1 has a Host.');
    if (count > 1) return refused('A request has one Host.');
    const target = targetHost(address);
    // An empty one is allowed: the client knows no name (RFC 9110 §7.2).
    if ((own && !HOST.test(own)) || (target !== undefined && !HOST.test(target))) {
      return refused('The Host of this request is no name of a machine with a port or without.');
    }
    if (ours.size === 0 || isProbe(head) || isOurs((forwarded ?? target ?? own ?? '').toLowerCase())) return undefined;
    return refused('There is no service under the Host of this request.');
  };
}

/** Who mixes up hosts may mix up requests too: the connection is not used any further. */
const refused = (message: string): Problem => new Problem('malformed', message, { closes: true });
