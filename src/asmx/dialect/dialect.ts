import type { ScalarName } from '../contract/types.ts';

/**
 * How an old server wrote what the contract leaves open: plain data of one installation. The
 * endpoint for old programs is compiled with it. The migration reads old answers with it. An entry
 * that is absent means what Columba does without a dialect.
 */
export interface Dialect {
  /** The XML namespace of the service. */
  readonly namespace?: string;
  /** The names of every DataSet and its table. */
  readonly dataSet?: DataSetNames & {
    /** Where the dates of DataSets have another form than those of records. */
    readonly dates?: DateForm;
  };
  /** By operation ("sent.FetchSentDS"), where its DataSet has other names than `dataSet` says. */
  readonly dataSets?: { readonly [operation: string]: DataSetNames };
  /** By operation ("sent.FetchSentDS"): the columns of its DataSet, in order. */
  readonly columns?: { readonly [operation: string]: readonly DialectColumn[] };
  /** Our delivery status → theirs. The first word is written; every word is read. */
  readonly statusWords?: { readonly [ours: string]: string | readonly string[] };
  /** How true and false are written. The first word is written; every word is read. */
  readonly booleanWords?: { readonly [value in 'true' | 'false']?: string | readonly string[] };
  readonly dates?: DateForm;
  /** How a contact without a group is written. */
  readonly groupId?: 'absent' | 'empty' | 'zero';
  /** How a string without a character is written, whether it is null or empty. */
  readonly emptyStrings?: 'absent' | 'empty';
  /** By operation: the column or field that orders the rows, with "-" for descending. */
  readonly orders?: { readonly [operation: string]: string };
  /** By operation: the most rows of an answer, whatever the call asks for. */
  readonly caps?: { readonly [operation: string]: number };
  /** Whether inbox.Read returns only messages that are marked as read. */
  readonly readReturnsReadOnly?: boolean;
  /** The status of errors in GET and POST: 500 as in ASMX, or that of HTTP. */
  readonly errorStatus?: 'asmx' | 'http';
  /** The code of SOAP faults: Server for all as in ASMX, or Client for mistakes of the caller. */
  readonly faultCode?: 'server' | 'client';
  /** Operations that the old server lacks. A migration does not call them; Columba has them. */
  readonly missing?: readonly string[];
  /** How often each entry was seen ("columns.sent.FetchSentDS": 812). Answers ignore it. */
  readonly evidence?: { readonly [entry: string]: number };
  /** Entries that were uncertain until a person confirmed them. Answers ignore it. */
  readonly answered?: readonly string[];
}

export interface DataSetNames {
  /** The DataSet: NewDataSet without a dialect. */
  readonly name?: string;
  /** Its table, which is the element of a row: Table without a dialect. */
  readonly table?: string;
}

export interface DialectColumn {
  /** The name of the element, as XML has it. */
  readonly name: string;
  /** The type of XML Schema, without its prefix. */
  readonly type: ColumnType;
  /** Our column whose values it shows. Without `from`, every value is `constant`. */
  readonly from?: string;
  /** The text of a column that we lack. Without `from` and `constant`, it is only declared. */
  readonly constant?: string;
}

/** The types that a DataSet of numbers, texts and times has. */
export const COLUMN_TYPES = [
  'string',
  'boolean',
  'unsignedByte',
  'short',
  'int',
  'long',
  'decimal',
  'float',
  'double',
  'dateTime',
] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** The types that a column of ours can be shown as. A number or a text also fits into a string. */
export const SHOWN_AS: Readonly<Record<ScalarName, readonly ColumnType[]>> = {
  string: COLUMN_TYPES.filter((type) => type !== 'boolean' && type !== 'dateTime'),
  int: COLUMN_TYPES.filter((type) => type !== 'boolean' && type !== 'dateTime'),
  long: COLUMN_TYPES.filter((type) => type !== 'boolean' && type !== 'dateTime'),
  boolean: COLUMN_TYPES.filter((type) => type !== 'dateTime'),
  dateTime: ['dateTime', 'string'],
};

export interface DateForm {
  /** The end of a date: Z, an offset such as +02:00, or nothing. */
  readonly zone: 'Z' | 'offset' | 'none';
  /** For offset and none: an IANA name or ±hh:mm. Without it, COLUMBA_TIME_ZONE. */
  readonly timeZone?: string;
  /** 0 to 7 digits of a second, or as many as are not zero at the end. Without it, trimmed. */
  readonly fractionDigits?: number | 'trimmed';
}

/** The fields of results whose values a dialect writes in its own way. */
export const STATUS_FIELD = 'delivery_status';
export const GROUP_FIELD = 'groupid';

/** The dialect without entries, which is what Columba does by itself. */
export const NO_DIALECT: Dialect = {};

/** The name of a DataSet and its table in the answer of one operation. */
export function dataSetNames(dialect: Dialect, operation: string): Required<DataSetNames> {
  const own = dialect.dataSets?.[operation];
  return {
    name: own?.name ?? dialect.dataSet?.name ?? 'NewDataSet',
    table: own?.table ?? dialect.dataSet?.table ?? 'Table',
  };
}

const wordsOf = (words: string | readonly string[] | undefined): readonly string[] =>
  words === undefined ? [] : [words].flat();

/** The word that an answer has for a status of ours. */
export const statusWord = ({ statusWords = {} }: Dialect, ours: string): string =>
  (Object.hasOwn(statusWords, ours) ? wordsOf(statusWords[ours])[0] : undefined) ?? ours;

/** The word that an answer has for true or false. */
export const booleanWord = ({ booleanWords }: Dialect, value: boolean): string =>
  wordsOf(booleanWords?.[`${value}`])[0] ?? String(value);

/** Words that servers have for true and false, in lower case. */
const USUAL_BOOLEANS = { true: ['y', 'yes', 't', 'on'], false: ['n', 'no', 'f', 'off'] } as const;

/** What a word of a boolean means; null for an unknown word. */
export function booleanOfWord({ booleanWords }: Dialect, word: string): boolean | null {
  const text = word.trim().toLowerCase();
  for (const value of ['true', 'false'] as const) {
    if (wordsOf(booleanWords?.[value]).some((each) => each.toLowerCase() === text)) return value === 'true';
  }
  for (const value of ['true', 'false'] as const) {
    if ((USUAL_BOOLEANS[value] as readonly string[]).includes(text)) return value === 'true';
  }
  return null;
}

/** The first status of ours that has the word; undefined for an unknown word. */
export function statusOfWord(
  { statusWords = {} }: Dialect,
  theirs: string,
  known: readonly string[],
): string | undefined {
  const named = Object.entries(statusWords).find(([, words]) => wordsOf(words).includes(theirs))?.[0];
  return named ?? (known.includes(theirs) && !Object.hasOwn(statusWords, theirs) ? theirs : undefined);
}
