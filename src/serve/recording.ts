import { contract } from '../asmx/contract/contract.ts';
import type { EndpointSettings } from '../asmx/endpoint.ts';
import type { Handler, Request } from '../base/exchange.ts';
import { createExchangeRecorder, type ExchangeRecorder } from './telemetry/exchange-recorder.ts';
import type { Log } from './telemetry/log.ts';

export type Recording = ReturnType<typeof createRecording>;

/** Records exchanges to a file if one is given. */
export function createRecording({ now, log }: { readonly now: () => number; readonly log: Log }) {
  /** The user_ids of successful calls, which the recorder masks. */
  const userIds = new WeakMap<Request, string>();
  let recorder: ExchangeRecorder | undefined;
  return {
    get recorder() {
      return recorder;
    },
    observe({ request, kind, call }: Parameters<NonNullable<EndpointSettings['observe']>>[0]): void {
      const userId = call?.arguments.user_id;
      if (recorder && kind === 'ok' && typeof userId === 'string') userIds.set(request, userId);
    },
    start(file: string | undefined, handle: Handler): Handler {
      if (file === undefined) return handle;
      recorder = createExchangeRecorder({
        file,
        now,
        onFailed: (err) => log.error({ err }, 'the trace could not be written'),
        userIdOf: (request) => userIds.get(request),
        words: contractNames(),
      });
      return recorder.wrap(handle);
    },
  };
}

/** The names of groups, operations, parameters and results. */
function contractNames(): string[] {
  const operations = Object.values(contract).flatMap((group) => Object.entries(group));
  const parameters = operations.flatMap(([, { parameters }]) => Object.keys(parameters));
  return [
    ...Object.keys(contract),
    ...operations.flatMap(([name]) => [name, `${name}Response`]),
    ...parameters,
    'string',
  ];
}
