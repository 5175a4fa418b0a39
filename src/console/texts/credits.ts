/** Texts of the credits. */
export const texts = {
  title: 'Credits',
  free: 'Free',
  held: 'Held for messages that are not sent yet',
  used: 'Used',
  movements: 'Movements',
  columns: ['When', 'What', 'Change', 'Free afterwards', 'Cause'],
  kinds: {
    grant: 'Granted',
    hold: 'Held for a message',
    release: 'Free again',
    capture: 'Used for a message',
    adjust: 'Corrected',
  } as Readonly<Record<string, string>>,
  kind: 'Show',
  allKinds: 'everything',
  message: (id: string) => `message ${id}`,
  empty: 'No credits have moved yet.',
  emptyHint: 'Ask the operator for credits.',
  wrong: 'The sums do not add up here. Please tell the operator: columba check --ledger finds the reason.',
  noMatch: 'No movement of this kind.',
  noMatchHint: 'Show everything to see the others.',
} as const;
