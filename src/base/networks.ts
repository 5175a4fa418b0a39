import { BlockList, isIP } from 'node:net';

/** Addresses and networks as people write them: 10.0.0.1, 10.0.0.0/8, 2001:db8::/32. */

/** The entries of a comma-separated list. Throws an Error that says what was expected. */
export function readNetworks(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  return items.filter((item) => {
    const [address = '', bits = '0', more] = item.split('/');
    const right = isIP(address) > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (isIP(address) === 6 ? 128 : 32);
    if (item !== '' && (!right || more !== undefined)) throw new Error(EXPECTED);
    return item !== '';
  });
}

const EXPECTED = 'expected addresses or networks such as 10.0.0.1 or 10.0.0.0/8';

/**
 * Like readNetworks, but an empty list is an error, because a restriction that names no network
 * must not allow every network.
 */
export function readSomeNetworks(text: string): string[] {
  const networks = readNetworks(text);
  if (networks.length === 0) throw new Error(EXPECTED);
  return networks;
}

/** Returns a function that tells whether an address is in one of the networks. */
export function networkList(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const type = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, type);
    else list.addSubnet(address, Number(bits), type);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * The network that a provider usually gives to one customer, all of whose addresses one client may
 * use: /24 of IPv4, /64 of IPv6. Returns '' for a text that is not an address.
 */
export function customerNetwork(address: string): string {
  if (isIP(address) === 4) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  if (isIP(address) !== 6) return '';
  const groups = groupsOf(address);
  const [, , , , , mark, high = 0, low = 0] = groups;
  const isMapped = mark === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (isMapped) return `${high >> 8}.${high & 255}.${low >> 8}.0/24`; // RFC 4291 §2.5.5.2
  return `${hex(groups[0])}:${hex(groups[1])}:${hex(groups[2])}:${hex(groups[3])}::/64`;
}

const hex = (number = 0): string => number.toString(16);

/** The eight numbers of an IPv6 address, in whatever notation it is written. */
function groupsOf(address: string): number[] {
  let text = address.includes('%') ? address.slice(0, address.indexOf('%')) : address;
  if (text.includes('.')) {
    const at = text.lastIndexOf(':') + 1;
    const [a = 0, b = 0, c = 0, d = 0] = text.slice(at).split('.').map(Number);
    text = `${text.slice(0, at)}${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  }
  const gap = text.indexOf('::');
  const head = numbersOf(gap < 0 ? text : text.slice(0, gap));
  const tail = numbersOf(gap < 0 ? '' : text.slice(gap + 2));
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

const numbersOf = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

/** The first address of X-Forwarded-For, read from the right, that is not a trusted proxy. */
export function forwardedClient(
  peer: string,
  field: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  let client = plainAddress(peer);
  if (field === undefined || !isTrusted(client)) return client;
  const hops = field.split(',').map((hop) => plainAddress(hop.trim()));
  for (const hop of hops.reverse()) {
    if (!isTrusted(client) || isIP(hop) === 0) break;
    client = hop;
  }
  return client;
}

/** An IPv4-mapped IPv6 address as IPv4 (RFC 4291 §2.5.5.2). */
export const plainAddress = (address: string): string =>
  address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;

/** A host name or address with or without a port: RFC 3986 §3.2.2 without percent-encoding. */
export const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** The hosts of a comma-separated list. Throws an Error that says what was expected. */
export function readHosts(text: string): string[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => {
    if (name !== '' && (!HOST.test(name) || name.endsWith(':'))) {
      throw new Error('expected names such as sms.example or sms.example:8443');
    }
    return name !== '';
  });
}
