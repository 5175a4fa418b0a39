import { createPauses } from '../base/event-loop.ts';
import { type Html, html } from '../base/html.ts';
import type { Action } from './action.ts';
import { actions } from './actions/all.ts';
import { commandLine } from './command-line.ts';
import { problemsOf } from './openapi.ts';
import { jsonSchema } from './openapi-schemas.ts';
import { meanings, STATUS } from './problem-json.ts';

/** The reference of the API: each action with its fields, a line of curl and the command. */

type Json = Readonly<Record<string, unknown>>;

const anchorOf = ({ name }: Action): string => name.replaceAll(' ', '-');

/** One line of curl with the values of the example. */
export function curlOf(action: Action, base: string): string {
  const { method, path, example, body, upload } = action;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(example.params?.[name] ?? name)),
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(example.query ?? {})) query.set(name, String(value));
  const address = `${base}/operator/v1${filled}${query.size > 0 ? `?${query}` : ''}`;
  const parts = [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(address),
    `-H "Authorization: Bearer $COLUMBA_TOKEN"`,
    ...(body ? [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example.body ?? {}))}`] : []),
    ...(upload ? [`-H 'Content-Type: ${upload.mediaType}'`, '--data-binary @FILE'] : []),
  ];
  return parts.join(' ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A placeholder for the address of the service, which depends on the request. */
const BASE = 'https://service.invalid';
const STEP_MS = 10;

/** Makes the page in steps at the first request. Each request only fills in its address. */
export function createReference(): (base: string) => Promise<Html> {
  let made: Promise<string[]> | undefined;
  return async (base) => {
    made ??= referencePage().then(({ html: text }) => text.split(BASE));
    return { html: (await made).join(html`${base}`.html) };
  };
}

async function referencePage(): Promise<Html> {
  const nouns = [...new Set(actions.map(({ name }) => name.split(' ', 1)[0] as string))];
  const pause = createPauses(STEP_MS);
  const sections: Html[] = [];
  for (const noun of nouns) {
    sections.push(section(noun));
    await pause();
  }
  return html`<h1>The operator’s API</h1>
<p class="lead">JSON below <code>${BASE}/operator/v1</code>. Every action is also a command.</p>
<p class="note">Create a token with <code>columba token add NAME --scopes accounts</code>, and put it into
<code>COLUMBA_TOKEN</code>. The API answers 404 until a token exists.
For programs there is <code>/operator/v1/openapi.json</code>.</p>
<nav class="contents" aria-label="Contents"><ul>${nouns.map((noun) => html`<li><a href="#${noun}">${noun}</a></li>`)}
<li><a href="#problems">problems</a></li></ul></nav>
${sections}
<h2 id="problems">Problems</h2>
<p>Errors are <code>application/problem+json</code> (RFC 9457).</p>
<dl class="list">${meanings.map(
    ([kind, title, when]) =>
      html`<div id="problem-${kind}"><dt>${STATUS[kind]} ${kind}</dt><dd>${title}. ${when}</dd></div>`,
  )}</dl>`;
}

const section = (noun: string): Html => html`<h2 id="${noun}">${noun}</h2>
${actions.filter(({ name }) => name.split(' ', 1)[0] === noun).map(entry)}`;

function entry(action: Action): Html {
  const { name, method, path, summary, description, scope, needs, endless, example, output } = action;
  const problems = [...new Set(problemsOf(action).map((kind) => STATUS[kind]))].sort().join(', ');
  return html`<details id="${anchorOf(action)}-action"><summary><code>${method} ${path}</code> ${summary}</summary>
<p>${description ?? ''} ${scope === null ? 'Any token will do.' : html`Needs the scope <code>${scope}</code>. ${[needs?.says, endless?.says].filter(Boolean).join(' ')}`}</p>
${fieldsOf(action)}
<div class="sample" data-name="curl"><pre tabindex="0">${curlOf(action, BASE)}</pre></div>
<div class="sample" data-name="command"><pre tabindex="0">${commandLine(action)}</pre></div>
${
  output === null || example.output === undefined
    ? ''
    : html`<div class="sample" data-name="answer, ${action.status}"><pre tabindex="0">${JSON.stringify(example.output, null, 2)}</pre></div>`
}
<p class="quiet">Refusals: ${problems}. Name of the action: ${name}.</p>
</details>`;
}

/** The fields of the path, the query and the body. */
function fieldsOf(action: Action): Html | string {
  const rows = [
    ...rowsOf(jsonSchema(action.params), 'path'),
    ...rowsOf(jsonSchema(action.query), 'query'),
    ...(action.body ? rowsOf(jsonSchema(action.body), 'body') : []),
  ];
  return rows.length === 0 ? '' : html`<dl class="list">${rows}</dl>`;
}

function rowsOf(schema: Json, where: string): Html[] {
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, Json>).map(
    ([name, field]) =>
      html`<div><dt><code>${name}</code> <em>${where}${required.includes(name) ? ', required' : ''}</em></dt>
<dd>${String(field.description ?? '')} <em>${typeOf(field)}</em></dd></div>`,
  );
}

function typeOf(field: Json): string {
  if (Array.isArray(field.anyOf)) return field.anyOf.map(typeOf).join(' or ');
  if (Array.isArray(field.enum))
    return field.enum
      .map(String)
      .filter((each) => each !== '')
      .join(' | ');
  if (field.type === 'array') return `list of ${typeOf((field.items ?? {}) as Json)}`;
  return String(field.format ?? field.type ?? 'any');
}
