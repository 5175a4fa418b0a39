/** Texts of the audit. */
export const texts = {
  title: 'Audit',
  columns: ['When', 'Who', 'From', 'What', 'On what', 'Fields'],
  account: 'Account',
  actor: 'Who',
  action: 'What',
  from: 'From day',
  to: 'To day',
  kinds: {
    command: 'at the machine',
    operator: 'operator’s token',
    account: 'account’s token',
    'console operator': 'operator',
    'console account': 'holder',
    contract: 'client of the contract',
    message: 'received message',
  } as Readonly<Record<string, string>>,
  empty: 'Nothing was changed yet.',
  noMatch: 'Nothing matches.',
  noMatchHint: 'Change the filter, or clear it.',
  emptyHint: 'Every change by an operator or a holder appears here, and what clients delete.',
} as const;
