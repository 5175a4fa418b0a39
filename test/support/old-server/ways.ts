/**
 * How an old server does what the contract leaves open. Tests choose other ways than Columba's on
 * purpose. This folder shares no code with src: it is a second reading of the contract.
 */
export interface Ways {
  readonly namespace: string;
  /** Minutes east of UTC of times without a zone; null for times in UTC with Z. */
  readonly localMinutes: number | null;
  readonly dataSetName: string;
  readonly tableName: string;
  /** By operation: what a column shows, its name, its type. `=text` is a constant. */
  readonly columns: Readonly<Record<string, readonly (readonly [shows: string, name: string, type: string])[]>>;
  /** Operations that mark what they return. */
  readonly readingMarks: readonly string[];
  /** The most rows of an answer. */
  readonly caps: Readonly<Record<string, number>>;
  readonly readReturnsReadOnly: boolean;
  readonly noGroup: 'absent' | 'empty' | 'zero';
  readonly protocols: readonly ('soap11' | 'soap12' | 'get' | 'post')[];
  readonly showsPassword: boolean;
  /** Lines of wsdl.ts that only the WSDL of a group has, and operations that it lacks. */
  readonly moreInWsdl?: Readonly<Record<string, readonly string[]>>;
  readonly notInWsdl?: readonly string[];
  /** Operations that answer with a fault, though the WSDL has them. */
  readonly notThere?: readonly string[];
  /** The words for true and false. */
  readonly booleans?: readonly [yes: string, no: string];
}

/** The ways that Columba has without a dialect. */
export const PLAIN_WAYS: Ways = {
  namespace: 'http://sms.example/api',
  localMinutes: null,
  dataSetName: 'NewDataSet',
  tableName: 'Table',
  columns: {
    'account.FetchContactsDS': [
      ['id', 'id', 'string'],
      ['name', 'name', 'string'],
      ['surname', 'surname', 'string'],
      ['mobile', 'mobile', 'string'],
      ['groupid', 'groupid', 'string'],
    ],
    'inbox.InboxDS': [
      ['id', 'id', 'long'],
      ['sender', 'sender', 'string'],
      ['message', 'message', 'string'],
      ['short_code', 'short_code', 'string'],
      ['timestamp', 'timestamp', 'dateTime'],
      ['read', 'read', 'boolean'],
    ],
    'sent.FetchSentDS': [
      ['id', 'id', 'long'],
      ['user_message_id', 'user_message_id', 'string'],
      ['recipient', 'recipient', 'string'],
      ['message', 'message', 'string'],
      ['delivery_status', 'delivery_status', 'string'],
      ['timestamp_sent', 'timestamp_sent', 'dateTime'],
      ['timestamp_updated', 'timestamp_updated', 'dateTime'],
      ['marked', 'marked', 'boolean'],
    ],
    'compose.FetchScheduledDS': [
      ['id', 'id', 'long'],
      ['user_message_id', 'user_message_id', 'string'],
      ['recipient', 'recipient', 'string'],
      ['message', 'message', 'string'],
      ['timestamp_scheduled', 'timestamp_scheduled', 'dateTime'],
      ['timestamp_created', 'timestamp_created', 'dateTime'],
    ],
  },
  readingMarks: [],
  caps: {},
  readReturnsReadOnly: false,
  noGroup: 'absent',
  protocols: ['soap11', 'soap12', 'get', 'post'],
  showsPassword: true,
};

/** Other names, other words, local times, caps. */
export const ODD_WAYS: Ways = {
  ...PLAIN_WAYS,
  namespace: 'http://old.example/webservices/',
  localMinutes: 120,
  dataSetName: 'SmsData',
  tableName: 'Row',
  columns: {
    'account.FetchContactsDS': [
      ['id', 'ContactID', 'string'],
      ['mobile', 'Cell', 'string'],
      ['name', 'FirstName', 'string'],
      ['surname', 'LastName', 'string'],
      ['groupid', 'GroupID', 'string'],
    ],
    'inbox.InboxDS': [
      ['id', 'MessageID', 'long'],
      ['timestamp', 'Received', 'dateTime'],
      ['sender', 'FromNumber', 'string'],
      ['message', 'Body', 'string'],
      ['short_code', 'ShortCode', 'string'],
      ['read', 'IsRead', 'boolean'],
    ],
    'sent.FetchSentDS': [
      ['id', 'SmsID', 'long'],
      ['recipient', 'ToNumber', 'string'],
      ['message', 'Body', 'string'],
      ['delivery_status', 'Status', 'string'],
      ['user_message_id', 'ClientRef', 'string'],
      ['timestamp_sent', 'SentOn', 'dateTime'],
      ['timestamp_updated', 'UpdatedOn', 'dateTime'],
      ['marked', 'Seen', 'boolean'],
      ['=1', 'NetworkID', 'int'],
    ],
    'compose.FetchScheduledDS': [
      ['id', 'ScheduleID', 'long'],
      ['timestamp_scheduled', 'SendOn', 'dateTime'],
      ['recipient', 'ToNumber', 'string'],
      ['message', 'Body', 'string'],
      ['user_message_id', 'ClientRef', 'string'],
      ['timestamp_created', 'CreatedOn', 'dateTime'],
    ],
  },
  caps: { 'inbox.Read': 20, 'inbox.Unread': 50 },
  noGroup: 'zero',
};

/** The status words of this server, and what Columba calls them. */
export const WORDS = {
  Queued: 'QUEUED',
  'Sent to network': 'SUBMITTED',
  'Delivered to handset': 'DELIVERED',
  Failed: 'UNDELIVERABLE',
  Expired: 'EXPIRED',
} as const;
