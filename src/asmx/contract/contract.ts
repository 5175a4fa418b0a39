import {
  boolean,
  type Contract,
  change,
  dataSet,
  dateTime,
  int,
  list,
  long,
  operation as op,
  record,
  string,
} from './types.ts';

/** The contract: 5 records, 4 groups, 32 operations. Names, types and order never change. */

export const AccountDetail = record('AccountDetail', {
  datetimeCreated: dateTime,
  datetimeLastLoggedIn: dateTime,
  userID: string,
  username: string,
  password: string,
  contactName: string,
  contactSurname: string,
  company: string,
  email: string,
  tel: string,
  fax: string,
  mobile: string,
  address: string,
  credits: long,
  usedCredits: long,
  transmissionPriority: int,
  tag: int,
});

export const Contact = record('Contact', {
  name: string,
  surname: string,
  id: string,
  mobile: string,
  groupid: string,
});

export const Group = record('Group', { name: string, id: int, total: int });

export const ReceivedMessage = record('ReceivedMessage', {
  id: long,
  sender: string,
  message: string,
  short_code: string,
  timestamp: dateTime,
});

export const DeliveryStatus = record('DeliveryStatus', {
  recipient: string,
  user_message_id: string,
  delivery_status: string,
  timestamp_updated: dateTime,
});

const ContactsDS = dataSet({ id: string, name: string, surname: string, mobile: string, groupid: string });

const InboxDS = dataSet({
  id: long,
  sender: string,
  message: string,
  short_code: string,
  timestamp: dateTime,
  read: boolean,
});

const SentDS = dataSet({
  id: long,
  user_message_id: string,
  recipient: string,
  message: string,
  delivery_status: string,
  timestamp_sent: dateTime,
  timestamp_updated: dateTime,
  marked: boolean,
});

const ScheduledDS = dataSet({
  id: long,
  user_message_id: string,
  recipient: string,
  message: string,
  timestamp_scheduled: dateTime,
  timestamp_created: dateTime,
});

const user_id = string;
const contact_id = list(string);

export const contract = {
  account: {
    Profile: op({ user_id }, AccountDetail, 'The account: its owner, its credits and its settings.'),
    FetchContacts: op({ user_id }, list(Contact), 'All contacts, by id.'),
    FetchContactsDS: op({ user_id }, ContactsDS, 'All contacts, by id, as a DataSet.'),
    FetchContactsByGroupId: op({ user_id, groupid: int }, list(Contact), 'The contacts of one group, by id.'),
    FetchContactsByGroupIdDS: op(
      { user_id, groupid: int },
      ContactsDS,
      'The contacts of one group, by id, as a DataSet.',
    ),
    FetchContact: op(
      { user_id, mobile: string },
      Contact,
      'The contact whose mobile number is stored exactly so, or none.',
    ),
    LookupContact: op(
      { user_id, mobile: string },
      Contact,
      'The contact with this mobile number, however it is written, or none.',
    ),
    FetchGroups: op({ user_id }, list(Group), 'All contact groups, by id, with the number of contacts in each.'),
    RemoveContactFromGroup: change(
      { user_id, contact_id, group_id: string },
      boolean,
      'Takes contacts out of a group; the contacts stay. All of them, or none.',
    ),
    MoveContactToNewGroup: change(
      { user_id, contact_id, group_id: string },
      boolean,
      'Moves contacts into a group. All of them, or none.',
    ),
    DeleteContact: change({ user_id, contact_id }, boolean, 'Deletes contacts. All of them, or none.'),
    DeleteContactsById: change({ user_id, id: int }, boolean, 'Deletes the one contact with this id.'),
    FetchSavedMessages: op({ user_id }, list(string), 'The saved message templates, in the order saved.'),
    SaveMessageTemplate: change({ user_id, message: string }, boolean, 'Saves a message template.'),
    DeleteMessageTemplate: change(
      { user_id, message: string },
      boolean,
      'Deletes the message template with exactly this text.',
    ),
    BlackListNumber: change(
      { user_id, mobile: string, sample_message: string },
      boolean,
      'Puts a number on the blacklist: nothing is sent to it any more, and messages scheduled for it are cancelled.',
    ),
  },
  inbox: {
    Read: op(
      { user_id, from: dateTime, to: dateTime, max_count: int },
      list(ReceivedMessage),
      'Received messages of a time range, read or not, oldest first.',
    ),
    Unread: op({ user_id, max_count: int }, list(ReceivedMessage), 'Unread messages, oldest first.'),
    InboxDS: op({ user_id, max_count: int }, InboxDS, 'Received messages, newest first, as a DataSet.'),
    CountRead: op({ user_id }, long, 'How many received messages are marked as read.'),
    CountUnread: op({ user_id }, long, 'How many received messages are not marked as read.'),
    MarkMessageAsRead: change({ user_id, message_id: string }, boolean, 'Marks a received message as read.'),
    DeleteMessage: change({ user_id, message_id: string }, boolean, 'Deletes a received message.'),
    DeleteAllMessages: change({ user_id }, boolean, 'Deletes all received messages.'),
  },
  sent: {
    FetchUnmarkedDeliveryStatus: op(
      { user_id, max: int },
      list(DeliveryStatus),
      'Delivery statuses that changed since they were last marked, oldest change first.',
    ),
    CountUnMarkedDeliveryStatus: op({ user_id }, long, 'How many delivery statuses are not marked.'),
    FetchSentDS: op({ user_id, max: int }, SentDS, 'Sent messages, newest first, as a DataSet.'),
    MarkMessageAsRead: change({ user_id, id: long }, boolean, 'Marks the delivery status of a sent message.'),
    DeleteSentMessage: change({ user_id, message_id: string }, boolean, 'Deletes a sent message.'),
  },
  compose: {
    FetchScheduledDS: op({ user_id, max: int }, ScheduledDS, 'Scheduled messages, soonest first, as a DataSet.'),
    DeleteScheduledMessage: change(
      { user_id, message_id: string },
      boolean,
      'Deletes a scheduled message and returns the credits held for it.',
    ),
    DeleteAllScheduled: change(
      { user_id },
      boolean,
      'Deletes all scheduled messages and returns the credits held for them.',
    ),
  },
} as const satisfies Contract;
