import type { Fields, Scalar } from '../../asmx/contract/types.ts';
import { type ColumnType, SHOWN_AS } from '../../asmx/dialect/dialect.ts';

/** Finds which of our columns a column of an old server shows, by its name and its values. */

const NUMBER = ['number', 'mobile', 'msisdn', 'phone', 'phonenumber', 'mobileno', 'mobilenumber', 'cell', 'cellno'];

/** Names that servers use for our columns, lower case and without punctuation, the best first. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  id: ['messageid', 'msgid', 'smsid', 'inboxid', 'sentid', 'scheduleid', 'scheduledid', 'contactid', 'key', 'rowid'],
  user_message_id: ['clientref', 'clientreference', 'reference', 'ref', 'clientid', 'clientmessageid', 'externalid'],
  recipient: ['to', 'tonumber', 'destination', 'dest', 'destaddr', ...NUMBER],
  sender: ['from', 'fromnumber', 'source', 'originator', 'origin', 'sourceaddr', ...NUMBER],
  message: ['text', 'body', 'content', 'messagetext', 'messagebody', 'sms', 'smstext', 'msg'],
  delivery_status: ['status', 'state', 'deliverystate', 'dlr', 'statustext', 'statusdescription'],
  timestamp_sent: ['senton', 'sentat', 'datesent', 'sentdate', 'senttime', 'sent', 'datetimesent'],
  timestamp_updated: ['updatedon', 'updatedat', 'dateupdated', 'updated', 'lastupdated', 'statusdate', 'modified'],
  timestamp_scheduled: ['sendon', 'sendat', 'senddate', 'scheduledate', 'scheduledfor', 'scheduledon', 'scheduled'],
  timestamp_created: ['createdon', 'createdat', 'datecreated', 'created', 'creationdate', 'datetimecreated'],
  timestamp: ['received', 'receivedon', 'receivedat', 'datereceived', 'date', 'datetime', 'time', 'arrived'],
  short_code: ['shortcode', 'to', 'tonumber', 'destination', 'longcode', 'servicenumber'],
  read: ['isread', 'seen', 'opened', 'wasread'],
  marked: ['seen', 'ismarked', 'isread', 'read', 'acknowledged'],
  name: ['firstname', 'forename', 'givenname', 'contactname'],
  surname: ['lastname', 'familyname', 'contactsurname'],
  mobile: NUMBER,
  groupid: ['group', 'contactgroup', 'contactgroupid'],
};

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

export interface TheirColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Our field whose values the column had, in nearly all rows that could be compared. */
  readonly voted: string | undefined;
}

/** Maps names of their columns to ours. Each of our columns is used once. */
export function assignColumns(theirs: readonly TheirColumn[], ours: Fields): ReadonlyMap<string, string> {
  const assigned = new Map<string, string>();
  const isFree = (field: string) => ![...assigned.values()].includes(field);
  const assign = (column: TheirColumn, field: string | undefined): void => {
    if (field === undefined || assigned.has(column.name) || !isFree(field)) return;
    const type = (Object.hasOwn(ours, field) ? ours[field] : undefined) as Scalar | undefined;
    if (type && SHOWN_AS[type.name].includes(column.type)) assigned.set(column.name, field);
  };
  for (const column of theirs) assign(column, column.voted);
  for (const column of theirs)
    assign(
      column,
      Object.keys(ours).find((field) => plain(field) === plain(column.name)),
    );
  const longest = Math.max(...Object.values(NAMES).map(({ length }) => length));
  for (let rank = 0; rank < longest; rank++) {
    for (const field of Object.keys(ours)) {
      const name = NAMES[field]?.[rank];
      for (const column of theirs) if (plain(column.name) === name) assign(column, field);
    }
  }
  return assigned;
}
