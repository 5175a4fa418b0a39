/** Texts of a conversation. */
export const texts = {
  title: (name: string) => `Conversation with ${name}`,
  received: 'Received',
  sent: 'Sent',
  scheduled: 'Scheduled for',
  empty: 'No message from or to this number yet.',
  emptyHint: 'Write the first one below.',
  far: 'Only the newest 20,000 messages of each direction were looked at.',
  older: 'Only the newest 100 messages of each direction are shown.',
  reply: 'Your reply',
  submit: 'Check the reply',
  templates: 'Start with a template',
  use: 'Use it',
  none: 'no template',
  addContact: 'Add to contacts',
  blacklist: 'Put on the blacklist',
  noNumber: 'This sender has no number, so nobody can reply.',
} as const;
