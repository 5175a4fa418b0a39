import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import soap from 'soap';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Contract } from '../../src/asmx/contract/types.ts';
import type { OldServer } from '../../src/migration/old-server/old-server.ts';
import { node, type Peer, php, python } from '../../test/support/peers.ts';

/** Real SOAP toolkits, made from the WSDL at an address. Each takes calls one after the other. */
export interface Toolkit {
  readonly name: string;
  /** Throws where the toolkit does. */
  call(group: string, operation: string, args: Readonly<Record<string, unknown>>): Promise<ToolkitAnswer>;
  /** The next call reads its WSDL again. */
  reload(): Promise<void>;
  close(): Promise<void>;
}
export interface ToolkitAnswer {
  /** What the program gets: a list is an array. */
  readonly value: unknown;
  readonly xml: string;
}

type Version = 'soap11' | 'soap12';

export interface ToolkitKind {
  readonly name: string;
  readonly peer: Peer;
  start(command: string, address: string): Toolkit;
}
const program = (name: string, peer: Peer, file: string, version: Version): ToolkitKind => ({
  name,
  peer,
  start: (command, address) => startProgram(name, command, file, address, version),
});
export const TOOLKITS: readonly ToolkitKind[] = [
  program('PHP SoapClient', php(), 'toolkit.php', 'soap11'),
  program('Python zeep', python(), 'toolkit.py', 'soap12'),
  { name: 'npm soap', peer: node, start: (_, address) => npmSoap(address, 'soap12') },
];

function startProgram(name: string, command: string, file: string, address: string, version: Version): Toolkit {
  const path = fileURLToPath(new URL(file, import.meta.url));
  // A proxy of the machine's settings would be asked for our address.
  const env = { PATH: process.env.PATH, HOME: tmpdir(), LANG: 'C.UTF-8', TZ: 'Africa/Johannesburg' };
  const child = spawn(command, [path], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  child.stdin.on('error', () => {});
  const ask = (asked: object): Promise<{ value?: unknown; xml?: string; error?: string }> =>
    new Promise((resolve, reject) => {
      waiting.push((line) => resolve(JSON.parse(line)));
      ended.then(() => reject(new Error(`${name} has ended`)));
      child.stdin.write(`${JSON.stringify(asked)}\n`);
    });
  child.stdin.write(`${JSON.stringify({ address, version })}\n`);
  return {
    name,
    async call(group, operation, args) {
      const {
        value,
        xml = '',
        error,
      } = await ask({ group, operation, arguments: argumentsOf(group, operation, args) });
      if (error !== undefined) throw new Error(`${name}: ${error}`);
      return { value: listed(value), xml };
    },
    async reload() {
      await ask({ reload: true });
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

type Method = (
  args: object,
  done: (error: unknown, response: Record<string, unknown> | null, xml: string) => void,
) => void;

function npmSoap(address: string, version: Version): Toolkit {
  let clients = new Map<string, Promise<soap.Client>>();
  const clientFor = (group: string): Promise<soap.Client> => {
    const options = { disableCache: true, forceSoap12Headers: version === 'soap12' };
    const found = clients.get(group) ?? soap.createClientAsync(`${address}/api/${group}.asmx?WSDL`, options);
    clients.set(group, found);
    found.catch(() => clients.delete(group));
    return found;
  };
  return {
    name: 'npm soap',
    async call(group, operation, args) {
      const client = await clientFor(group);
      const port: Record<string, Method> = client[group][`${group}${version === 'soap12' ? 'Soap12' : 'Soap'}`];
      return new Promise((resolve, reject) => {
        port[operation]?.(argumentsOf(group, operation, args), (error, response, xml) => {
          if (error) reject(new Error(`npm soap: ${(error as Error).message}`));
          else resolve({ value: listed(response?.[`${operation}Result`]), xml });
        });
      });
    },
    async reload() {
      clients = new Map();
    },
    async close() {},
  };
}

/** Values as a program passes them: instants are texts with a zone, and numbers are numbers. */
function argumentsOf(group: string, operation: string, args: Readonly<Record<string, unknown>>) {
  const parameters = (contract as Contract)[group]?.[operation]?.parameters ?? {};
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      const type = parameters[name];
      if (type?.kind !== 'scalar') return [name, value];
      if (type.name === 'dateTime') return [name, new Date(value as number).toISOString()];
      return [name, type.name === 'int' || type.name === 'long' ? Number(value) : value];
    }),
  );
}

/** A list is in one element of its item's name, or is the value itself. None is null for some. */
function listed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? [];
  const inner = Object.values(value);
  return inner.length === 1 && Array.isArray(inner[0]) ? inner[0] : inner.length === 0 ? [] : value;
}

/** A toolkit in the place of the client of the kit, for the load of the drill. */
export const asClient = (toolkit: Toolkit): Pick<OldServer, 'call'> => ({
  async call(group, operation, args) {
    const { value, xml } = await toolkit.call(group, operation, args);
    const isDataSet = operation.endsWith('DS');
    const rows = isDataSet ? [...xml.matchAll(ID_COLUMN)].map(([, id]) => ({ id })) : value;
    return { result: { kind: 'value', value: rows } } as Awaited<ReturnType<OldServer['call']>>;
  },
});

/** The first column of each DataSet of the odd server. */
const ID_COLUMN = /<(?:SmsID|ScheduleID|MessageID|ContactID)>(\d+)</g;
