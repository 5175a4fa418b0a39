import type { Fields } from '../../asmx/contract/types.ts';
import { booleanOfWord, type Dialect, GROUP_FIELD, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { counted } from '../../base/counted.ts';
import { operationOf } from '../old-server/answer.ts';
import type { RawDataSet } from '../old-server/answer-dataset.ts';
import { DatesLearner } from './learn-dates.ts';
import { Counts, eitherWay, type Learned, merged, NOTHING, type Observation, onlyDoubt, recordsOf } from './learned.ts';

/** Learns the namespace, dates, empty strings, contacts without a group, and errors. */
export class ValuesLearner {
  readonly #namespaces = new Counts();
  readonly #recordDates = new DatesLearner();
  readonly #rowDates = new DatesLearner();
  readonly #strings = new Counts();
  readonly #groups = new Counts();
  readonly #statuses = new Counts();
  readonly #codes = new Counts();

  see(observation: Observation): void {
    const { answer, group, operation, isSoap, status } = observation;
    if (answer.kind === 'fault' && !isSoap && JUDGED.includes(status)) this.#statuses.add(String(status));
    if (answer.kind === 'fault' && isSoap && !answer.code.startsWith('HTTP ')) this.#codes.add(answer.code);
    if (answer.kind !== 'value') return;
    if (answer.namespace !== '') this.#namespaces.add(answer.namespace);
    const type = operationOf(group, operation)?.result;
    if (type?.kind === 'dataSet') {
      this.#seeRows(answer.raw as RawDataSet, observation);
      return;
    }
    const item = type?.kind === 'list' ? type.item : type;
    if (item?.kind !== 'record') return;
    for (const record of recordsOf(answer.raw)) this.#seeRecord(record, item.fields, observation);
  }

  #seeRecord(record: Readonly<Record<string, string>>, fields: Fields, { at, name }: Observation): void {
    for (const [field, { name: type }] of Object.entries(fields)) {
      const text = record[field];
      if (type === 'dateTime' && text !== undefined)
        this.#recordDates.see(text, RECENT.includes(name) ? at : undefined);
      if (field === GROUP_FIELD) this.#groups.add(groupKind(text));
      // Profile does not count, because recordings empty its password.
      else if (type === 'string' && name !== 'account.Profile' && !text) {
        this.#strings.add(text === undefined ? 'absent' : 'empty');
      }
    }
  }

  #seeRows({ columns = [], rows = [] }: Partial<RawDataSet>, { at, name }: Observation): void {
    const dates = columns.filter(({ type }) => type === 'dateTime');
    for (const row of rows) {
      for (const { name: column } of dates) {
        const text = row[column];
        if (text !== undefined) this.#rowDates.see(text, RECENT.includes(name) ? at : undefined);
      }
    }
  }

  learned(): Learned {
    return merged([
      usual('namespace', this.#namespaces.ranked, (other, times) => `${counted(times, 'answer')} had ${other}`),
      this.#dates(),
      this.#emptyStrings(),
      this.#groupId(),
      this.#errorStatus(),
      this.#faultCode(),
    ]);
  }

  #dates(): Learned {
    const records = this.#recordDates.learned('dates');
    const rows = this.#rowDates.learned('dataSet.dates');
    const isSame = JSON.stringify(records.form) === JSON.stringify(rows.form) || rows.findings.length === 0;
    // If no record has a date, the form of DataSets applies to all dates.
    const dates = records.findings.length === 0 ? rows.form : records.form;
    const own = isSame || records.findings.length === 0 ? undefined : (rows.form ?? { zone: 'Z' as const });
    return {
      dialect: { ...(dates && { dates }), ...(own && { dataSet: { dates: own } }) },
      findings: [...records.findings, ...rows.findings],
      uncertain: isSame ? records.uncertain : [...records.uncertain, ...rows.uncertain],
    };
  }

  #emptyStrings(): Learned {
    const [absent, empty] = [this.#strings.of('absent'), this.#strings.of('empty')];
    if (absent + empty === 0) return NOTHING;
    const findings = [{ entry: 'emptyStrings', count: absent + empty, text: `${absent} absent, ${empty} empty` }];
    // A null value is always absent, so absent values tell nothing about empty strings.
    return { dialect: absent === 0 ? { emptyStrings: 'empty' } : {}, findings, uncertain: [] };
  }

  #groupId(): Learned {
    const none = this.#groups.ranked.filter(([kind]) => kind !== 'group');
    if (none.length === 0 && this.#groups.total > 0) return onlyDoubt('groupId', 'no contact without a group was seen');
    return usual('groupId', none, (kind, times) => `${counted(times, 'contact')} had it ${kind}`);
  }

  #faultCode(): Learned {
    const server = this.#codes.of('Server') + this.#codes.of('Receiver');
    const client = this.#codes.of('Client') + this.#codes.of('Sender');
    const text = `${server} of the server, ${client} of the client`;
    return eitherWay('faultCode', [server, client], {
      dialect: server > client ? { faultCode: 'server' } : {},
      text,
      none: 'no SOAP fault was seen',
      both: `the codes of faults differ: ${text}`,
    });
  }

  #errorStatus(): Learned {
    const asmx = this.#statuses.of('500');
    const http = this.#statuses.total - asmx;
    return eitherWay('errorStatus', [asmx, http], {
      dialect: { errorStatus: asmx >= http ? 'asmx' : 'http' },
      text: this.#statuses.ranked.map(([status]) => status).join(', '),
      none: 'no error of GET or POST was seen',
      both: `${asmx} errors had 500, and ${http} others`,
    });
  }
}

