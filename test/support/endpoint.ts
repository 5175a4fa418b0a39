import { contract } from '../../src/asmx/contract/contract.ts';
import { type Dialect, NO_DIALECT } from '../../src/asmx/dialect/dialect.ts';
import { createEndpoint } from '../../src/asmx/endpoint.ts';
import type { Call } from '../../src/asmx/protocols/protocol.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Request } from '../../src/base/exchange.ts';
import { LIMITS } from './limits.ts';
import { NAMESPACE } from './protocols.ts';
import { type Answer, textOf } from './service.ts';

/** An endpoint with operations of the test, without domain and database. */
export interface TestEndpoint {
  send(request: Partial<Request> & { bytes?: string | Uint8Array }): Promise<Answer>;
  /** The call that a request makes; the response of a request that makes none. */
  receive(request: Partial<Request> & { bytes?: string | Uint8Array }): Promise<Call | Answer>;
  readonly reported: { message: string; reference: string; cause: unknown }[];
}

export const NOW = Date.UTC(2026, 10, 15, 12);

export function createTestEndpoint(
  operations: (call: Call) => Promise<unknown> = async () => [],
  zone = 'UTC',
  dialect: Dialect = NO_DIALECT,
): TestEndpoint {
  const reported: TestEndpoint['reported'] = [];
  let called: Call | undefined;
  const endpoint = createEndpoint({
    clock: systemClock,
    limits: LIMITS,
    contract,
    namespace: dialect.namespace ?? NAMESPACE,
    dialect,
    dates: () => ({ now: NOW, zone }),
    operations: async (call) => {
      called = call;
      return { value: await operations(call), account: undefined };
    },
    report: ({ message, details }, reference) => void reported.push({ message, reference, cause: details.cause }),
  });
  const send: TestEndpoint['send'] = async ({ bytes = '', ...given }) => {
    const reply = await endpoint({
      method: 'GET',
      path: '/',
      query: '',
      headers: {},
      base: 'http://127.0.0.1:18080',
      client: '192.0.2.1',
      body: async () => Buffer.from(bytes),
      ...given,
    });
    return { ...reply, text: await textOf(reply) };
  };
  return {
    send,
    reported,
    async receive(request) {
      called = undefined;
      const answer = await send(request);
      return called ?? answer;
    },
  };
}
