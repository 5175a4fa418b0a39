/** A route for all messages, in the form in which it is saved; the test adds its ways. */
export const way = (connector: string) => ({ connector, weight: 1, price: 1, cost: null, ifRefused: [] });
export const ROUTE = {
  name: 'r',
  priority: 0,
  username: null,
  tag: null,
  prefixes: [],
  senders: [],
  senderPool: [],
  hours: null,
  from: null,
  until: null,
  mode: 'order' as const,
  onThrottle: 'wait' as const,
};
