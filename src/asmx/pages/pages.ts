import { header, isWhole, type Reply, type Request, replyHeader } from '../../base/exchange.ts';
import { readFields } from '../../base/form-fields.ts';
import { type Html, html } from '../../base/html.ts';
import { methodNotAllowed, Problem } from '../../base/problem.ts';
import type { Contract, Group } from '../contract/types.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { xmlReply } from '../protocols/protocol.ts';
import { describedContract } from './dialect-descriptions.ts';
import { operationPage } from './operation-page.ts';
import { page } from './page.ts';
import { disco, wsdl } from './wsdl.ts';

/** Documents about the service: WSDL and discovery documents for programs, pages for people. */
export interface Pages {
  /** For a path outside of all groups. Throws Problem where there is nothing. */
  outside(request: Request): Reply;
  /** For GET of a group's own path: WSDL, discovery document or page. */
  group(name: string, request: Request): Reply;
  /** Returns the refusal as a page if a person reads it in a browser, else unchanged. */
  refusal(reply: Reply, request: Request): Reply;
}

export interface PageSettings {
  readonly version?: string | undefined;
  /** The user_id of the sample data, which pages show and fill in. Never that of a real account. */
  readonly demoUserId?: string | undefined;
}

export function createPages(table: Contract, namespace: string, dialect: Dialect, settings: PageSettings = {}): Pages {
  const contract = describedContract(table, dialect);
  const context: PageContext = { namespace, dialect, demoUserId: settings.demoUserId };
  const documents = new Map(
    Object.entries(contract).map(([name, group]) => [name, createDocuments(name, group, namespace)]),
  );
  return {
    outside(request) {
      // The relative links of the front page need the slash.
      if (request.path === '') return { status: 308, headers: { Location: `${request.base}/` }, body: '' };
      if (request.path !== '/') {
        const addresses = Object.keys(contract).map((name) => `/api/${name}.asmx`);
        throw new Problem('unknown-operation', `There is nothing here. The service is at ${addresses.join(', ')}.`);
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw methodNotAllowed(['GET', 'HEAD']);
      }
      return frontPage(contract, settings);
    },
    group: (name, request) =>
      (documents.get(name) as Document)(request) ?? pageOf(name, contract[name] as Group, request, context),
    refusal: (reply, request) => (isForReader(request) ? refusalPage(reply, request) : reply),
  };
}

/** The document that the query asks for; undefined where it asks for none. */
type Document = (request: Request) => Reply | undefined;

function createDocuments(name: string, group: Group, namespace: string): Document {
  const writeWsdl = wsdl(name, group, namespace);
  const writeDisco = disco(name, namespace);
  return ({ base, query }) => {
    const address = `${base}/api/${name}.asmx`;
    const names = query.split('&').map((pair) => pair.toLowerCase());
    if (names.includes('wsdl')) return xmlReply('text/xml; charset=utf-8', writeWsdl(address));
    if (names.includes('disco')) return xmlReply('text/xml; charset=utf-8', writeDisco(address));
    if (names.some((each) => each.startsWith('wsdl='))) {
      throw new Problem('unknown-operation', 'XML Web service description was not found.');
    }
    if (names.some((each) => each.startsWith('schema='))) throw new Problem('unknown-operation', 'Schema not found.');
    return undefined;
  };
}

interface PageContext {
  readonly namespace: string;
  readonly dialect: Dialect;
  readonly demoUserId: string | undefined;
}

/** A page takes one parameter, and proxies may add some of their own. */
const QUERY_FIELDS_MAX = 100;

/** The page of the operation that the query names, else of the group. */
function pageOf(name: string, group: Group, { base, query }: Request, context: PageContext): Reply {
  const fields = readFields(query, QUERY_FIELDS_MAX);
  if (!fields) throw new Problem('too-large', `There are more than ${QUERY_FIELDS_MAX} parameters.`);
  const wanted = fields.find(([field]) => field === 'op')?.[1];
  if (wanted === undefined) return groupPage(name, group, null);
  const operation = Object.hasOwn(group, wanted) ? group[wanted] : undefined;
  if (!operation) return groupPage(name, group, shown(wanted, NAME_SHOWN_MAX));
  const address = `${base}/api/${name}.asmx`;
  const hasLists = Object.values(group).some(takesList);
  return operationPage(name, wanted, operation, { ...context, address, hasLists });
}

const takesList = ({ parameters }: Group[string]): boolean =>
  Object.values(parameters).some(({ kind }) => kind === 'list');

