import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import { contract } from '../contract/contract.ts';
import type { Contract, Fields } from '../contract/types.ts';
import { booleanOfWord, booleanWord, type Dialect, type DialectColumn, dataSetNames, SHOWN_AS } from './dialect.ts';
import { LIST_ORDERS } from './list-orders.ts';

/** What is wrong with a dialect although every entry has the right type. */
export interface DialectMistake {
  /** The path of the wrong entry, such as columns.sent.FetchSentDS[2].from. */
  readonly entry: string;
  readonly reason: string;
}

export const checkDialect = (dialect: Dialect): DialectMistake[] => [
  ...Object.keys(dialect.dataSets ?? {}).flatMap((operation) => notDataSet(`dataSets.${operation}`, operation)),
  ...Object.entries(dialect.columns ?? {}).flatMap(([operation, columns]) => columnMistakes(operation, columns)),
  ...nameMistakes(dialect),
  ...statusMistakes(dialect),
  ...booleanMistakes(dialect),
  ...Object.entries(dialect.orders ?? {}).flatMap(([operation, order]) => orderMistakes(operation, order)),
  ...Object.keys(dialect.caps ?? {}).flatMap((operation) => notList(`caps.${operation}`, operation)),
];

/** .NET refuses a DataSet that has a table of its own name. */
function nameMistakes(dialect: Dialect): DialectMistake[] {
  const entries = [...(dialect.dataSet ? ['dataSet'] : []), ...Object.keys(dialect.dataSets ?? {})];
  return entries.flatMap((operation) => {
    const { name, table } = dataSetNames(dialect, operation);
    const entry = operation === 'dataSet' ? operation : `dataSets.${operation}`;
    const reason = `the DataSet and its table are both called ${name}, which .NET refuses; give one another name`;
    return name === table ? [{ entry, reason }] : [];
  });
}

/** The columns of the contract; undefined where the result is no DataSet. */
export function columnsOfOperation(operation: string): Fields | undefined {
  const [group = '', name = ''] = operation.split('.');
  const result = (contract as Contract)[group]?.[name]?.result;
  return result?.kind === 'dataSet' ? result.columns : undefined;
}

const notDataSet = (entry: string, operation: string): DialectMistake[] =>
  columnsOfOperation(operation)
    ? []
    : [{ entry, reason: 'the result of this operation is no DataSet; take the entry out' }];

const notList = (entry: string, operation: string): DialectMistake[] =>
  Object.hasOwn(LIST_ORDERS, operation)
    ? []
    : [{ entry, reason: 'the result of this operation is no list; take the entry out' }];

function columnMistakes(operation: string, columns: readonly DialectColumn[]): DialectMistake[] {
  const entry = `columns.${operation}`;
  const ours = columnsOfOperation(operation);
  if (!ours) return notDataSet(entry, operation);
  const names = columns.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) < index);
  return [
    ...twice.map((name) => ({ entry, reason: `two columns have the name ${name}` })),
    ...columns.flatMap((column, index) => columnMistake(`${entry}[${index}]`, column, ours)),
  ];
}

function columnMistake(entry: string, { type, from, constant }: DialectColumn, ours: Fields): DialectMistake[] {
  if (from === undefined) return constantMistake(entry, type, constant);
  const shown = Object.hasOwn(ours, from) ? ours[from] : undefined;
  if (!shown) {
    const names = Object.keys(ours).join(', ');
    return [{ entry: `${entry}.from`, reason: `there is no column ${from}; expected one of ${names}` }];
  }
  if (constant !== undefined) return [{ entry, reason: 'a column has from or constant; take one of them out' }];
  if (SHOWN_AS[shown.name].includes(type)) return [];
  const types = SHOWN_AS[shown.name].join(', ');
  return [{ entry: `${entry}.type`, reason: `${from} is a ${shown.name}; expected one of ${types}` }];
}

const NUMBER = /^[+-]?\d+(\.\d+)?$/;
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/;

/** .NET refuses a whole DataSet if one value is not of its type. */
function constantMistake(entry: string, type: DialectColumn['type'], constant: string | undefined): DialectMistake[] {
  if (constant === undefined || type === 'string') return [];
  const isRight =
    type === 'boolean' ? /^(true|false)$/.test(constant) : (type === 'dateTime' ? DATE : NUMBER).test(constant);
  return isRight ? [] : [{ entry: `${entry}.constant`, reason: `expected a ${type}, as XML Schema writes it` }];
}

function statusMistakes({ statusWords = {} }: Dialect): DialectMistake[] {
  const known: readonly string[] = DELIVERY_STATUSES;
  return Object.entries(statusWords).flatMap(([ours, words]) => {
    const entry = `statusWords.${ours}`;
    if (!known.includes(ours)) {
      return [{ entry, reason: `there is no such status here; expected one of ${known.join(', ')}` }];
    }
    const taken = [words].flat().filter((word) => word !== ours && known.includes(word) && !(word in statusWords));
    return taken.map((word) => ({ entry, reason: `${word} is a status here too; say which word ${word} has` }));
  });
}

/** The word that is written for true must not be read as false, and the other way round. */
function booleanMistakes(dialect: Dialect): DialectMistake[] {
  return [true, false].flatMap((value) => {
    const entry = `booleanWords.${value}`;
    const written = booleanWord(dialect, value);
    const isOther = /^(?:true|1)$/i.test(written) ? !value : /^(?:false|0)$/i.test(written) && value;
    const other = booleanOfWord(dialect, written);
    const isRead = !isOther && (other === value || other === null);
    return isRead ? [] : [{ entry, reason: `${written} is read as ${!value}; take another word` }];
  });
}

function orderMistakes(operation: string, order: string): DialectMistake[] {
  const entry = `orders.${operation}`;
  if (!Object.hasOwn(LIST_ORDERS, operation)) return notList(entry, operation);
  const orders: readonly string[] = LIST_ORDERS[operation as keyof typeof LIST_ORDERS];
  return orders.includes(order)
    ? []
    : [{ entry, reason: `there is no order ${order} here; expected one of ${orders.join(', ')}` }];
}
