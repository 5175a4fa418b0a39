import { describeBoolean, describeParameter, describeResult, resultFields } from '../../contract/descriptions.ts';
import { type ErrorDescription, errorsOf } from '../../contract/errors.ts';
import type { Operation, ParameterType, ResultType } from '../../contract/types.ts';
import type { Reply } from '../../exchange.ts';
import { type Html, html } from '../../html.ts';
import { STATUS } from '../protocols/protocol.ts';
import { faultCode, isFault } from '../protocols/soap-fault.ts';
import { SOAP11, SOAP12 } from '../protocols/soap-version.ts';
import { rootName } from '../results/result-writer.ts';
import { page } from './page.ts';
import { type Sample, samples } from './samples.ts';
import { curlLine, snippets } from './snippets.ts';

/** Everything about one operation: what it takes and answers, a form to try it, and how programs call it. */
export interface OperationPlace {
  /** The address of the group, e.g. http://sms.example/api/inbox.asmx. */
  readonly address: string;
  readonly namespace: string;
  /** Whether an operation of the group takes a list. */
  readonly hasLists: boolean;
  readonly demoUserId: string | undefined;
}

export function operationPage(group: string, name: string, operation: Operation, place: OperationPlace): Reply {
  const userId = place.demoUserId ?? describeParameter('user_id').example.toString();
  const parameters = Object.entries(operation.parameters).map(([parameter, type]) =>
    row(`${parameter}: ${typeText(type)}`, describeParameter(parameter).description),
  );
  const sections: [id: string, heading: string, content: Html][] = [
    ['parameters', 'Parameters', html`<dl class="list">${parameters}</dl>`],
    ['result', 'Result', resultSection(group, name, operation)],
    ['try', 'Try it', trial(group, name, operation, place, userId)],
    ['programs', 'As a program', programs(name, operation, { ...place, userId })],
    ['errors', 'Errors', errorList(errorsOf(group, name, operation))],
    ['wire', 'On the wire', html`${samples(name, operation, { ...place, userId }).map(sampleSection)}`],
  ];
  return page({
    title: `${name} – ${group} – Columba`,
    trail: [['Columba', '../'], [group, `${group}.asmx`], [name]],
    main: html`<h1>${name}</h1>
<p class="lead">${operation.summary}</p>
<nav class="contents" aria-label="On this page"><ul>${sections.map(([id, heading]) => html`<li><a href="#${id}">${heading}</a></li>`)}</ul></nav>
${sections.map(([id, heading, content]) => html`<h2 id="${id}">${heading}</h2>\n${content}\n`)}`,
  });
}

const typeText = (type: ParameterType | ResultType): string => {
  if (type.kind === 'scalar') return type.name;
  return type.kind === 'list' ? `list of ${type.item.name}` : rootName(type);
};

const row = (term: string, description: Html | string): Html =>
  html`<div><dt class="mono">${term}</dt><dd>${description}</dd></div>`;

function resultSection(group: string, name: string, operation: Operation): Html {
  const { result } = operation;
  const boolean = describeBoolean(group, name);
  if (boolean) return html`<dl class="list">${row('true', boolean.true)}${row('false', boolean.false)}</dl>`;
  const rows = resultFields(result).map(({ name: field, type, description, mayBeAbsent }) =>
    row(`${field}: ${type.name}`, html`${description}${mayBeAbsent ? html` <em>May be absent.</em>` : ''}`),
  );
  const inner = result.kind === 'list' ? result.item : result;
  const caption = inner.kind === 'record' ? `Fields of ${inner.name}` : 'Columns';
  return html`<p>${describeResult(operation)}</p>
${rows.length === 0 ? '' : html`<h3>${caption}</h3>\n<dl class="list">${rows}</dl>`}`;
}