function frontPage(contract: Contract, { version, demoUserId }: PageSettings): Reply {
  const groups = Object.entries(contract).map(
    ([name, group]) => html`<section class="group">
<h3><a href="api/${name}.asmx">${name}</a> <small><a href="api/${name}.asmx?WSDL" aria-label="WSDL of ${name}">WSDL</a></small></h3>
${operationList(name, group, 'api/')}
</section>`,
  );
  const demo =
    demoUserId === undefined
      ? ''
      : html`<p class="note">This is a demo with sample data, which is gone when it stops. Its user_id is <code>${demoUserId}</code>, and the pages have it filled in.</p>`;
  return page({
    title: 'Columba',
    trail: [['Columba']],
    main: html`<h1>Columba</h1>
<p class="lead">An SMS account service over SOAP 1.1, SOAP 1.2, HTTP GET and HTTP POST.${version === undefined ? '' : ` Version ${version}.`}</p>
${demo}
<h2>What a user_id is</h2>
<p>Every call carries a <code>user_id</code>: the secret that names the account. Whoever has it can read, change and delete what is in the account, so keep it like a password. The operator of this service gives it to you, and can take it back.</p>
<h2>Operations</h2>
<p id="search" hidden><label for="wanted">Search</label> <input id="wanted" type="search" autocomplete="off" spellcheck="false"> <span role="status"></span></p>
${groups}`,
  });
}

/** Operations by name, with summaries. The search finds parameters too. */
const operationList = (name: string, group: Group, below: string): Html =>
  html`<dl class="list">${Object.entries(group)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([operation, { summary, parameters }]) =>
        html`<div data-search="${`${name} ${operation} ${Object.keys(parameters).join(' ')} ${summary}`.toLowerCase()}"><dt><a href="${below}${name}.asmx?op=${operation}">${operation}</a></dt><dd>${summary}</dd></div>`,
    )}</dl>`;

function groupPage(name: string, group: Group, unknown: string | null): Reply {
  const note =
    unknown === null
      ? ''
      : html`<p class="note problem" role="alert"><strong>There is no operation ${unknown} here.</strong> These are the ones there are:</p>`;
  return page({
    title: `${name} – Columba`,
    trail: [['Columba', '../'], [name]],
    main: html`<h1>${name}</h1>
<p class="lead">The formal description is the <a href="${name}.asmx?WSDL">WSDL</a> of this group.</p>
${note}
<h2>Operations</h2>
${operationList(name, group, '')}`,
  });
}

const OPERATION = /\.asmx\//i;

/**
 * Whether a browser shows the response to a person. Accept with text/html is not enough: Java's
 * HttpURLConnection sends it too. Only browsers send Sec-Fetch-Mode, and only over TLS. Without it,
 * application/xhtml+xml decides, except for operations. Old programs call operations with the
 * browser control of Windows, which sends that type.
 */
function isForReader(request: Request): boolean {
  const accepted = header(request, 'accept') ?? '';
  if (!accepted.includes('text/html')) return false;
  const isOperation = OPERATION.test(request.path);
  if (request.method === 'POST' && !isOperation) return false; // SOAP
  const mode = header(request, 'sec-fetch-mode');
  if (mode !== undefined) return mode === 'navigate';
  return !isOperation && accepted.includes('application/xhtml+xml');
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'The request is wrong',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Not this way',
  413: 'Too long',
  415: 'Not this type',
  429: 'Too many calls',
  500: 'Something went wrong here',
  503: 'Not available at the moment',
};

// A page shows only the start of long texts of a request. Escaping makes them up to six times as
// long.
const NAME_SHOWN_MAX = 100;
const TEXT_SHOWN_MAX = 1_000;
const STEPS_MAX = 20;
const shown = (text: string, lengthMax: number): string =>
  text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;

/** Makes a page with the refusal's status, header fields and line of text. A long line is cut. */
function refusalPage(reply: Reply, { path, base }: Request): Reply {
  const { 'Content-Type': _type, 'Cache-Control': _, ...others } = reply.headers;
  if (!replyHeader(reply, 'Content-Type')?.startsWith('text/plain') || !isWhole(reply.body)) return reply;
  const steps = Math.max(path.split('/', STEPS_MAX + 3).length - 2, 0);
  const home = steps > STEPS_MAX ? `${base}/` : '../'.repeat(steps) || './';
  const [, name, operation] = /^\/api\/(\w{1,100}\.asmx)(?:\/(\w{1,100})$)?/i.exec(path) ?? [];
  const back =
    name && operation
      ? html`<li><a href="${home}api/${name}?op=${operation}">${operation}</a>: what it takes and answers</li>`
      : '';
  const title = `${reply.status} ${REASONS[reply.status] ?? 'Refused'}`;
  const { headers, body } = page({
    title: `${title} – Columba`,
    trail: [['Columba', home], [String(reply.status)]],
    main: html`<h1>${title}</h1>
<p class="note problem" role="alert">${shown(String(reply.body).trim(), TEXT_SHOWN_MAX)}</p>
<ul>
${back}
<li><a href="${home}">All operations</a> of this service</li>
</ul>`,
  });
  return { status: reply.status, headers: { ...headers, ...others }, body, closes: reply.closes };
}
