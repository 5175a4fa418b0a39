import { ABSOLUTE_MS, type Session } from '../domain/access/sessions.ts';

/** The cookie of a session, and the check where a request comes from. */

/** The site of the console, as the request shows it. */
export interface Site {
  readonly origin: string;
  readonly isSecure: boolean;
  /** Plain HTTP is allowed only on the same machine. */
  readonly isUsable: boolean;
}

export function siteOf(base: string): Site {
  const { origin, protocol, hostname } = new URL(base);
  const isSecure = protocol === 'https:';
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  return { origin, isSecure, isUsable: isSecure || isLoopback };
}

/** Browsers accept the prefix only with Secure, with Path=/ and without Domain. */
const nameOf = ({ isSecure }: Site): string => (isSecure ? '__Host-columba' : 'columba');

export function readCookie(header: string | null, site: Site): string | null {
  const name = nameOf(site);
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

const written = (site: Site, value: string, seconds: number): string =>
  `${nameOf(site)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${site.isSecure ? '; Secure' : ''}`;

export const sessionCookie = (site: Site, secret: string, { owner }: Session): string =>
  written(site, secret, ABSOLUTE_MS[owner.kind] / 1_000);

export const noCookie = (site: Site): string => written(site, '', 0);

/**
 * Whether a request that changes something comes from our own pages. Sec-Fetch-Site cannot be set
 * by a page; browsers without it send Origin with every form.
 */
export function isOwnRequest(header: (name: string) => string | null, { origin }: Site): boolean {
  const site = header('sec-fetch-site');
  if (site !== null) return site === 'same-origin' || site === 'none';
  return header('origin') === origin;
}
