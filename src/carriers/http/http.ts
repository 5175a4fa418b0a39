import type { HttpOutcome } from '../../base/http-client.ts';
import type { Repeat } from '../../base/repeat.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import { createAdaptiveRate } from '../adaptive-rate.ts';
import { createCarrierRequests, unansweredResult } from '../carrier-requests.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from '../connector.ts';
import type { ConnectorDependencies } from '../dependencies.ts';
import { submitWithin } from '../submit-within.ts';
import { submitResultOf, verdictOf } from './answers.ts';
import { callbackUrlOf } from './callback-url.ts';
import { createProviderCallbacks } from './callbacks.ts';
import { fileOf, type HttpConfig } from './config.ts';
import type { ProviderFile, SideRequest } from './form.ts';
import { createHide, kept } from './hidden.ts';
import { createPolling } from './poll.ts';
import { basicOf, buildRequest, messageValues, namedValues, Unfit } from './request.ts';
import { parseTemplate, render } from './template.ts';
import { createTokens } from './token.ts';
import { tryOut } from './trial.ts';

/** A connector to an HTTP provider that a file describes. See docs/PROVIDERS.md. */

const ANSWER_BYTES_MAX = 64 * 1024;
/** A request that its provider takes once is repeated after this time without an answer. */
const REPEAT_MS = 30_000;
/** How long a submission may wait for its turn. */
const TURN_MS = 10_000;
/** Less than the lease of a claimed message: afterwards somebody else may decide about it. */
const SUBMIT_MS_MAX = 100_000;
/** Answers that no rule reads often come in masses, and one of them is enough. */
const UNREAD_EVERY_MS = 10_000;

export function createHttp(name: string, config: HttpConfig, deps: ConnectorDependencies): Connector {
  const { clock } = deps;
  const file = fileOf(config);
  const { window, timeoutMs, ratePerSecond = null } = file.limits;
  const requests = createCarrierRequests({ ...config, timeoutMs, answerBytesMax: ANSWER_BYTES_MAX }, clock);
  const unanswered = createSemaphore(() => window);
  const rate = createAdaptiveRate(clock, ratePerSecond);
  const hide = createHide(Object.values(config.secrets));
  const unread = createUnread(name, deps);
  const authorization = createAuthorization(file, config, clock.now, ask);
  let events: CarrierEvents | undefined;
  let polling: Repeat | undefined;

  /** A request beside the messages. */
  async function ask(side: SideRequest): Promise<HttpOutcome> {
    const values = namedValues(config);
    const own = typeof side.auth === 'object' ? basicHeader(side.auth, config) : undefined;
    const given = side.auth === 'request' ? await authorization.get() : { value: own };
    if ('fault' in given) return { kind: 'unsent', reason: given.fault };
    const { url, ...request } = buildRequest(side, values, given.value);
    return requests.send(new URL(url), request);
  }

  async function post(part: Submission, given: string | undefined, signal: AbortSignal): Promise<SubmitResult> {
    const built = builtFor(part, given);
    if ('kind' in built) return built;
    const { url, ...request } = built;
    const outcome = await requests.send(new URL(url), request, signal);
    if (outcome.kind !== 'answered') return unansweredResult(outcome, signal.aborted);
    const { status, body } = outcome;
    const context = { attemptId: part.attemptId, setting: (own: string) => config.settings[own] };
    const verdict = verdictOf(file, outcome, context);
    if (verdict.rule === null) unread(kept(`HTTP ${status}`, body, hide, part.text));
    if (status === 401) authorization.refused(given);
    const result = submitResultOf(verdict, status, hide);
    if (verdict.result === 'throttled' && result.kind === 'temporary') rate.slow(result.retryAfterMs);
    return result;
  }

  function builtFor(part: Submission, given: string | undefined) {
    const callbackUrl = (is: 'receipt' | 'incoming') => callbackUrlOf(name, config, file, is);
    try {
      const { defaultSender } = config;
      const values = messageValues(part, { ...config, now: clock.now(), defaultSender, callbackUrl });
      return buildRequest(file.request, values, given);
    } catch (thrown) {
      if (!(thrown instanceof Unfit)) throw thrown;
      return { kind: 'permanent', reason: thrown.message, isOurs: true } as const;
    }
  }

  /** A token that was refused is asked for anew, once: such a request was certainly not taken. */
  async function submitOnce(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    let given: { readonly value: string | undefined } | { readonly fault: string } = { value: undefined };
    const inTurn = async (): Promise<SubmitResult | null> => {
      await rate.wait(signal);
      given = await authorization.get();
      return 'fault' in given ? { kind: 'temporary', reason: given.fault, connectorDown: true } : null;
    };
    const send = () => post(part, 'value' in given ? given.value : undefined, signal);
    const result = await submitWithin(unanswered, part, signal, send, inTurn);
    const isRefused = result.kind === 'temporary' && 'value' in given && authorization.wasRefused(given.value);
    return isRefused ? submitWithin(unanswered, part, signal, send, inTurn) : result;
  }

  async function submit(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const refusal = refusalOf(part, file);
    if (refusal) return refusal;
    const first = await submitOnce(part, signal);
    if (first.kind !== 'unknown-outcome' || !file.repeat || signal.aborted) return first;
    await clock.sleep(REPEAT_MS, signal);
    // Only an acceptance proves something of the first request.
    const second = signal.aborted ? first : await submitOnce(part, signal);
    return second.kind === 'accepted' ? second : first;
  }

  return {
    name,
    kind: 'http',
    partsAs: file.parts === 'whole' ? 'whole' : 'udh8',
    sendsReceipts: file.receipts !== 'none',
    windowTotal: window,
    submitTimeoutMs: Math.min(
      timeoutMs * (file.repeat ? 2 : 1) + (file.repeat ? REPEAT_MS : 0) + TURN_MS,
      SUBMIT_MS_MAX,
    ),
    async start(given) {
      events = given;
      const { poll } = file;
      if (!poll) return;
      const setting = (own: string) => config.settings[own];
      const failed = (thrown: unknown) => deps.log?.warn({ connector: name, err: thrown }, 'http: a poll failed');
      const keep = (head: string, body: Uint8Array) => unread(kept(head, body, hide));
      polling = createPolling({
        name,
        poll,
        clock,
        setting,
        ask: () => ask(poll.request),
        events: given,
        failed,
        unread: keep,
      });
      polling.start();
    },
    submit: (parts, signal) => Promise.all(parts.map((part) => submit(part, signal))),
    async stop() {
      await polling?.stop();
      requests.close();
      events = undefined;
    },
    ...(file.callbacks.length > 0 && {
      handle: createProviderCallbacks({
        name,
        file,
        config,
        now: clock.now,
        events: () => events,
        unread: (head, body) => unread(kept(head, body, hide)),
      }),
    }),
    trial: (given) => tryOut(name, config, file, given, clock.now()),
    probe: (note) => probe(name, config, file, { ask, reach: requests.reach, note }),
  };
}

