import type { Reply } from '../../base/exchange.ts';
import { type Html, html } from '../../base/html.ts';
import { describeBoolean, describeParameter, describeResult } from '../contract/descriptions.ts';
import { type ErrorDescription, errorsOf } from '../contract/errors.ts';
import type { Operation, ParameterType, ResultType } from '../contract/types.ts';
import { type Dialect, dataSetNames } from '../dialect/dialect.ts';
import { STATUS, statusesOf } from '../protocols/protocol.ts';
import { faultCode, isFault } from '../protocols/soap-fault.ts';
import { SOAP11, SOAP12 } from '../protocols/soap-version.ts';
import { resultForm } from '../results/result-form.ts';
import { rootName } from '../results/result-writer.ts';
import { shownFields } from './dialect-descriptions.ts';
import { page } from './page.ts';
import { type Sample, type SampleTarget, samples } from './samples.ts';
import { curlLine, type SnippetTarget, snippets } from './snippets.ts';

/** The page of an operation: parameters, result, an HTML form to try it, programs, errors. */
export interface OperationContext extends Omit<SampleTarget & SnippetTarget, 'userId'> {
  readonly demoUserId: string | undefined;
}

export function operationPage(group: string, name: string, operation: Operation, context: OperationContext): Reply {
  const userId = context.demoUserId ?? describeParameter('user_id').example.toString();
  const form = resultForm(context.dialect, `${group}.${name}`);
  const parameters = Object.entries(operation.parameters).map(([parameter, type]) =>
    row(`${parameter}: ${typeText(type)}`, describeParameter(parameter).description),
  );
  const sections: [id: string, heading: string, content: Html][] = [
    ['parameters', 'Parameters', html`<dl class="list">${parameters}</dl>`],
    ['result', 'Result', resultSection(group, name, operation, context.dialect)],
    ['try', 'Try it', trial(group, name, operation, context, userId)],
    ['programs', 'As a program', programs(name, operation, { ...context, form, userId })],
    ['errors', 'Errors', errorList(errorsOf(group, name, operation), context.dialect)],
    ['wire', 'On the wire', html`${samples(group, name, operation, { ...context, userId }).map(sampleSection)}`],
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

function resultSection(group: string, name: string, operation: Operation, dialect: Dialect): Html {
  const { result } = operation;
  const boolean = describeBoolean(group, name);
  if (boolean) return html`<dl class="list">${row('true', boolean.true)}${row('false', boolean.false)}</dl>`;
  const key = `${group}.${name}`;
  const rows = shownFields(result, dialect, key).map(({ name: field, type, description, mayBeAbsent }) =>
    row(`${field}: ${type}`, html`${description}${mayBeAbsent ? html` <em>May be absent.</em>` : ''}`),
  );
  const inner = result.kind === 'list' ? result.item : result;
  const caption = inner.kind === 'record' ? `Fields of ${inner.name}` : 'Columns';
  return html`<p>${describeResult(operation, dataSetNames(dialect, key).table)}</p>
${rows.length === 0 ? '' : html`<h3>${caption}</h3>\n<dl class="list">${rows}</dl>`}`;
}

function trial(group: string, name: string, operation: Operation, context: OperationContext, userId: string): Html {
  const curl = html`<div id="curl">${codeBlock(`${name} with curl`, curlLine(context.address, name, operation, userId))}</div>`;
  if (Object.values(operation.parameters).some(({ kind }) => kind === 'list')) {
    return html`<p>There is no form for this operation, because it takes a list. Fill in this line instead, with one <code>--data-urlencode</code> for each item of the list:</p>\n${curl}`;
  }
  const fields = Object.entries(operation.parameters).map(([parameter, type]) => {
    const isUserId = parameter === 'user_id';
    const hint = isUserId ? '' : html` <small>for example ${String(describeParameter(parameter).example)}</small>`;
    const keys = typeText(type) === 'int' || typeText(type) === 'long' ? 'numeric' : 'text';
    const value = isUserId && context.demoUserId !== undefined ? html` value="${context.demoUserId}"` : '';
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

function programs(name: string, operation: Operation, context: OperationContext & { userId: string }): Html {
  const blocks = snippets(context, name, operation).map(
    ({ language, program }, index) =>
      html`<details name="program" data-language="${language}"${index === 0 ? html` open` : ''}><summary>${language}</summary>${codeBlock(`${name} in ${language}`, program)}</details>`,
  );
  const hint =
    context.demoUserId === undefined
      ? html`<p class="quiet">Put the account’s own user_id in place of USER_ID.</p>\n`
      : '';
  return html`${hint}${blocks}`;
}

/** First the errors that any program meets, then those of malformed requests. */
function errorList(errors: readonly ErrorDescription[], dialect: Dialect): Html {
  const rows = errors.map(({ kind, when }) => row(kind, html`${when}<br><em>${answersTo(kind, dialect)}</em>`));
  return html`<p>GET and POST answer with the status and one line of text. SOAP answers with a fault, whose detail has the kind as <code>code</code>; where no fault is named here, it answers as GET and POST do.</p>
<dl class="list">${rows.slice(0, FREQUENT)}</dl>
<details><summary>Where a call is put wrongly</summary><dl class="list">${rows.slice(FREQUENT)}</dl></details>`;
}

const FREQUENT = 5;

/** The status and the fault codes of a kind. */
function answersTo(kind: ErrorDescription['kind'], dialect: Dialect): string {
  const inGetAndPost = `${statusesOf(dialect)[kind]} in GET and POST`;
  const fault = `${SOAP_STATUS} ${faultCode(kind, SOAP11, dialect)} in SOAP 1.1, ${SOAP_STATUS} ${faultCode(kind, SOAP12, dialect)} in SOAP 1.2`;
  if (isFault(kind)) return isOfSoap(kind) ? fault : `${inGetAndPost}, ${fault}`;
  const plain = STATUS[kind];
  return plain === statusesOf(dialect)[kind] ? `${plain} in all forms` : `${inGetAndPost}, ${plain} in SOAP`;
}

const SOAP_STATUS = 500;
const isOfSoap = (kind: ErrorDescription['kind']): boolean => kind === 'version' || kind === 'must-understand';

const sampleSection = ({ title, request, response }: Sample): Html => html`<details><summary>${title}</summary>
${codeBlock(`${title} request`, request)}
${codeBlock(`${title} response`, response)}</details>`;

const codeBlock = (name: string, text: string): Html =>
  html`<div class="sample" data-name="${name}"><pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre></div>`;
