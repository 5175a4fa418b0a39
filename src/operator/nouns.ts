/** What the actions of a noun are about, for help and for the reference. */
const MEANINGS: Readonly<Record<string, string>> = {
  account: 'create, show and change accounts',
  'account-token': 'bearer tokens of an account',
  audit: 'the record of who changed what',
  batch: 'messages of an account that were accepted together',
  blacklist: 'numbers to which an account must not send',
  connector: 'connectors to carriers',
  contact: 'contacts of an account',
  credits: 'credits of an account and their movements',
  event: 'what happened, as webhooks were told',
  group: 'groups of contacts',
  guard: 'what an account may spend, and where it may send',
  inbox: 'received messages of an account',
  message: 'sent and scheduled messages of an account',
  migrate: 'move from an old server, step by step and reversibly',
  operator: 'people who sign in to the console',
  'outbound-route': 'which connectors carry a message, in which order and for which price',
  person: 'export or erase what is known about a phone number',
  queue: 'messages of all accounts that wait to be sent',
  retention: 'for how many days data is kept',
  route: 'which account gets the messages to a number',
  openapi: 'the description of these requests for programs',
  status: 'the state of the service',
  template: 'templates of an account',
  token: 'bearer tokens of the JSON API',
  unrouted: 'received messages that have no route',
  'user-id': 'user_ids of an account',
  webhook: 'URLs to which events are delivered',
};

export const meaningOf = (noun: string): string => {
  const meaning = MEANINGS[noun];
  if (meaning === undefined) throw new Error(`the noun ${noun} needs its meaning`);
  return meaning;
};
