import { type FieldDescription, resultFields } from '../contract/descriptions.ts';
import type { Contract, Group, Operation, ResultType } from '../contract/types.ts';
import { type DateForm, type Dialect, GROUP_FIELD, STATUS_FIELD, statusWord } from '../dialect/dialect.ts';

/** What pages say about an operation, in the words of the dialect. */

/** The contract, whose summaries tell the orders and caps of the dialect and what Read returns. */
export function describedContract(contract: Contract, dialect: Dialect): Contract {
  const { orders, caps, readReturnsReadOnly } = dialect;
  if (!orders && !caps && !readReturnsReadOnly) return contract;
  const groups = Object.entries(contract).map(([name, group]) => {
    const operations = Object.entries(group).map(([operation, row]): [string, Operation] => [
      operation,
      { ...row, summary: summaryIn(dialect, `${name}.${operation}`, row.summary) },
    ]);
    return [name, Object.fromEntries(operations) satisfies Group];
  });
  return Object.fromEntries(groups);
}

const ORDER = /, (?:by id|(?:oldest|newest|soonest)(?: change)? first|in the order saved)/;
const READ_OR_NOT = ', read or not';

function summaryIn({ orders, caps, readReturnsReadOnly }: Dialect, key: string, summary: string): string {
  const order = orders?.[key];
  const cap = caps?.[key];
  const ordered = order === undefined ? summary : summary.replace(ORDER, `, ${orderText(order)}`);
  const chosen = readReturnsReadOnly ? ordered.replace(READ_OR_NOT, ', only those marked as read') : ordered;
  return cap === undefined ? chosen : `${chosen} At most ${cap.toLocaleString('en')}.`;
}

const orderText = (order: string): string =>
  order.startsWith('-') ? `by ${order.slice(1)}, descending` : `by ${order}`;

export interface ShownField {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly mayBeAbsent: boolean;
}

/** The fields of a result, or the columns of a DataSet, as the dialect writes them. */
export function shownFields(result: ResultType, dialect: Dialect, key: string): ShownField[] {
  const isDataSet = result.kind === 'dataSet';
  const dates = (isDataSet ? dialect.dataSet?.dates : undefined) ?? dialect.dates;
  const ours = resultFields(result).map((field) => shown(field, dialect, dates));
  const columns = isDataSet ? dialect.columns?.[key] : undefined;
  if (!columns) return ours;
  return columns.map(({ name, type, from, constant }) => {
    const source = ours.find((field) => field.name === from);
    if (source) return { ...source, name, type };
    const description = constant === undefined ? 'Always absent.' : `Always “${constant}”.`;
    return { name, type, description, mayBeAbsent: false };
  });
}

function shown(field: FieldDescription, dialect: Dialect, dates: DateForm | undefined): ShownField {
  const { name, type, mayBeAbsent } = field;
  const { emptyStrings } = dialect;
  const isString = type.name === 'string';
  return {
    name,
    type: type.name,
    description: descriptionIn(field, dialect, dates),
    mayBeAbsent: isString && emptyStrings ? emptyStrings === 'absent' : mayBeAbsent,
  };
}

const STATUS = /\b[A-Z]{5,}\b/g;

function descriptionIn({ name, type, description }: FieldDescription, dialect: Dialect, dates?: DateForm): string {
  if (name === STATUS_FIELD) return description.replace(STATUS, (ours) => statusWord(dialect, ours));
  if (name === GROUP_FIELD) return description.replace('absent', GROUPLESS[dialect.groupId ?? 'absent']);
  if (type.name === 'dateTime' && dates) return description.replace(', in UTC', `, ${zoneText(dates)}`);
  return description;
}

const GROUPLESS = { absent: 'absent', empty: 'empty', zero: '0' } as const;

function zoneText({ zone, timeZone = 'UTC' }: DateForm): string {
  if (zone === 'Z') return 'in UTC';
  return zone === 'offset' ? `with the offset of ${timeZone}` : `in ${timeZone}, without a zone`;
}
