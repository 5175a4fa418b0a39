import { meaningOf, resultMeaning } from '../contract/meanings.ts';
import type { Contract, Fields, Group, Operation, ParameterType, ResultType } from '../contract/types.ts';
import type { Reply, Request } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { type Html, html, page } from './html.ts';
import { type Sample, samples } from './samples.ts';
import { snippets } from './snippets.ts';
import { rootName } from './values.ts';

/** The pages that people see who open an address of the service in a browser. */
export interface Pages {
  /** For an address that is of no group. */
  outside(request: Request): Reply;
  group(name: string, request: Request): Reply;
}

export function createPages(contract: Contract, namespace: string): Pages {
  return {
    outside(request) {
      // Without its slash, the links of the front page would lead elsewhere.
      if (request.path === '') return { status: 308, headers: { Location: `${request.base}/` }, body: '' };
      if (request.path !== '/') {
        const addresses = Object.keys(contract).map((name) => `/api/${name}.asmx`);
        throw new Problem('unknown-operation', `There is nothing here. The service is at ${addresses.join(', ')}.`);
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw new Problem('method', 'This address takes GET, HEAD only.', { headers: { Allow: 'GET, HEAD' } });
      }
      return frontPage(contract);
    },
    group(name, request) {
      const group = contract[name] as Group;
      const wanted = new URLSearchParams(request.query).get('op');
      if (wanted === null) return groupPage(name, group, null);
      const operation = Object.hasOwn(group, wanted) ? group[wanted] : undefined;
      if (!operation) return groupPage(name, group, wanted);
      return operationPage(name, wanted, operation, { address: `${request.base}/api/${name}.asmx`, namespace });
    },
  };
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

function frontPage(contract: Contract): Reply {
  const groups = Object.entries(contract).map(
    ([name, group]) => html`<div><dt><a href="api/${name}.asmx">${name}</a></dt>
<dd>${Object.keys(group).length} operations: ${Object.keys(group).sort().join(', ')}.</dd></div>`,
  );
  return page({
    title: 'Columba',
    trail: [['Columba']],
    main: html`<h1>Columba</h1>
<p class="lead">An SMS account service over SOAP 1.1, SOAP 1.2, HTTP GET and HTTP POST.</p>
<h2>Groups of operations</h2>
<dl class="list">${groups}</dl>`,
  });
}

function groupPage(name: string, group: Group, unknown: string | null): Reply {
  const rows = Object.entries(group)
    .sort(byName)
    .map(
      ([operation, { summary }]) =>
        html`<div><dt><a href="${name}.asmx?op=${operation}">${operation}</a></dt><dd>${summary}</dd></div>`,
    );
  const note =
    unknown === null
      ? ''
      : html`<p role="alert"><strong>There is no operation ${unknown} here.</strong> These are the ones there are:</p>`;
  return page({
    title: `${name} – Columba`,
    trail: [['Columba', '../'], [name]],
    main: html`<h1>${name}</h1>
<p class="lead">The formal description is the <a href="${name}.asmx?WSDL">WSDL</a> of this group.</p>
${note}
<h2>Operations</h2>
<dl class="list">${rows}</dl>`,
  });
}

function operationPage(
  group: string,
  name: string,
  operation: Operation,
  place: { address: string; namespace: string },
): Reply {
  const programs = snippets(place.address, name, operation).map(
    ({ language, program }) =>
      html`<details><summary>${language}</summary>${codeBlock(`${name} in ${language}`, program)}</details>`,
  );
  return page({
    title: `${name} – ${group} – Columba`,
    trail: [['Columba', '../'], [group, `${group}.asmx`], [name]],
    main: html`<h1>${name}</h1>
<p class="lead">${operation.summary}</p>
<h2>Parameters</h2>
<dl class="list">${Object.entries(operation.parameters).map(parameterRow)}</dl>
<h2>Result</h2>
<p>${resultMeaning(operation.result)}</p>
${resultFields(operation.result)}
<h2 id="try">Try it</h2>
${testForm(group, name, operation)}
<h2>As a program</h2>
<p class="quiet">Put the account’s own user_id in place of USER_ID.</p>
${programs}
<h2>On the wire</h2>
${samples(name, operation, place).map(sampleSection)}`,
  });
}

const typeText = (type: ParameterType | ResultType): string => {
  if (type.kind === 'scalar') return type.name;
  return type.kind === 'list' ? `list of ${type.item.name}` : rootName(type);
};

const parameterRow = ([name, type]: [string, ParameterType]): Html =>
  html`<div><dt class="mono">${name}: ${typeText(type)}</dt><dd>${meaningOf(name).meaning}</dd></div>`;

/** What a record or a row consists of. */
function resultFields(type: ResultType): Html | string {
  const inner = type.kind === 'list' ? type.item : type;
  if (inner.kind === 'scalar') return '';
  const fields: Fields = inner.kind === 'record' ? inner.fields : inner.columns;
  const rows = Object.entries(fields).map(
    ([name, { name: kind }]) => html`<div><dt class="mono">${name}</dt><dd class="mono">${kind}</dd></div>`,
  );
  return html`<details><summary>${inner.kind === 'record' ? `Fields of ${inner.name}` : 'Columns'}</summary><dl class="list">${rows}</dl></details>`;
}

function testForm(group: string, name: string, { parameters }: Operation): Html {
  if (Object.values(parameters).some(({ kind }) => kind === 'list')) {
    return html`<p>There is no form for this operation, because it takes a list. It can be called in all four forms below.</p>`;
  }
  const inputs = Object.entries(parameters).map(([parameter, type]) => {
    const example = meaningOf(parameter).example;
    const hint = parameter === 'user_id' ? '' : html` <small>for example ${example}</small>`;
    const keys = typeText(type) === 'int' || typeText(type) === 'long' ? 'numeric' : 'text';
    return html`<label><span>${parameter}${hint}</span><input name="${parameter}" inputmode="${keys}" autocomplete="off" spellcheck="false"></label>`;
  });
  return html`<form method="post" action="${group}.asmx/${name}">
${inputs}
<button>Call ${name}</button>
</form>
<section id="answer" aria-live="polite" aria-label="Answer" hidden><h3>Answer</h3><p></p><pre tabindex="0" aria-label="Answer"></pre></section>`;
}

const sampleSection = ({ title, request, response }: Sample): Html => html`<h3>${title}</h3>
${codeBlock(`${title} request`, request)}
${codeBlock(`${title} response`, response)}`;

const codeBlock = (name: string, text: string): Html =>
  html`<div class="sample" data-name="${name}"><pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre></div>`;
