import { encodePart, splitText } from '../../sms/parts.ts';
import type { Trial, TrialInput } from '../connector.ts';
import { verdictOf } from './answers.ts';
import { callbackUrlOf } from './callback-url.ts';
import type { HttpConfig } from './config.ts';
import type { ProviderFile, Result } from './form.ts';
import { buildRequest, messageValues } from './request.ts';

/** The request that a message would make, with masked secrets, and what an answer to it means. */

const MASK = '***';
const ATTEMPT_ID = '0123456789abcdef0123456789abcdef';

export function tryOut(name: string, config: HttpConfig, file: ProviderFile, given: TrialInput, now: number): Trial {
  const { recipient, sender, text, answer } = given;
  const { auth } = file.request;
  const masked = { ...config, secrets: Object.fromEntries(Object.keys(config.secrets).map((own) => [own, MASK])) };
  const { encoding } = splitText(text);
  const part = {
    attemptId: ATTEMPT_ID,
    sender,
    recipient,
    body: encodePart(text, encoding),
    text,
    encoding,
    udh: null,
    priority: 1,
    validUntil: null,
  };
  const values = messageValues(part, {
    ...masked,
    now,
    defaultSender: config.defaultSender,
    callbackUrl: (is) => callbackUrlOf(name, masked, file, is),
  });
  const authorization = auth?.kind === 'basic' ? `Basic ${MASK}` : auth?.send.replace('{token}', MASK);
  return { request: buildRequest(file.request, values, authorization), answer: answer ? meaningOf(answer) : null };

  function meaningOf({ status, body }: NonNullable<TrialInput['answer']>): NonNullable<Trial['answer']> {
    const context = { attemptId: ATTEMPT_ID, setting: (own: string) => config.settings[own] };
    const verdict = verdictOf(file, { status, headers: {}, body: Buffer.from(body, 'utf8') }, context);
    const { result, gatewayId, reason, rule } = verdict;
    const by = rule === null ? 'No rule fits, so the status alone decides' : `The rule ${rule} fits`;
    return { result, gatewayId, reason, says: `${by}: ${SAYS[result]}` };
  }
}

const SAYS: Readonly<Record<Result, string>> = {
  accepted: 'the provider has the message.',
  permanent: 'the message is REJECTED.',
  temporary: 'the message waits, and is tried again.',
  throttled: 'the message waits, and the connector slows down.',
  down: 'the connector is down, and its messages wait.',
  unknown: 'nobody knows whether the provider has the message, and the policy of the account decides.',
};