function refusalOf(part: Submission, { limits: { textMax } }: ProviderFile): SubmitResult | null {
  if (textMax === undefined || part.text.length <= textMax) return null;
  const reason = `the text has more than the ${textMax} characters that the provider takes`;
  return { kind: 'permanent', reason, isOurs: true };
}

type BasicAuth = { readonly user: string; readonly password: string };

const basicHeader = ({ user, password }: BasicAuth, config: HttpConfig): string => {
  const values = namedValues(config);
  const of = (template: string) => render(parseTemplate(template), values) ?? '';
  return basicOf(of(user), of(password));
};

/** The Authorization of messages, if the file has an `auth`. */
function createAuthorization(
  { request: { auth } }: ProviderFile,
  config: HttpConfig,
  now: () => number,
  ask: (side: SideRequest) => Promise<HttpOutcome>,
) {
  const tokens = auth?.kind === 'token' ? createTokens(auth, now, () => ask(auth.request)) : undefined;
  const basic = auth?.kind === 'basic' ? basicHeader(auth, config) : undefined;
  let refused: string | undefined;
  return {
    get: (): Promise<{ readonly value: string | undefined } | { readonly fault: string }> =>
      tokens ? tokens.authorization() : Promise.resolve({ value: basic }),
    refused(value: string | undefined): void {
      if (!tokens || value === undefined) return;
      tokens.forget(value);
      refused = value;
    },
    wasRefused: (value: string | undefined): boolean =>
      tokens !== undefined && value !== undefined && value === refused,
  };
}

/** Keeps one answer that nothing reads, at most every 10 seconds. */
function createUnread(name: string, { clock, unread }: ConnectorDependencies): (answer: string) => void {
  let keptAt = Number.NEGATIVE_INFINITY;
  return (answer) => {
    if (clock.monotonic() - keptAt < UNREAD_EVERY_MS) return;
    keptAt = clock.monotonic();
    unread?.(name, answer);
  };
}

interface ProbeParts {
  readonly ask: (side: SideRequest) => Promise<HttpOutcome>;
  readonly reach: (url: URL) => Promise<string | null>;
  readonly note: ((sentence: string) => void) | undefined;
}

async function probe(
  name: string,
  config: HttpConfig,
  file: ProviderFile,
  { ask, reach, note }: ProbeParts,
): Promise<string[]> {
  for (const is of ['receipt', 'incoming'] as const) {
    const shown = { ...config, secrets: { callbackSecret: '***' } };
    const url = callbackUrlOf(name, shown, file, is);
    if (url !== undefined)
      note?.(`The provider calls ${url} with ${is === 'receipt' ? 'receipts' : 'incoming messages'}.`);
  }
  if (!file.probe) {
    const values = namedValues(config);
    const { url } = buildRequest({ method: 'GET', url: file.request.url }, (own) => values(own) ?? 'x', undefined);
    const fault = await reach(new URL(url));
    return fault === null ? [] : [`The provider cannot be reached: ${fault}.`];
  }
  const outcome = await ask(file.probe);
  if (outcome.kind !== 'answered') return [`The provider cannot be reached: ${outcome.reason}.`];
  const { expect } = file.probe;
  const { status } = outcome;
  const isExpected = expect === undefined ? status >= 200 && status < 300 : status === expect;
  if (isExpected) return [];
  return [
    `The provider answers the probe with HTTP ${status}, and ${expect ?? '2xx'} is expected. Compare the settings and the secrets.`,
  ];
}