function trial(group: string, name: string, operation: Operation, place: OperationPlace, userId: string): Html {
  const curl = html`<div id="curl">${codeBlock(`${name} with curl`, curlLine(place.address, name, operation, userId))}</div>`;
  if (Object.values(operation.parameters).some(({ kind }) => kind === 'list')) {
    return html`<p>There is no form for this operation, because it takes a list. Fill in this line instead, with one <code>--data-urlencode</code> for each item of the list:</p>\n${curl}`;
  }
  const fields = Object.entries(operation.parameters).map(([parameter, type]) => {
    const isUserId = parameter === 'user_id';
    const hint = isUserId ? '' : html` <small>for example ${String(describeParameter(parameter).example)}</small>`;
    const keys = typeText(type) === 'int' || typeText(type) === 'long' ? 'numeric' : 'text';
    const value = isUserId && place.demoUserId !== undefined ? html` value="${place.demoUserId}"` : '';
    return html`<div class="field"><label for="field-${parameter}">${parameter}${hint}</label>
<input id="field-${parameter}" name="${parameter}"${value} inputmode="${keys}" autocomplete="off" spellcheck="false">
<p class="complaint" id="complaint-${parameter}" hidden></p></div>`;
  });
  return html`<form method="post" action="${group}.asmx/${name}">
${fields}
<button>Call ${name}</button>
</form>
<section id="answer" aria-live="polite" aria-label="Answer" hidden><h3>Answer</h3>
<p><strong></strong> <span></span></p>
<pre tabindex="0" role="region" aria-label="Content of the answer"></pre>
<details><summary>Header fields</summary><pre tabindex="0" role="region" aria-label="Header fields"></pre></details></section>
<p>The same call with curl:</p>
${curl}`;
}

function programs(name: string, operation: Operation, place: OperationPlace & { userId: string }): Html {
  const blocks = snippets(place, name, operation).map(
    ({ language, program }, index) =>
      html`<details name="program" data-language="${language}"${index === 0 ? html` open` : ''}><summary>${language}</summary>${codeBlock(`${name} in ${language}`, program)}</details>`,
  );
  const hint =
    place.demoUserId === undefined
      ? html`<p class="quiet">Put the account’s own user_id in place of USER_ID.</p>\n`
      : '';
  return html`${hint}${blocks}`;
}

/** First those that a program has to reckon with; the others are mistakes in how a call is put. */
function errorList(errors: readonly ErrorDescription[]): Html {
  const rows = errors.map(({ kind, when }) => row(kind, html`${when}<br><em>${answersTo(kind)}</em>`));
  return html`<p>GET and POST answer with the status and one line of text. SOAP answers with a fault, whose detail has the kind as <code>code</code>; where no fault is named here, it answers as GET and POST do.</p>
<dl class="list">${rows.slice(0, FREQUENT)}</dl>
<details><summary>Where a call is put wrongly</summary><dl class="list">${rows.slice(FREQUENT)}</dl></details>`;
}

const FREQUENT = 5;

/** The statuses and faults of a kind. */
function answersTo(kind: ErrorDescription['kind']): string {
  const status = isOfSoap(kind) ? '' : `${STATUS[kind]} in GET and POST`;
  const fault = `${SOAP_STATUS} ${faultCode(kind, SOAP11)} in SOAP 1.1, ${SOAP_STATUS} ${faultCode(kind, SOAP12)} in SOAP 1.2`;
  if (!isFault(kind)) return `${STATUS[kind]} in all forms`;
  return status === '' ? fault : `${status}, ${fault}`;
}

const SOAP_STATUS = 500;
const isOfSoap = (kind: ErrorDescription['kind']): boolean => kind === 'version' || kind === 'must-understand';

const sampleSection = ({ title, request, response }: Sample): Html => html`<details><summary>${title}</summary>
${codeBlock(`${title} request`, request)}
${codeBlock(`${title} response`, response)}</details>`;

const codeBlock = (name: string, text: string): Html =>
  html`<div class="sample" data-name="${name}"><pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre></div>`;
