import fc from 'fast-check';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation, ParameterType } from '../../src/asmx/contract/types.ts';
import { type Arguments, PROTOCOLS, requestOf } from '../support/protocols.ts';
import { ACME, GLOBEX } from '../support/service.ts';
import { instant, int, long, xmlText } from './arbitraries.ts';

/** Requests: right ones, and right ones that were damaged. */
export interface AnyRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One character a byte, so that a counterexample can be read. */
  readonly body: string;
}

const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries(operations as Record<string, Operation>).map(([name, row]) => ({ group, name, row })),
);
export const operation = fc.constantFrom(...OPERATIONS);
const userId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(ACME, GLOBEX) },
  { weight: 1, arbitrary: xmlText(200) },
);

function argument(name: string, type: ParameterType): fc.Arbitrary<Arguments[string]> {
  if (name === 'user_id') return userId;
  if (type.kind === 'list') return fc.array(fc.oneof(long.map(String), xmlText(20)), { maxLength: 5 });
  if (type.name === 'int') return fc.oneof(int, fc.nat({ max: 20 }));
  if (type.name === 'long') return long;
  if (type.name === 'dateTime') return instant.map((at) => new Date(at).toISOString());
  const known = ['1001', '2002', '3001', '101', '1', '+27825550201', '9'.repeat(5_000)];
  return fc.oneof(xmlText(), fc.constantFrom(...known), long.map(String));
}

/** A call with arguments of the right types. */
export const rightCall = operation.chain(({ group, name, row }) =>
  fc
    .tuple(
      fc.constantFrom(...PROTOCOLS),
      fc.record(Object.fromEntries(Object.entries(row.parameters).map(([each, type]) => [each, argument(each, type)]))),
    )
    .map(([protocol, args]) => ({ protocol, group, operation: name, args: args as Arguments })),
);

export const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
export const utf8 = (text: string): string => latin1(Buffer.from(text));

const sent = ({ bytes, ...request }: ReturnType<typeof requestOf>): AnyRequest => ({
  ...request,
  headers: request.headers as Record<string, string>,
  body: utf8(bytes),
});

const DICTIONARY = ['<', '>', '&', '"', '<!--', '-->', '<![CDATA[', ']]>', '<?', '?>', '<!DOCTYPE a>', '&#0;', '&lol;'];
const splinter = fc.oneof(
  fc.uint8Array({ maxLength: 4 }),
  fc.constantFrom(...DICTIONARY, '\uFEFF', '\0', '%', '&', '=', '%u', ' xmlns=""').map((text) => Buffer.from(text)),
);
const damage = fc.record({
  at: fc.nat({ max: 999 }),
  length: fc.nat({ max: 60 }),
  kind: fc.constantFrom('flip', 'cut', 'double', 'put', 'end'),
  bits: fc.integer({ min: 1, max: 255 }),
  splinter,
});
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

function damaged(bytes: Uint8Array, { at, length, kind, bits, splinter: piece }: Damage): Uint8Array {
  const from = Math.floor((at / 1000) * bytes.length);
  const [before, middle, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + length),
    bytes.subarray(from + length),
  ];
  switch (kind) {
    case 'flip':
      return bytes.map((byte, index) => (index === from ? byte ^ bits : byte));
    case 'cut':
      return Buffer.concat([before, after]);
    case 'double':
      return Buffer.concat([before, middle, middle, after]);
    case 'put':
      return Buffer.concat([before, piece, middle, after]);
    default:
      return before;
  }
}

/** A right request with bytes of its body or its query flipped, cut, doubled or put in. */
export const damagedCall: fc.Arbitrary<AnyRequest> = fc
  .tuple(rightCall, fc.array(damage, { minLength: 1, maxLength: 4 }))
  .map(([{ protocol, group, operation: name, args }, damages]) => {
    const request = sent(requestOf(protocol, group, name, args));
    const hurt = (text: string) => latin1(damages.reduce(damaged, Buffer.from(text, 'latin1')));
    return { ...request, query: hurt(request.query), body: hurt(request.body) };
  });
