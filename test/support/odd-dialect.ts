import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { ODD_WAYS, WORDS } from './old-server/ways.ts';

/** What the odd ways of the old server are in a dialect. */
export const ODD_DIALECT: Dialect = {
  namespace: ODD_WAYS.namespace,
  dataSet: { name: ODD_WAYS.dataSetName, table: ODD_WAYS.tableName },
  columns: {
    ...columnsOf('account.FetchContactsDS'),
    ...columnsOf('account.FetchContactsDS', 'account.FetchContactsByGroupIdDS'),
    ...columnsOf('inbox.InboxDS'),
    ...columnsOf('sent.FetchSentDS'),
    ...columnsOf('compose.FetchScheduledDS'),
  },
  statusWords: Object.fromEntries(Object.entries(WORDS).map(([theirs, ours]) => [ours, theirs])),
  dates: { zone: 'none', timeZone: '+02:00', fractionDigits: 'trimmed' },
  groupId: 'zero',
  faultCode: 'server',
  caps: ODD_WAYS.caps,
};

function columnsOf(operation: string, as = operation): Dialect['columns'] {
  const columns = (ODD_WAYS.columns[operation] ?? []).map(([shows, name, type]) => {
    const column = { name, type: type as 'string' };
    return shows.startsWith('=') ? { ...column, constant: shows.slice(1) } : { ...column, from: shows };
  });
  return { [as]: columns };
}
