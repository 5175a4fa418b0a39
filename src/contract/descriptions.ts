import { AccountDetail, Contact, contract, DeliveryStatus, Group, ReceivedMessage } from './contract.ts';
import type { Contract, Fields, Operation, ResultType, Scalar } from './types.ts';

/** What parameters, results and fields mean, for pages and reference, and an example of each parameter. */
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
  id: { meaning: 'The id of a contact (account) or of a sent message (sent).', example: '2002' },
  message: { meaning: 'The text of the template, exactly.', example: 'Your order is ready for collection.' },
  sample_message: { meaning: 'A message that shows why, for your records.', example: 'STOP' },
  from: { meaning: 'The first moment of the range.', example: '2026-10-01T00:00:00Z' },
  to: { meaning: 'The last moment of the range.', example: '2026-10-31T23:59:59Z' },
  max_count: { meaning: 'How many to return at most; 0 for none.', example: '20' },
  max: { meaning: 'How many to return at most; 0 for none.', example: '20' },
  message_id: { meaning: 'The id of a message, in decimal digits.', example: '1003' },
} satisfies Record<NameIn<typeof contract>, ParameterMeaning>;

export const meaningOf = (parameter: string): ParameterMeaning => parameters[parameter as keyof typeof parameters];

/** Operations that answer with a boolean, as group.Operation. */
type Verdict<C> = {
  [G in keyof C & string]: {
    [O in keyof C[G] & string]: C[G][O] extends { result: Scalar<'boolean'> } ? `${G}.${O}` : never;
  }[keyof C[G] & string];
}[keyof C & string];

/** What a boolean says: true is that the state which was asked for holds now. */
export interface VerdictMeaning {
  readonly true: string;
  readonly false: string;
}

const unknownMessage = 'There is no such message in this account, and nothing was changed.';
const deleted = (what: string): VerdictMeaning => ({
  true: `The ${what} was there and is deleted now.`,
  false: `There is no such ${what} in this account, and nothing was changed. So a second call is false.`,
});
const allDeleted = { true: 'Nothing is there any more, also if nothing was before.', false: 'Never.' };

const verdicts: Readonly<Record<Verdict<typeof contract>, VerdictMeaning>> = {
  'account.RemoveContactFromGroup': {
    true: 'All these contacts were in the group and are in no group now.',
    false: 'One of them is not in that group, and nothing was changed. So a second call is false.',
  },
  'account.MoveContactToNewGroup': {
    true: 'All these contacts are in the group now, also those that were before.',
    false: 'The group or one of the contacts does not exist in this account, and nothing was changed.',
  },
  'account.DeleteContact': {
    true: 'All these contacts were there and are deleted now.',
    false: 'One of them does not exist in this account, and nothing was changed. So a second call is false.',
  },
  'account.DeleteContactsById': deleted('contact'),
  'account.SaveMessageTemplate': { true: 'The template is saved now, also if it was before.', false: 'Never.' },
  'account.DeleteMessageTemplate': deleted('template'),
  'account.BlackListNumber': { true: 'The number is on the blacklist now, also if it was before.', false: 'Never.' },
  'inbox.MarkMessageAsRead': { true: 'The message is marked now, also if it was before.', false: unknownMessage },
  'inbox.DeleteMessage': deleted('message'),
  'inbox.DeleteAllMessages': allDeleted,
  'sent.MarkMessageAsRead': { true: 'The status is marked now, also if it was before.', false: unknownMessage },
  'sent.DeleteSentMessage': deleted('message'),
  'compose.DeleteScheduledMessage': deleted('message'),
  'compose.DeleteAllScheduled': allDeleted,
};

/** For an operation that answers with a boolean. */
export const verdictOf = (group: string, name: string): VerdictMeaning | undefined =>
  (verdicts as Readonly<Record<string, VerdictMeaning>>)[`${group}.${name}`];

/** What the answer of an operation is. What is looked for by number may not be found. */
export function resultMeaning({ result, parameters: { mobile } }: Operation): string {
  switch (result.kind) {
    case 'scalar':
      return result.name === 'boolean' ? 'true or false.' : 'How many there are, 0 or more.';
    case 'record':
      return mobile
        ? `One ${result.name}, or none: then SOAP leaves out the Result element, and GET and POST say xsi:nil="true".`
        : `One ${result.name}.`;
    case 'list':
      return result.item.kind === 'record'
        ? `A list of ${result.item.name}, maybe empty.`
        : 'A list of texts, maybe empty.';
    case 'dataSet':
      return 'A DataSet with one table, Table, maybe without rows.';
  }
}

