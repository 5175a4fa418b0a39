import type { Clock } from '../../base/clock.ts';
import { callHttp, type HttpOutcome, peerOf } from '../../base/http-client.ts';
import { randomBytes } from '../../base/random.ts';
import { probeId } from './callbacks.ts';
import { adminOf, type KannelDependencies, type KannelSendsmsConfig } from './config.ts';
import { RECEIPT_MASK } from './receipts.ts';
import { askStatus, faultsOfRoute, isOnline, type KannelStatus } from './status.ts';

/** Finds the usual mistakes in the setup of sendsms. It sends no message to a phone. */

const TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const LOOKS = 40;
const LOOK_EVERY_MS = 250;
/** One octet longer than SMPP allows, so Kannel's SMPP driver refuses it before it is sent. */
const IMPOSSIBLE_SENDER = 'columba-check-columba';
const NO_SMSC = 'columba-check';

export async function probeSendsms(config: KannelSendsmsConfig, deps: KannelDependencies): Promise<string[]> {
  const admin = adminOf(config);
  const status = admin && (await askStatus(deps, admin));
  const faults = [
    ...(await faultsOfAccess(config, deps)),
    ...(typeof status === 'string' ? [status] : status ? faultsOfStatus(status, config) : []),
    ...(await faultsOfCallbackAddress(config, deps)),
  ];
  if (faults.length > 0 || status === null || typeof status === 'string') return faults;
  return faultsOfCallback(config, status, deps);
}

const faultsOfStatus = (status: KannelStatus, { smscId }: KannelSendsmsConfig): string[] => [
  ...(status.boxes.some(({ type }) => type === 'smsbox') ? [] : ['No smsbox is connected to bearerbox.']),
  ...faultsOfRoute(status, smscId),
];

/** sendsms refuses a request without a recipient, but only after it has checked the password. */
async function faultsOfAccess(config: KannelSendsmsConfig, deps: KannelDependencies): Promise<string[]> {
  const peer = `smsbox at ${config.host}:${config.port}`;
  const outcome = await ask(config, deps, {});
  if (outcome.kind === 'unsent') return [`${peer} does not answer (${outcome.reason}).`];
  if (outcome.kind === 'unanswered') return [`${peer} takes a request and does not answer it (${outcome.reason}).`];
  const words = outcome.body.toString('latin1');
  if (outcome.status === 400 && /receiver/i.test(words)) return [];
  if (outcome.status === 403) return [`${peer} refuses the username, the password, or the address of this machine.`];
  if (outcome.status === 404) return [`${peer} has no sendsms at ${config.path}.`];
  return [`${peer} answers ${outcome.status}, which sendsms of Kannel does not do.`];
}

const ask = (config: KannelSendsmsConfig, clock: Clock, more: Record<string, string>): Promise<HttpOutcome> =>
  callHttp(clock, config, {
    method: 'POST',
    path: config.path,
    headers: {
      'Content-Type': 'text/plain; charset=UTF-8',
      'X-Kannel-Username': config.username,
      'X-Kannel-Password': config.password,
      ...more,
    },
    body: Buffer.from('check'),
    timeoutMs: TIMEOUT_MS,
    answerBytesMax: ANSWER_BYTES_MAX,
  });

/** Returns `seen`, `not seen`, or why there is no answer. */
async function askCallback(config: KannelSendsmsConfig, clock: Clock, id: string): Promise<string> {
  const url = new URL(config.callbackUrl);
  const outcome = await callHttp(clock, peerOf(url), {
    method: 'GET',
    path: `${url.pathname.replace(/\/$/, '')}/${config.callbackSecret}/probe?id=${id}`,
    headers: { Host: url.host },
    timeoutMs: TIMEOUT_MS,
    answerBytesMax: ANSWER_BYTES_MAX,
  });
  if (outcome.kind !== 'answered') return outcome.reason;
  return outcome.status === 200 ? outcome.body.toString('latin1') : `status ${outcome.status}`;
}

async function faultsOfCallbackAddress(config: KannelSendsmsConfig, clock: Clock): Promise<string[]> {
  const answer = await askCallback(config, clock, 'none');
  if (answer === 'not seen') return [];
  const refused = 'its secret is another one, or the service there has no connector of this name';
  const advice = answer === 'status 401' ? refused : 'is the service running there?';
  return [`The callback address ${config.callbackUrl} does not lead to this connector (${answer}): ${advice}`];
}

/**
 * Makes Kannel report a refusal, and asks the running service whether the report came. The
 * submission names a carrier that does not exist. A Kannel that ignores the name fails at the
 * sender, which is too long for SMPP. Other carriers might send the message, so with them this
 * check is left out.
 */
async function faultsOfCallback(config: KannelSendsmsConfig, status: KannelStatus, clock: Clock): Promise<string[]> {
  const isSafe = status.carriers.every(({ name }) => name.startsWith('SMPP:')) && isOnline(status, undefined);
  if (!isSafe) return [];
  const id = probeId(randomBytes(16).toString('hex'));
  await ask(config, clock, {
    'X-Kannel-To': '+0',
    'X-Kannel-From': IMPOSSIBLE_SENDER,
    'X-Kannel-SMSC': NO_SMSC,
    'X-Kannel-Validity': '1',
    'X-Kannel-DLR-Mask': String(RECEIPT_MASK),
    'X-Kannel-DLR-URL': `${config.callbackUrl.replace(/\/$/, '')}/${config.callbackSecret}/dlr?id=${id}&d=%d&a=%A`,
  });
  for (let look = 0; look < LOOKS; look++) {
    if ((await askCallback(config, clock, id)) === 'seen') return [];
    await clock.sleep(LOOK_EVERY_MS);
  }
  return [`A receipt of Kannel did not come back to ${config.callbackUrl}: smsbox does not reach this address.`];
}
