import { randomUUID } from 'node:crypto';
import type { DateContext } from '../contract/dates.ts';
import type { Contract, Group } from '../contract/types.ts';
import type { Reply, Request } from '../exchange.ts';
import { Problem, toProblem } from '../problem.ts';
import { type Call, type Form, type FormName, plainProblem, xmlReply } from './form.ts';
import { createPages } from './help.ts';
import { createPairs } from './pairs.ts';
import { createSoap } from './soap.ts';
import { disco, wsdl } from './wsdl.ts';

/** The contract on the wire: from a request to its reply, whatever happens in between. */
export interface EndpointSettings {
  readonly contract: Contract;
  readonly namespace: string;
  readonly dates: () => DateContext;
  readonly operations: (call: Call, client: string) => Promise<unknown>;
  /** Told of every problem that is not the client's doing. */
  readonly report: (problem: Problem, reference: string) => void;
  /** Told of every call that was answered: for tests, metrics, traces. */
  readonly observe?: (exchange: { form: FormName; call: Call; request: Request; reply: Reply }) => void;
}
export type Endpoint = (request: Request) => Promise<Reply>;

export function createEndpoint(settings: EndpointSettings): Endpoint {
  const { contract, namespace, dates } = settings;
  const pages = createPages(contract, namespace);
  const groups = new Map(
    Object.entries(contract).map(([name, group]) => [name, compileGroup(name, group, namespace, dates)]),
  );

  return async (request) => {
    let encodeProblem: (problem: Problem) => Reply = plainProblem;
    try {
      const target = ADDRESS.exec(request.path);
      const group = groups.get(target?.[1]?.toLowerCase() ?? '');
      if (!group) return pages.outside(request);
      const path = target?.[2];
      if (path === undefined && isReading(request)) return describe(group, request);

      const form = group.forms[`${request.method} ${path === undefined ? '' : 'operation'}`];
      if (!form) throw methodNotAllowed(path === undefined ? 'GET, HEAD, POST' : 'GET, POST');
      encodeProblem = (problem) => form.encodeProblem(problem, request);

      const message = await form.receive(request, path ?? '');
      encodeProblem = message.encodeProblem;
      const call = message.decode();
      const reply = message.encode(call, await settings.operations(call, request.client));
      settings.observe?.({ form: message.form, call, request, reply });
      return reply;
    } catch (thrown) {
      const reference = randomUUID();
      const problem = toProblem(thrown, reference);
      if (problem.kind === 'internal' || problem.kind === 'unavailable') settings.report(problem, reference);
      return encodeProblem(problem);
    }
  };

  /** GET of the bare address: WSDL, discovery document or help page. */
  function describe(group: CompiledGroup, request: Request): Reply {
    const address = `${request.base}/api/${group.name}.asmx`;
    const names = request.query.split('&').map((pair) => pair.toLowerCase());
    if (names.includes('wsdl')) return xmlReply('text/xml; charset=utf-8', group.wsdl(address));
    if (names.includes('disco')) return xmlReply('text/xml; charset=utf-8', group.disco(address));
    if (names.some((name) => name.startsWith('wsdl='))) {
      throw new Problem('unknown-operation', 'XML Web service description was not found.');
    }
    if (names.some((name) => name.startsWith('schema='))) throw new Problem('unknown-operation', 'Schema not found.');
    return pages.group(group.name, request);
  }
}

// /api/<group>.asmx and what follows it. IIS did not mind the letter case of a file name.
const ADDRESS = /^\/api\/([a-z]+)\.asmx(?:\/(.*))?$/i;

const isReading = ({ method }: Request) => method === 'GET' || method === 'HEAD';

const methodNotAllowed = (allowed: string) =>
  new Problem('method', `This address takes ${allowed} only.`, { headers: { Allow: allowed } });

interface CompiledGroup {
  readonly name: string;
  readonly wsdl: (address: string) => string;
  readonly disco: (address: string) => string;
  /** By method and whether the path names an operation. */
  readonly forms: Readonly<Record<string, Form>>;
}

function compileGroup(name: string, group: Group, namespace: string, dates: () => DateContext): CompiledGroup {
  const settings = { groupName: name, group, namespace, dates };
  return {
    name,
    wsdl: wsdl(name, group, namespace),
    disco: disco(name, namespace),
    forms: {
      'POST ': createSoap(settings),
      'GET operation': createPairs('get', settings),
      'POST operation': createPairs('post', settings),
    },
  };
}
