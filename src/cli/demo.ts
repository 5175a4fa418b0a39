import { accountId } from '../domain/account-records.ts';
import { addOperator, ownerOfOperator } from '../domain/operators.ts';
import { createRouting } from '../domain/routing.ts';
import { issueLink } from '../domain/sign-in.ts';
import { addToken } from '../domain/tokens.ts';
import type { Database } from '../domain/transactions.ts';
import { createCarrierEvents } from '../gateway/carrier-events.ts';

/** What the demo needs besides its sample data: a token to send with, and a way for replies. */
export const SAMPLE_USER_ID = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';
const SAMPLE_USERNAME = 'acme';
/** Replies of the loopback go to the sender of the message that they answer. */
const SHORT_CODE = '31234';

/** What is printed, because it is known only now. */
export interface DemoSecrets {
  /** Of the sample account. */
  readonly token: string;
  /** Paths of one-time links. */
  readonly holderLink: string;
  readonly operatorLink: string;
}

export async function prepareDemo(database: Database, now: () => number): Promise<DemoSecrets> {
  const account = await accountId(database, SAMPLE_USERNAME);
  const route = { name: 'demo', destination: SHORT_CODE, keyword: null, priority: 0, username: SAMPLE_USERNAME };
  await createRouting(database, now).put(route);
  const scopes = ['messages:read', 'messages:send', 'credits'];
  const { secret } = await addToken(database, { name: 'demo', account, scopes, expiresAt: null }, now());
  // For the operator's screens: a message to a number that nobody has.
  await createCarrierEvents(database, now, null).incoming({
    connector: 'loopback',
    gatewayId: null,
    sender: '+27825550207',
    destination: '31999',
    text: 'Is this the market?',
    receivedAt: now(),
    part: null,
  });
  const operator = ownerOfOperator(await addOperator(database, 'demo', now()));
  const holder = { kind: 'account', id: account, name: SAMPLE_USERNAME } as const;
  const pathOf = async (owner: typeof operator) =>
    `/console/sign-in/${(await issueLink(database, owner, now())).token}`;
  return { token: secret, holderLink: await pathOf(holder), operatorLink: await pathOf(operator) };
}

export const welcome = (address: string, web: string | undefined, secrets: DemoSecrets): string => `
Columba is serving an account of sample data, which is gone when it stops.

  Pages   ${address}/
${web === undefined ? '' : `  API     ${web}/operator/\n`}  Try     curl '${address}/api/inbox.asmx/Unread?user_id=${SAMPLE_USER_ID}&max_count=2'
${web === undefined ? '' : consoleLinks(web, secrets) + sending(address, web, secrets.token)}
Stop it with Ctrl-C.
`;

const consoleLinks = (web: string, { holderLink, operatorLink }: DemoSecrets): string => `
Sign in to the console. Each link works once:

  as the holder of the account   ${web}${holderLink}
  as the operator                ${web}${operatorLink}
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
