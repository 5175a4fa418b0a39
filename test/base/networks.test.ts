import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { customerNetwork, networkList, readNetworks, readSomeNetworks } from '../../src/base/networks.ts';
import { createRandom, SEED } from '../support/random.ts';

/** Addresses and networks in all ways in which they are written. */
describe('the customer network of an address: /24 of IPv4, /64 of IPv6', () => {
  const CASES: readonly (readonly [network: string, ...addresses: string[]])[] = [
    ['192.0.2.0/24', '192.0.2.0', '192.0.2.1', '192.0.2.255', '::ffff:192.0.2.1', '::FFFF:192.0.2.77'],
    ['192.0.2.0/24', '::ffff:c000:201', '0:0:0:0:0:ffff:192.0.2.1', '0000:0000:0000:0000:0000:FFFF:C000:02FF'],
    ['0.0.0.0/24', '0.0.0.0', '0.0.0.9', '::ffff:0:0', '::ffff:0.0.0.1'],
    ['255.255.255.0/24', '255.255.255.255', '::ffff:ffff:ffff'],
    ['2001:db8:0:1::/64', '2001:db8:0:1::', '2001:db8:0:1::1', '2001:DB8:0:1::ffff', '2001:0db8:0000:0001::1'],
    ['2001:db8:0:1::/64', '2001:db8:0:1:2:3:4:5', '2001:db8::1:0:0:0:1', '2001:db8:0:1:0:0:192.0.2.1'],
    ['2001:db8:0:0::/64', '2001:db8::', '2001:db8::1', '2001:db8::1:2:3:4', '2001:db8::192.0.2.1', '2001:db8::1%eth0'],
    ['2001:0:0:0::/64', '2001::', '2001::1', '2001::1:2:3:4', '2001:0:0:0::5'],
    ['1:2:3:4::/64', '1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7::', '1:2:3:4::8', '1:2:3:4:5:6:192.0.2.1', '1:2:3:4::%1'],
    ['1:0:2:3::/64', '1::2:3:4:5:6:7', '1::2:3:4:5:192.0.2.1', '1:0:2:3::'],
    ['0:2:3:4::/64', '::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['fe80:0:0:0::/64', 'fe80::1', 'fe80::1%eth0', 'FE80::1%2', 'fe80::%eth0.100', 'fe80:0:0:0:1:2:3:4%lo'],
    ['0:0:0:0::/64', '::', '::1', '::ffff', '::192.0.2.1', '::fffe:192.0.2.1', '::1:ffff:192.0.2.1'],
    ['64:ff9b:0:0::/64', '64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['0:0:0:1::/64', '0:0:0:1:0:ffff:c000:201', '::1:0:ffff:c000:201'],
    ['', '', 'unknown', '192.0.2', '192.0.2.1.1', '192.0.2.256', '1.2.3.4/24', ' 192.0.2.1', '192.0.2.1:80'],
    ['', ':', ':::', '1::2::3', '12345::', 'g::', '[::1]', '::1/64', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '_hidden'],
  ];
  for (const [network, ...addresses] of CASES) {
    for (const address of addresses) {
      test(`the customer network of ${JSON.stringify(address)} is ${network || 'none'}`, () => {
        assert.equal(customerNetwork(address), network);
        if (network !== '') assert.ok(networkList([network])(address), 'it is not in it');
      });
    }
  }

  test('an IPv6 address is in its own customer network in every notation', (t) => {
    t.diagnostic(`SEED=${SEED}`);
    const random = createRandom('addresses');
    for (let round = 0; round < 2_000; round++) {
      const groups = Array.from({ length: 8 }, () => (random.chance(0.5) ? 0 : random.below(65_536)));
      const network = customerNetwork(notations(groups)[0] as string);
      for (const address of notations(groups)) {
        assert.equal(customerNetwork(address), network, address);
        assert.ok(networkList([network])(address), address);
      }
    }
  });

  /** Full, with leading zeros, in capitals, with an IPv4 end, and with each run of zeros left out. */
  function notations(groups: readonly number[]): string[] {
    const short = groups.map((group) => group.toString(16));
    const [high = 0, low = 0] = groups.slice(6);
    const dotted = [high >> 8, high & 255, low >> 8, low & 255].join('.');
    const texts = [short.join(':'), groups.map((group) => group.toString(16).padStart(4, '0')).join(':')];
    texts.push(texts[0]?.toUpperCase() as string, [...short.slice(0, 6), dotted].join(':'));
    for (let from = 0; from < 8; from++) {
      for (let to = from + 1; to <= 8 && groups[to - 1] === 0; to++) {
        const head = short.slice(0, from).join(':');
        texts.push(`${head}::${short.slice(to).join(':')}`);
        if (to <= 6) texts.push(`${head}::${[...short.slice(to, 6), dotted].join(':')}`);
      }
    }
    return [...texts, `${texts[0]}%eth0`];
  }
});

describe('lists of networks', () => {
  test('lists of networks may have blanks and empty entries', () => {
    assert.deepEqual(readNetworks(' 10.0.0.0/8 ,192.0.2.7,, 2001:db8::/32 , '), [
      '10.0.0.0/8',
      '192.0.2.7',
      '2001:db8::/32',
    ]);
    for (const nothing of ['', ' ', ',', ' , ,']) assert.deepEqual(readNetworks(nothing), []);
  });

  const WRONG = [
    ...['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '10.0.0.1.1', '10.0.0.0/0x8', '/8'],
    ...[
      '2001:db8::/129',
      '2001:db8::/1000',
      'sms.example',
      'any',
      '*',
      '10.0.0.1 10.0.0.2',
      '10.0.0.1;10.0.0.2',
      '::g',
    ],
    ...['10.0.0.1-10.0.0.9', '10.0.0.*', '[::1]', '10.0.0.1:80', 'http://10.0.0.1', '١٠.0.0.1', '010.0.0.1'],
  ];
  for (const wrong of WRONG) {
    test(`${JSON.stringify(wrong)} is refused, also among others`, () => {
      const message = 'expected addresses or networks such as 10.0.0.1 or 10.0.0.0/8';
      for (const text of [wrong, `10.0.0.1,${wrong}`, `${wrong},::1`]) {
        assert.throws(() => readNetworks(text), { message });
        assert.throws(() => readSomeNetworks(text), { message });
      }
    });
  }

  test('an empty list of networks is refused where one is required', () => {
    for (const nothing of ['', ' ', ',', ' , ,'])
      assert.throws(() => readSomeNetworks(nothing), { message: /^expected/ });
    assert.deepEqual(readSomeNetworks(' ::1 ,'), ['::1']);
  });

  const MEMBERS: readonly (readonly [list: string, inside: string[], outside: string[]])[] = [
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3', '::ffff:a01:203'], ['9.255.255.255', '11.0.0.0']],
    ['10.1.2.3/8', ['10.0.0.0', '10.200.0.0'], ['11.1.2.3']],
    ['192.0.2.7', ['192.0.2.7', '::ffff:192.0.2.7'], ['192.0.2.6', '192.0.2.8', '::192.0.2.7']],
    ['192.0.2.6/31', ['192.0.2.6', '192.0.2.7'], ['192.0.2.5', '192.0.2.8']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::1', '2001:db8::1']],
    ['::ffff:10.0.0.0/104', ['10.1.2.3', '::ffff:10.1.2.3'], ['11.0.0.1']],
    ['2001:db8::/32', ['2001:db8::', '2001:DB8:ffff::1', '2001:0db8:0:0:0:0:0:1'], ['2001:db9::', '10.0.0.1']],
    ['2001:db8::1', ['2001:db8::1', '2001:db8:0::1', '2001:db8::1%eth0'], ['2001:db8::2']],
    ['fe80::/10', ['fe80::1%eth0', 'febf::1'], ['fec0::1']],
    ['10.0.0.0/8,2001:db8::/32,192.0.2.7', ['10.9.9.9', '2001:db8::9', '192.0.2.7'], ['192.0.2.8', '::1']],
    ['10.0.0.0/8', [], ['', 'unknown', '10.0.0', '10.0.0.0/8', 'localhost']],
  ];
  for (const [list, inside, outside] of MEMBERS) {
    test(`the networks ${list} contain ${inside.join(', ') || 'no address'}, and not ${outside.join(', ')}`, () => {
      const isIn = networkList(readNetworks(list));
      for (const address of inside) assert.equal(isIn(address), true, address);
      for (const address of outside) assert.equal(isIn(address), false, address);
    });
  }

  test('an empty list of networks contains no address', () => {
    assert.equal(networkList([])('127.0.0.1'), false);
  });
});
