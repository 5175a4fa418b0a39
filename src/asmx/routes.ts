import type { Request } from '../base/exchange.ts';
import { methodNotAllowed } from '../base/problem.ts';
import type { Contract, Group } from './contract/types.ts';
import { createGetPost } from './protocols/get-post.ts';
import type { Protocol, ProtocolName, ProtocolSettings } from './protocols/protocol.ts';
import { createSoap } from './protocols/soap.ts';

/** Where a request goes: its group, and the protocol of a call there. */

/** The protocols of one group, compiled at start. */
export interface CompiledGroup {
  readonly name: string;
  readonly operations: ReadonlySet<string>;
  readonly soap: Protocol;
  readonly get: Protocol;
  readonly post: Protocol;
}

export interface Route {
  /** Undefined for a path outside of all groups. */
  readonly group: CompiledGroup | undefined;
  /** The path below the group's own, without its slash; undefined at the group's own path. */
  readonly operationPath: string | undefined;
}

export const NO_ROUTE: Route = { group: undefined, operationPath: undefined };

// /api/<group>.asmx and the path below it. IIS ignores the letter case of file names.
const GROUP_PATH = /^\/api\/([a-z]+)\.asmx(?:\/(.*))?$/i;

/** Paths as most clients write them are found in a map; a regular expression reads all others. */
export function createRoutes(
  contract: Contract,
  settings: Omit<ProtocolSettings, 'groupName' | 'group'>,
): (path: string) => Route {
  const groups = new Map(
    Object.entries(contract).map(([groupName, group]) => [groupName, compileGroup({ groupName, group, ...settings })]),
  );

  function read(path: string): Route {
    const match = GROUP_PATH.exec(path);
    return { group: groups.get(match?.[1]?.toLowerCase() ?? ''), operationPath: match?.[2] };
  }

  const paths = Object.entries(contract).flatMap(([name, group]) => pathsOf(name, group));
  const frequent = new Map(paths.map((path) => [path, read(path)]));
  return (path) => frequent.get(path) ?? read(path);
}

function pathsOf(name: string, group: Group): string[] {
  const path = `/api/${name}.asmx`;
  return [path, ...Object.keys(group).map((operation) => `${path}/${operation}`)];
}

const compileGroup = (settings: ProtocolSettings): CompiledGroup => ({
  name: settings.groupName,
  operations: new Set(Object.keys(settings.group)),
  soap: createSoap(settings),
  get: createGetPost('get', settings),
  post: createGetPost('post', settings),
});

/** Whether the request asks for WSDL, discovery document or page: GET of the group's own path. */
export const isForDocument = ({ operationPath }: Route, { method }: Request): boolean =>
  operationPath === undefined && (method === 'GET' || method === 'HEAD');

/** The protocol of a call. Throws Problem `method` for any other method. */
export function protocolOf(group: CompiledGroup, operationPath: string | undefined, method: string): Protocol {
  const namesOperation = operationPath !== undefined;
  if (method === 'POST') return namesOperation ? group.post : group.soap;
  if (method === 'GET' && namesOperation) return group.get;
  throw methodNotAllowed(namesOperation ? ['GET', 'POST'] : ['GET', 'HEAD', 'POST']);
}

export interface InferredNames {
  readonly group: string | undefined;
  readonly protocol: ProtocolName | undefined;
  readonly operation?: string | undefined;
}

/** Infers the names of a request that is no call, or of a call that could not be decoded. */
export function inferFromPath(
  { group, operationPath }: Route,
  method: string,
  received: ProtocolName | undefined,
): InferredNames {
  if (!group || operationPath === undefined) return { group: group?.name, protocol: received };
  const operation = group.operations.has(operationPath) ? operationPath : undefined;
  return { group: group.name, protocol: received ?? inferFromMethod(method), operation };
}

function inferFromMethod(method: string): ProtocolName | undefined {
  if (method === 'GET') return 'get';
  return method === 'POST' ? 'post' : undefined;
}
