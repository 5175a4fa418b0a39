import type { HttpOutcome } from '../../base/http-client.ts';
import type { MessageRequest } from './form.ts';
import { jsonOf, textOf } from './sources.ts';
import { xmlReader } from './xml.ts';

/** A token that the provider gives for a while: it is asked for once, and again when it ends. */
export interface Tokens {
  /** The Authorization of a message, or why there is none. Nothing has been sent of the message. */
  authorization(): Promise<{ readonly value: string } | { readonly fault: string }>;
  /** The provider did not accept this one. */
  forget(value: string): void;
}

export type TokenAuth = Extract<NonNullable<MessageRequest['auth']>, { kind: 'token' }>;

const LIFE_MS = 10 * 60_000;
/** A token is renewed so long before its end. */
const MARGIN_MS = 30_000;

export function createTokens(auth: TokenAuth, now: () => number, ask: () => Promise<HttpOutcome>): Tokens {
  let known: { readonly value: string; readonly until: number } | undefined;
  let asking: Promise<{ value: string } | { fault: string }> | undefined;

  async function renewed(): Promise<{ value: string } | { fault: string }> {
    const outcome = await ask();
    if (outcome.kind !== 'answered') return { fault: `no token: ${outcome.reason}` };
    const { status, headers, body } = outcome;
    const header = (name: string) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value[0] : value;
    };
    const from = { status, header, json: jsonOf(body), xml: xmlReader(body), body, setting: () => undefined };
    const token = textOf(auth.token, from);
    const { expect = status >= 200 && status < 300 ? status : 200 } = auth.request;
    if (status !== expect || token === undefined) return { fault: `no token: HTTP ${status}` };
    const seconds = Number(textOf(auth.expiresSeconds, from) ?? Number.NaN);
    const minutes = Number(textOf(auth.expiresMinutes, from) ?? Number.NaN);
    const lifeMs = seconds > 0 ? seconds * 1_000 : minutes > 0 ? minutes * 60_000 : LIFE_MS;
    const value = auth.send.replace('{token}', () => token);
    known = { value, until: now() + Math.max(lifeMs - MARGIN_MS, lifeMs / 2) };
    return { value };
  }

  return {
    authorization() {
      if (known && now() < known.until) return Promise.resolve({ value: known.value });
      asking ??= renewed().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget(value) {
      if (known?.value === value) known = undefined;
    },
  };
}
