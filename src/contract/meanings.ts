import type { contract } from './contract.ts';
import type { Contract, ResultType } from './types.ts';

/** What parameters and results mean, for pages and reference, and an example of each. */
export interface ParameterMeaning {
  readonly meaning: string;
  readonly example: string | readonly string[];
}

type NameIn<C extends Contract> = {
  [G in keyof C]: { [O in keyof C[G]]: keyof C[G][O]['parameters'] & string }[keyof C[G]];
}[keyof C];

const parameters = {
  user_id: { meaning: 'The secret that names the account.', example: 'USER_ID' },
  groupid: { meaning: 'The id of a contact group.', example: '1' },
  mobile: { meaning: 'A mobile number.', example: '+27825550201' },
  contact_id: { meaning: 'The ids of 1 to 1,000 contacts.', example: ['101', '102'] },
  group_id: { meaning: 'The id of a contact group.', example: '2' },
  id: { meaning: 'The id of the one to act on.', example: '2002' },
  message: { meaning: 'The text of the template, exactly.', example: 'Your order is ready for collection.' },
  sample_message: { meaning: 'A message that shows why, for your records.', example: 'STOP' },
  from: { meaning: 'The first moment of the range.', example: '2026-10-01T00:00:00Z' },
  to: { meaning: 'The last moment of the range.', example: '2026-10-31T23:59:59Z' },
  max_count: { meaning: 'How many to return at most; 0 for none.', example: '20' },
  max: { meaning: 'How many to return at most; 0 for none.', example: '20' },
  message_id: { meaning: 'The id of a message.', example: '1003' },
} satisfies Record<NameIn<typeof contract>, ParameterMeaning>;

export const meaningOf = (parameter: string): ParameterMeaning => parameters[parameter as keyof typeof parameters];

/** What an answer of this kind says. */
export function resultMeaning(type: ResultType): string {
  switch (type.kind) {
    case 'scalar':
      return type.name === 'boolean'
        ? 'true: what was asked for holds now, also if it did before. false: what was named does not exist in this account, and nothing was changed.'
        : 'A number.';
    case 'record':
      return `One ${type.name}.`;
    case 'list':
      return type.item.kind === 'record'
        ? `A list of ${type.item.name}, maybe empty.`
        : 'A list of texts, maybe empty.';
    case 'dataSet':
      return 'A DataSet with one table, Table, maybe without rows.';
  }
}
