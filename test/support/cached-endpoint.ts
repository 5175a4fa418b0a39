import { contract } from '../../src/asmx/contract/contract.ts';
import { createEndpoint, type Exchange } from '../../src/asmx/endpoint.ts';
import type { Call } from '../../src/asmx/protocols/protocol.ts';
import { ResponseCache } from '../../src/asmx/response-cache.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Reply, Request } from '../../src/base/exchange.ts';
import { LIMITS } from './limits.ts';
import { NAMESPACE, type Phrased, requestOf } from './protocols.ts';
import { type Answer, textOf } from './service.ts';

/** An endpoint with a response cache. The operations of the test record their calls. */
export interface CachedEndpoint {
  readonly asked: Call[];
  readonly observed: Exchange[];
  /** The version of each account; the account of a call is its user_id. */
  readonly versions: Map<string, number | undefined>;
  send(request: Sent): Promise<Answer>;
}
/** A request as a client phrases it, with bytes that need not be text. */
export type Sent = Omit<Phrased, 'bytes'> & { readonly bytes: string | Uint8Array };

/** The account of a call, with its version at the start of the call. */
export interface FakeAccount {
  readonly userId: string;
  readonly version: number | undefined;
}

export interface CachedEndpointSettings {
  readonly answer?: (call: Call) => unknown;
  readonly bytesMax?: number;
  /** Called during each call, for instance to change its account. */
  readonly meanwhile?: (versions: CachedEndpoint['versions'], account: string) => void;
}

export function createCachedEndpoint({
  answer = contactOf,
  bytesMax = 2 ** 20,
  meanwhile,
}: CachedEndpointSettings = {}): CachedEndpoint {
  const asked: Call[] = [];
  const observed: Exchange[] = [];
  const versions: CachedEndpoint['versions'] = new Map();
  const versionOf = (userId: string) => (versions.has(userId) ? versions.get(userId) : 1);
  const isUnchanged = (account: unknown) => {
    const { userId, version } = account as FakeAccount;
    return version !== undefined && versionOf(userId) === version;
  };
  const endpoint = createEndpoint({
    clock: systemClock,
    limits: LIMITS,
    contract,
    namespace: NAMESPACE,
    dates: () => ({ now: Date.UTC(2026, 10, 15, 12), zone: 'UTC' }),
    operations: async (call) => {
      asked.push(call);
      const userId = String(call.arguments.user_id);
      const account: FakeAccount = { userId, version: versionOf(userId) };
      const value = await answer(call);
      meanwhile?.(versions, userId);
      return { value, account };
    },
    responseCache: new ResponseCache({ contract, bytesMax, isUnchanged }),
    report: () => {},
    observe: (exchange) => void observed.push(exchange),
  });
  return {
    asked,
    observed,
    versions,
    async send({ bytes, ...phrased }) {
      const body = async () => Buffer.from(bytes as Uint8Array);
      const request: Request = { ...phrased, base: 'http://127.0.0.1:18080', client: '192.0.2.1', body };
      const reply: Reply = await endpoint(request);
      return { ...reply, text: await textOf(reply) };
    },
  };
}

/** A contact with the requested number: the response shows what was decoded. */
export const contactOf = ({ arguments: { mobile = null } }: Call) => ({
  name: mobile,
  surname: null,
  id: '1',
  mobile,
  groupid: null,
});

export const lookup = (protocol: 'soap11' | 'soap12' | 'get' | 'post', mobile = '1', user_id = 'one') =>
  requestOf(protocol, 'account', 'LookupContact', { user_id, mobile });
