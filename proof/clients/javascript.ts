import { node } from '../../test/support/peers.ts';
import type { ClientReply, Quirk, Row } from './answers.ts';
import type { Outcome, SoapClient, Version } from './stories.ts';

/** Clients that are npm packages: they run in this process. */
export interface NpmClient {
  readonly name: string;
  readonly quirks: readonly Quirk[];
  /** A dateTime as a program passes it to this client. */
  dateTime(text: string): unknown;
  /** A client of one group of operations, made from its WSDL. */
  connect(wsdl: string, group: string, version: Version): Promise<Caller>;
}
/** Throws ClientFault for a fault. */
export type Caller = (operation: string, args: Readonly<Record<string, unknown>>) => Promise<ClientReply>;

export class ClientFault extends Error {
  readonly fault: Fault11 | Fault12;
  readonly status: number;
  readonly xml: string;

  constructor(fault: Fault11 | Fault12, status: number, xml: string) {
    super('fault');
    this.fault = fault;
    this.status = status;
    this.xml = xml;
  }
}
export interface Fault11 {
  readonly faultcode: string;
  readonly faultstring: string;
  readonly detail: { readonly error: unknown };
}
export interface Fault12 {
  readonly Code: { readonly Value: string };
  readonly Reason: { readonly Text: { readonly $value: string } };
  readonly Detail: { readonly error: unknown };
}

export function npmClient({ name, quirks, dateTime, connect }: NpmClient): SoapClient {
  return {
    name: `npm client ${name}`,
    peer: node,
    quirks: [...quirks, 'columns are texts'],
    rowsOf,
    argument: (type, value) => (type.name === 'dateTime' ? dateTime(value as string) : value),
    async make(calls, { address, version }) {
      const callers = new Map<string, Caller>();
      const outcomes: Outcome[] = [];
      for (const { group, operation, arguments: args } of calls) {
        const caller = callers.get(group) ?? (await connect(`${address}/api/${group}.asmx?WSDL`, group, version));
        callers.set(group, caller);
        outcomes.push(await outcome(caller(operation, args)));
      }
      return outcomes;
    },
  };
}

async function outcome(call: ReturnType<Caller>): Promise<Outcome> {
  try {
    return { kind: 'answer', ...(await call) };
  } catch (thrown) {
    if (!(thrown instanceof ClientFault)) throw thrown;
    const { fault, status, xml } = thrown;
    return { kind: 'fault', fault: partsOf(fault), status, xml };
  }
}

const partsOf = (fault: Fault11 | Fault12) =>
  'faultcode' in fault
    ? { code: fault.faultcode, text: fault.faultstring, error: fault.detail.error }
    : { code: fault.Code.Value, text: fault.Reason.Text.$value, error: fault.Detail.error };

/** One row alone is no list to these clients, and the attributes of a row are a column. */
function rowsOf(dataSet: unknown): Row[] {
  const { diffgram } = dataSet as { diffgram: { NewDataSet?: { Table: Row | Row[] } } | null | undefined };
  const table = diffgram?.NewDataSet?.Table ?? [];
  return (Array.isArray(table) ? table : [table as Row]).map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !/^\$?attributes$/.test(name))),
  );
}
