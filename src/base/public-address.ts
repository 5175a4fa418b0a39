import { isIP } from 'node:net';
import { networkList } from './networks.ts';

/**
 * Whether an address is on the public internet. A request to a URL that a customer chose must not
 * reach machines that only we can reach (SSRF). The lists are the special-purpose registries of RFC
 * 6890, as IANA maintains them.
 */
const SPECIAL = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Global unicast, without the ranges that contain an IPv4 address or lead to one. */
const GLOBAL = ['2000::/3'];
const SPECIAL_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const isSpecial = networkList(SPECIAL);
const isGlobal = networkList(GLOBAL);
const isSpecial6 = networkList(SPECIAL_6);

export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  if (isIP(plain) === 4) return !isSpecial(plain);
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain) ?? [];
  if (mapped) return !isSpecial(mapped);
  return isIP(plain) === 6 && isGlobal(plain) && !isSpecial6(plain);
}
