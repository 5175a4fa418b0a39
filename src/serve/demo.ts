import { createCarrierEvents } from '../carriers/carrier-events.ts';
import { addOperator, ownerOfOperator } from '../domain/access/operators.ts';
import { issueLink } from '../domain/access/sign-in.ts';
import { addToken } from '../domain/access/tokens.ts';
import { accountId } from '../domain/accounts/accounts.ts';
import { createRouting } from '../domain/receiving/routes.ts';
import type { Services } from '../operator/action.ts';
import { actions } from '../operator/actions/all.ts';
import type { Actor } from '../operator/actor.ts';
import type { RawInput } from '../operator/input.ts';
import { perform } from '../operator/perform.ts';
import { type Act, CARRIER, playHistory } from './demo-history.ts';
import { PRACTICE } from './demo-practice.ts';

/**
 * What the demo needs in addition to its sample data: a token to send with, and a route for
 * replies.
 */
export const SAMPLE_USER_ID = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';
const SAMPLE_USERNAME = 'acme';
const OTHER_USERNAME = 'globex';
/** Replies of the loopback go to the sender of the message that they answer. */
const SHORT_CODE = '31234';

/** Secrets that the demo prints, because they cannot be shown again. */
export interface DemoSecrets {
  /** A token of the sample account. */
  readonly token: string;
  /** Paths of one-time links. */
  readonly customerLink: string;
  readonly operatorLink: string;
}

export async function prepareDemo(services: Services): Promise<DemoSecrets> {
  const { database, now } = services;
  const account = await accountId(database, SAMPLE_USERNAME);
  const route = { name: 'demo', destination: SHORT_CODE, keyword: null, priority: 0, username: SAMPLE_USERNAME };
  await createRouting(database, now).put(route);
  const scopes = ['messages:read', 'messages:send', 'credits'];
  const { secret } = await addToken(database, { name: 'demo', account, scopes, expiresAt: null }, now());
  await playHistory(services, actWith);
  await fillOperatorScreens(services);
  const operator = ownerOfOperator(await addOperator(database, 'demo', now()));
  const { username: name } = PRACTICE;
  const customer = { kind: 'account', id: await accountId(database, name), name } as const;
  const pathOf = async (owner: typeof operator) =>
    `/console/sign-in/${(await issueLink(database, owner, now())).token}`;
  return { token: secret, customerLink: await pathOf(customer), operatorLink: await pathOf(operator) };
}

const DEMO: Actor = { kind: 'command', name: 'demo', tokenId: null, address: null, scopes: [], account: null };

const actWith: Act = async (services, name, given) => {
  const action = actions.find((each) => each.name === name);
  if (!action) throw new Error(`there is no action ${name}`);
  await perform(services, action, { params: {}, query: {}, body: {}, upload: new Uint8Array(), ...given }, DEMO);
};

/** Makes sure that each of the operator's screens has something to show. */
async function fillOperatorScreens(services: Services): Promise<void> {
  const { database, now, extensions } = services;
  const act = (name: string, given: Partial<RawInput>) => actWith(services, name, given);
  // A message to a number that has no route.
  await createCarrierEvents(database, now, null).incoming({
    connector: CARRIER,
    gatewayId: null,
    sender: '+27825550207',
    destination: '31999',
    text: 'Is this the market?',
    receivedAt: now(),
    part: null,
  });
  // The address is not public, so every attempt is refused before it leaves this machine.
  const events = ['message.received', 'message.status', 'message.needs_decision'];
  await act('webhook add', { body: { url: 'https://127.0.0.1/events', events } });
  // The loopback throttles the first message and never answers for the second, so that one is tried
  // again and the other needs a decision.
  const params = { username: OTHER_USERNAME };
  const recipients = ['+27825559005', '+27825559006'];
  await act('message send', { params, body: { recipients, text: 'Your parcel has arrived.' } });
  await act('migrate stage', { params, body: { stage: 'compare' } });
  const body = { reason: 'No program of theirs has groups.' };
  await act('migrate accept', { params: { operation: 'account.FetchGroups' }, body });
  for (const { addSample } of extensions) await addSample(database, now);
}

export const welcome = (address: string, web: string | undefined, secrets: DemoSecrets): string => `
Columba is serving sample data, which is gone when it stops.

  Pages   ${address}/
${web === undefined ? '' : `  API     ${web}/operator/\n`}  Try     curl '${address}/api/inbox.asmx/Unread?user_id=${SAMPLE_USER_ID}&max_count=2'
${web === undefined ? '' : consoleLinks(web, secrets) + sending(address, web, secrets.token)}
Stop it with Ctrl-C.
`;

const consoleLinks = (web: string, { customerLink, operatorLink }: DemoSecrets): string => `
Sign in to the console. Each link works once:

  as the customer  ${web}${customerLink}
  as the operator  ${web}${operatorLink}
`;

const sending = (address: string, web: string, token: string): string => `
Send a message. Its recipient is a loopback, which answers what follows "reply":

  curl '${web}/operator/v1/accounts/${SAMPLE_USERNAME}/messages' \\
    -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
    -d '{"recipients": ["+27825550201"], "text": "reply Thank you!", "sender": "${SHORT_CODE}"}'

Seconds later it is delivered, and the reply is unread:

  curl '${address}/api/sent.asmx/FetchUnmarkedDeliveryStatus?user_id=${SAMPLE_USER_ID}&max=100'
  curl '${address}/api/inbox.asmx/Unread?user_id=${SAMPLE_USER_ID}&max_count=100'
`;
