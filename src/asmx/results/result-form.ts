import { scalarText } from '../contract/scalars.ts';
import type { ScalarName } from '../contract/types.ts';
import { dateFormat } from '../dialect/date-form.ts';
import {
  booleanWord,
  type DataSetNames,
  type DateForm,
  type Dialect,
  type DialectColumn,
  dataSetNames,
  GROUP_FIELD,
  NO_DIALECT,
  STATUS_FIELD,
  statusWord,
} from '../dialect/dialect.ts';
import { escapeText } from '../xml/escape.ts';

/** How an operation writes its result. Compiled from the dialect at start. */
export interface ResultForm {
  readonly names: Required<DataSetNames>;
  /** The columns of its DataSet; undefined for those of the contract. */
  readonly columns: readonly DialectColumn[] | undefined;
  /** The DateTimeMode that a DataSet declares; undefined for .NET's default, with an offset. */
  readonly dateTimeMode: 'Utc' | 'Unspecified' | undefined;
  /** The values of records. */
  readonly record: ValueForm;
  /** The values of DataSets. */
  readonly row: ValueForm;
}

export interface ValueForm {
  readonly format: Readonly<Record<ScalarName, Format>>;
  /** Returns undefined for a string that is written as it is. */
  readonly convert: (field: string) => ConvertString | undefined;
}
export type Format = (value: never) => string;
/** For null, no element is written. */
export type ConvertString = (value: string | null) => string | null;

const FORMATS = Object.fromEntries(
  Object.entries(scalarText).map(([name, { format }]) => [name, format]),
) as unknown as Readonly<Record<ScalarName, Format>>;

export function resultForm(dialect: Dialect, operation: string): ResultForm {
  const rowDates = dialect.dataSet?.dates ?? dialect.dates;
  const convert = conversions(dialect);
  return {
    names: dataSetNames(dialect, operation),
    columns: dialect.columns?.[operation],
    dateTimeMode: dateTimeMode(rowDates),
    record: { format: formats(dialect, dialect.dates), convert },
    row: { format: formats(dialect, rowDates), convert },
  };
}

function formats(dialect: Dialect, dates: DateForm | undefined): ValueForm['format'] {
  if (!dates && !dialect.booleanWords) return FORMATS;
  const [yes, no] = [true, false].map((value) => escapeText(booleanWord(dialect, value))) as [string, string];
  return {
    ...FORMATS,
    ...(dialect.booleanWords && { boolean: ((value: boolean) => (value ? yes : no)) as Format }),
    ...(dates && { dateTime: dateFormat(dates) as Format }),
  };
}

/** The mode in which .NET writes such dates. Its default writes an offset and is not declared. */
function dateTimeMode(dates: DateForm | undefined): ResultForm['dateTimeMode'] {
  if (!dates || dates.zone === 'Z') return 'Utc';
  return dates.zone === 'none' ? 'Unspecified' : undefined;
}

function conversions(dialect: Dialect): ValueForm['convert'] {
  const words = new Map(Object.keys(dialect.statusWords ?? {}).map((ours) => [ours, statusWord(dialect, ours)]));
  const toWord: ConvertString = (value) => (value === null ? null : (words.get(value) ?? value));
  const { emptyStrings, groupId } = dialect;
  return (field) => {
    if (field === STATUS_FIELD) return words.size > 0 ? toWord : undefined;
    if (field === GROUP_FIELD && groupId) return GROUPS[groupId];
    return emptyStrings && EMPTY_STRINGS[emptyStrings];
  };
}

const GROUPS: Record<NonNullable<Dialect['groupId']>, ConvertString | undefined> = {
  absent: undefined,
  empty: (value) => value ?? '',
  zero: (value) => value ?? '0',
};

const EMPTY_STRINGS: Record<NonNullable<Dialect['emptyStrings']>, ConvertString> = {
  absent: (value) => (value === '' ? null : value),
  empty: (value) => value ?? '',
};

export const PLAIN_FORM: ResultForm = resultForm(NO_DIALECT, '');
