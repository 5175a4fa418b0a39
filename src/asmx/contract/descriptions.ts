import { AccountDetail, Contact, contract, DeliveryStatus, Group, ReceivedMessage } from './contract.ts';
import type { Contract, Fields, Operation, ResultType, Scalar } from './types.ts';

/** Descriptions of parameters, results and fields, for pages and reference. */
export interface ParameterDescription {
  readonly description: string;
  readonly example: string | readonly string[];
}

type NameIn<C extends Contract> = {
  [G in keyof C]: { [O in keyof C[G]]: keyof C[G][O]['parameters'] & string }[keyof C[G]];
}[keyof C];

const parameters = {
  user_id: { description: 'The secret that names the account.', example: 'USER_ID' },
  groupid: { description: 'The id of a contact group.', example: '1' },
  mobile: { description: 'A mobile number.', example: '+27825550201' },
  contact_id: { description: 'The ids of 1 to 1,000 contacts.', example: ['101', '102'] },
  group_id: { description: 'The id of a contact group.', example: '2' },
  id: { description: 'The id of a contact (account) or of a sent message (sent).', example: '2002' },
  message: { description: 'The text of the template, exactly.', example: 'Your order is ready for collection.' },
  sample_message: { description: 'A message that shows why, for your records.', example: 'STOP' },
  from: { description: 'The first moment of the range.', example: '2026-10-01T00:00:00Z' },
  to: { description: 'The last moment of the range.', example: '2026-10-31T23:59:59Z' },
  max_count: { description: 'How many to return at most; 0 for none.', example: '20' },
  max: { description: 'How many to return at most; 0 for none.', example: '20' },
  message_id: { description: 'The id of a message, in decimal digits.', example: '1003' },
} satisfies Record<NameIn<typeof contract>, ParameterDescription>;

export const describeParameter = (parameter: string): ParameterDescription =>
  parameters[parameter as keyof typeof parameters];

/** The operations with a boolean result, as group.Operation. */
type BooleanOperation<C> = {
  [G in keyof C & string]: {
    [O in keyof C[G] & string]: C[G][O] extends { result: Scalar<'boolean'> } ? `${G}.${O}` : never;
  }[keyof C[G] & string];
}[keyof C & string];

/** What true and false mean. True means that the requested state holds now. */
export interface BooleanDescription {
  readonly true: string;
  readonly false: string;
}

const unknownMessage = 'There is no such message in this account, and nothing was changed.';
const deleted = (what: string): BooleanDescription => ({
  true: `The ${what} was there and is deleted now.`,
  false: `There is no such ${what} in this account, and nothing was changed. So a second call is false.`,
});
const allDeleted = { true: 'Nothing is there any more, also if nothing was before.', false: 'Never.' };

const booleans: Readonly<Record<BooleanOperation<typeof contract>, BooleanDescription>> = {
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

/** Returns undefined for an operation without a boolean result. */
export const describeBoolean = (group: string, name: string): BooleanDescription | undefined =>
  (booleans as Readonly<Record<string, BooleanDescription>>)[`${group}.${name}`];

/** A contact that a number names may not exist, so the result may be none. */
export function describeResult({ result, parameters: { mobile } }: Operation, table = 'Table'): string {
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
      return `A DataSet with one table, ${table}, maybe without rows.`;
  }
}

export interface FieldDescription {
  readonly name: string;
  readonly type: Scalar;
  readonly description: string;
  readonly mayBeAbsent: boolean;
}

/** Numbers, booleans and dateTimes are never absent, nor are the strings named by `always`. */
const described = <F extends Fields>(
  fields: F,
  descriptions: Readonly<Record<keyof F & string, string>>,
  ...always: (keyof F & string)[]
): [Fields, FieldDescription[]] => [
  fields,
  Object.entries(fields).map(([name, type]) => ({
    name,
    type,
    description: descriptions[name] as string,
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

const fieldDescriptions = new Map<Fields, FieldDescription[]>([
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
    'userID',
    'username',
    'password',
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
      ...outgoing,
      ...status,
      id: 'Its id.',
      message: 'Its text.',
      timestamp_sent: 'When it was sent, in UTC.',
      marked: 'Whether the delivery status was marked since it last changed.',
    },
    'user_message_id',
    'delivery_status',
  ),
  described(
    contract.compose.FetchScheduledDS.result.columns,
    {
      ...outgoing,
      id: 'Its id.',
      message: 'Its text.',
      timestamp_scheduled: 'When it is to be sent, in UTC.',
      timestamp_created: 'When it was scheduled, in UTC.',
    },
    'user_message_id',
  ),
]);

/** The fields of a record or the columns of a DataSet, in order. */
export const fieldsOf = (fields: Fields): readonly FieldDescription[] => fieldDescriptions.get(fields) ?? [];

/** The fields or columns of a result; of a list, those of each item. */
export function resultFields(type: ResultType): readonly FieldDescription[] {
  const inner = type.kind === 'list' ? type.item : type;
  if (inner.kind === 'scalar') return [];
  return fieldsOf(inner.kind === 'record' ? inner.fields : inner.columns);
}