export interface FieldMeaning {
  readonly name: string;
  readonly type: Scalar;
  readonly meaning: string;
  readonly mayBeAbsent: boolean;
}

/** Numbers, booleans and dateTimes are always there; so are the texts that `always` names. */
const described = <F extends Fields>(
  fields: F,
  meanings: Readonly<Record<keyof F & string, string>>,
  ...always: (keyof F & string)[]
): [Fields, FieldMeaning[]] => [
  fields,
  Object.entries(fields).map(([name, type]) => ({
    ...{ name, type, meaning: meanings[name] as string },
    mayBeAbsent: type.name === 'string' && !always.includes(name),
  })),
];

const contact = {
  id: 'Its id, a number as text.',
  name: 'First name.',
  surname: 'Last name.',
  mobile: 'Mobile number, as it was stored.',
  groupid: 'The id of the group that it is in; absent where it is in none.',
};
const received = {
  id: 'Its id.',
  sender: 'The number that it came from.',
  message: 'Its text.',
  short_code: 'The number that it was sent to.',
  timestamp: 'When it was received, in UTC.',
};
const outgoing = {
  user_message_id: 'The sender’s own reference; where there is none, the id.',
  recipient: 'The number that it goes to.',
};
const status = {
  delivery_status:
    'QUEUED, SUBMITTED, ENROUTE, DELIVERED, EXPIRED, DELETED, UNDELIVERABLE, ACCEPTED, UNKNOWN or REJECTED.',
  timestamp_updated: 'When the delivery status last changed, in UTC.',
};

const fieldMeanings = new Map<Fields, FieldMeaning[]>([
  described(
    AccountDetail.fields,
    {
      datetimeCreated: 'When the account was made, in UTC.',
      datetimeLastLoggedIn: 'The last login to the console; before the first one, when the account was made.',
      userID: 'The user_id of this call.',
      username: 'The name of the account.',
      password: 'Always empty: passwords are never sent.',
      contactName: 'First name of the owner.',
      contactSurname: 'Last name of the owner.',
      company: 'The owner’s company.',
      email: 'The owner’s e-mail address.',
      tel: 'The owner’s telephone number.',
      fax: 'The owner’s fax number.',
      mobile: 'The owner’s mobile number.',
      address: 'The owner’s postal address.',
      credits: 'Message parts that can still be sent.',
      usedCredits: 'Message parts used so far.',
      transmissionPriority: 'A higher one goes first.',
      tag: 'A number for the operator’s own use.',
    },
    ...(['userID', 'username', 'password'] as const),
  ),
  described(Contact.fields, contact, 'id'),
  described(Group.fields, { name: 'Its name.', id: 'Its id.', total: 'How many contacts are in it.' }),
  described(ReceivedMessage.fields, received),
  described(DeliveryStatus.fields, { ...outgoing, ...status }, 'user_message_id', 'delivery_status'),
  described(contract.account.FetchContactsDS.result.columns, contact, 'id'),
  described(contract.inbox.InboxDS.result.columns, { ...received, read: 'Whether it is marked as read.' }),
  described(
    contract.sent.FetchSentDS.result.columns,
    {
      ...{ ...outgoing, ...status, id: 'Its id.', message: 'Its text.', timestamp_sent: 'When it was sent, in UTC.' },
      marked: 'Whether the delivery status was marked since it last changed.',
    },
    ...(['user_message_id', 'delivery_status'] as const),
  ),
  described(
    contract.compose.FetchScheduledDS.result.columns,
    {
      ...{ ...outgoing, id: 'Its id.', message: 'Its text.', timestamp_scheduled: 'When it is to be sent, in UTC.' },
      timestamp_created: 'When it was scheduled, in UTC.',
    },
    'user_message_id',
  ),
]);

/** The fields of a record or the columns of a DataSet, in order. */
export const fieldsOf = (fields: Fields): readonly FieldMeaning[] => fieldMeanings.get(fields) ?? [];

/** What a result consists of: of a list, each item. */
export function resultFields(type: ResultType): readonly FieldMeaning[] {
  const inner = type.kind === 'list' ? type.item : type;
  if (inner.kind === 'scalar') return [];
  return fieldsOf(inner.kind === 'record' ? inner.fields : inner.columns);
}