/** Takes the value that was seen most often. Every other value is a doubt. */
function usual(
  entry: 'namespace' | 'groupId',
  [most, ...others]: Counts['ranked'],
  reason: (other: string, times: number) => string,
): Learned {
  if (!most) return NOTHING;
  const [text, count] = most;
  const uncertain = others.map(([other, times]) => ({ entry, reason: reason(other, times) }));
  return { dialect: { [entry]: text }, findings: [{ entry, count, text }], uncertain };
}

/** The statuses by which a server may answer a wrong call. */
const JUDGED = [400, 401, 403, 404, 415, 422, 500];

/** Lists whose newest date is about now if a client polls. */
const RECENT = ['inbox.Unread', 'inbox.Read', 'inbox.InboxDS', 'sent.FetchUnmarkedDeliveryStatus', 'sent.FetchSentDS'];

function groupKind(text: string | undefined): NonNullable<Dialect['groupId']> | 'group' {
  if (text === undefined) return 'absent';
  if (text === '') return 'empty';
  return text === '0' ? 'zero' : 'group';
}

/** Learns the words for true and false, by results and by columns that show a boolean of ours. */
export class BooleansLearner {
  readonly #words = new Counts();
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  see({ name, group, operation, answer }: Observation): void {
    const type = operationOf(group, operation)?.result;
    if (answer.kind !== 'value' || !type) return;
    if (type.kind === 'scalar' && type.name === 'boolean') this.#words.add(String(answer.raw).trim());
    if (type.kind !== 'dataSet') return;
    const ours = Object.entries(type.columns).filter(([, { name: scalar }]) => scalar === 'boolean');
    const columns = this.#dialect.columns?.[name] ?? ours.map(([column]) => ({ name: column, from: column }));
    const shown = columns.filter(({ from }) => ours.some(([column]) => column === from));
    const { rows = [] } = answer.raw as Partial<RawDataSet>;
    for (const row of rows) for (const column of shown) this.#words.add((row[column.name] ?? '').trim());
  }

  learned(): Learned {
    const words: Record<'true' | 'false', string[]> = { true: [], false: [] };
    const findings: Learned['findings'][number][] = [];
    for (const [word, count] of this.#words.ranked) {
      const value = booleanOfWord(NO_DIALECT, word);
      if (value === null) continue; // true, false, 1 and 0, which need no entry
      words[`${value}`].push(word);
      findings.push({ entry: `booleanWords.${value}`, count, text: `“${word}”` });
    }
    const seen = Object.entries(words).filter(([, each]) => each.length > 0);
    if (seen.length === 0) return { dialect: {}, findings, uncertain: [] };
    const booleanWords = Object.fromEntries(seen.map(([value, each]) => [value, each.length === 1 ? each[0] : each]));
    const missing = (['true', 'false'] as const).filter((value) => words[value].length === 0);
    return {
      dialect: { booleanWords: booleanWords as NonNullable<Dialect['booleanWords']> },
      findings,
      uncertain: missing.map((value) => ({
        entry: `booleanWords.${value}`,
        reason: `no word for ${value} was seen, while the other one has a word of its own; name it`,
      })),
    };
  }
}
