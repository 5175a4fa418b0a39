import { type Html, html } from '../base/html.ts';
import { grouped, unmarked } from './counts.ts';
import { dove, type IconName, icon } from './icons.ts';
import { frameTexts } from './texts.ts';
import { type Cell, party, type Tone, telephone } from './words.ts';

/** The parts that every screen is made of. Each has one look, which assets/console.css gives it. */

/** Begins a screen: its heading, a line below it, and at most two buttons. */
export const head = (title: Html | string, lead: Html | string = '', acts: Html | string = ''): Html =>
  html`<div class="head"><div><h1>${title}</h1>${lead === '' ? '' : html`<p>${lead}</p>`}</div>${
    acts === '' ? '' : html`<div class="row">${acts}</div>`
  }</div>`;

/** A link back to the list that a page belongs to. */
export const backLink = (href: string, name: string): Html =>
  html`<p class="small unprinted"><a href="${href}">${icon('left')}${name}</a></p>`;

export interface Panel {
  readonly title: Html | string;
  readonly content: Html;
  /** Beside the title. */
  readonly acts?: Html | string;
  readonly id?: string;
  /** Whether the content fills the panel to its edges, as a table does. */
  readonly isFlush?: boolean;
}

/** A card with a title. */
export const panel = ({ title, content, acts = '', id, isFlush = false }: Panel): Html =>
  html`<section class="panel"${id === undefined ? '' : html` id="${id}"`}><header><h2>${title}</h2>${acts}</header>${
    isFlush ? content : html`<div class="in">${content}</div>`
  }</section>`;

/** A card with a table, or with the note that there are no rows. */
export const tablePanel = (title: Html | string, content: Html, acts: Html | string = ''): Html =>
  panel({ title, content, acts, isFlush: true });

export interface FormPanel {
  readonly title: string;
  readonly action: string;
  readonly fields: Html | readonly Html[];
  readonly submit: string;
  /** The name and the value of the button. */
  readonly act?: string;
  readonly lead?: Html | string;
  readonly id?: string;
  readonly isPrimary?: boolean;
}

/** A card with a form that posts. */
export const formPanel = ({ title, action, fields, submit, act, lead = '', id, isPrimary }: FormPanel): Html =>
  html`<section class="panel"${id === undefined ? '' : html` id="${id}"`}><header><h2>${title}</h2></header>
<form class="in" method="post" action="${action}">${lead === '' ? '' : html`<p class="small quiet">${lead}</p>`}${fields}
<div class="row">${button(submit, { ...(act === undefined ? {} : { act }), ...(isPrimary ? { look: 'primary' } : {}) })}</div></form></section>`;

export interface Button {
  /** Its name is `act`. */
  readonly act?: string;
  readonly look?: 'primary' | 'danger' | 's' | 's danger' | 'ghost s';
  /** What a screen reader says, if the word alone is not enough. */
  readonly label?: string;
  readonly icon?: IconName;
}

export const button = (words: Html | string, { act, look, label, icon: shape }: Button = {}): Html =>
  html`<button class="btn${look === undefined ? '' : ` ${look}`}"${act === undefined ? '' : html` name="act" value="${act}"`}${
    label === undefined ? '' : html` aria-label="${label}"`
  }>${shape === undefined ? '' : icon(shape)}${words}</button>`;

/** A link that looks like a button. `about` completes it for screen readers. */
export const linkButton = (
  href: string,
  words: Html | string,
  { icon: shape, look, about }: Pick<Button, 'icon' | 'look'> & { readonly about?: Html | string } = {},
): Html =>
  html`<a class="btn${look === undefined ? '' : ` ${look}`}" href="${href}">${shape === undefined ? '' : icon(shape)}${words}${
    about === undefined ? '' : html`<span class="unseen"> ${about}</span>`
  }</a>`;

export interface Question {
  /** The button that opens the question. */
  readonly words: Html | string;
  readonly icon?: IconName;
  /** The question names the exact number. */
  readonly question: Html | string;
  readonly details?: string;
  readonly action: string;
  readonly fields?: Html;
  readonly submit: Html | string;
}

/** A question before something is lost or paid for, which opens below its button. */
export const question = ({ words, icon: shape, question: asked, details, action, fields, submit }: Question): Html =>
  html`<details class="ask"><summary class="btn${shape === undefined ? ' danger' : ''}">${shape === undefined ? '' : icon(shape)}${words}</summary>
<form class="note wait" method="post" action="${action}">${icon('alert')}<div class="stack tight"><p><strong>${asked}</strong></p>${details === undefined ? '' : html`<p>${details}</p>`}${fields ?? ''}<div class="row">${button(submit, { look: 'danger' })}</div></div></form></details>`;

/** A state: an icon, a word and a colour. */
export const chip = (tone: Tone, shape: IconName, words: Html | string, hint = ''): Cell => ({
  ...html`<span class="chip${tone === '' ? '' : ` ${tone}`}"${hint === '' ? '' : html` title="${hint}"`}>${icon(shape)}${words}</span>`,
  kind: 'chip',
});

const NOTE_ICONS = { '': 'info', good: 'tick', wait: 'alert', bad: 'alert', off: 'info' } as const;

/** Says something about the page. A note about a failure is read out at once. */
export const note = (tone: Tone, content: Html | string, shape: IconName = NOTE_ICONS[tone]): Html =>
  html`<div class="note${tone === '' ? '' : ` ${tone}`}"${
    tone === 'bad' ? html` role="alert"` : tone === 'good' ? html` role="status"` : ''
  }>${icon(shape)}<div class="stack tight">${typeof content === 'string' ? html`<p>${content}</p>` : content}</div></div>`;

/** Why there is nothing, and the next step. */
export const empty = (
  title: Html | string,
  hint: Html | string,
  act: Html | string = '',
  shape: IconName = 'info',
): Html => html`<div class="empty">${icon(shape)}<h2>${title}</h2><p>${hint}</p>${act}</div>`;

/** A name and its value. */
export const fact = (name: string, value: Html | string): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
export const facts = (rows: readonly (Html | string)[]): Html => html`<dl class="facts">${rows}</dl>`;

export interface Tile {
  readonly key: string;
  readonly label: string;
  readonly value: Html | string;
  readonly href?: string;
  readonly more?: Html | string;
}

/** A count in large digits, which leads to the list that it counts. */
export function tile({ key, label, value, href, more = '' }: Tile): Html {
  const text = unmarked(value);
  const isLong = (typeof text === 'string' ? text : text.html).length > 9;
  const shown = html`<span class="label">${label}</span><span class="value${isLong ? ' long' : ''}">${value}</span>${more === '' ? '' : html`<span class="small quiet">${more}</span>`}`;
  return html`<li data-key="${key}">${href === undefined ? shown : html`<a href="${href}">${shown}</a>`}</li>`;
}

/** Something that needs the person: a sentence, and the button that helps. */
export const need = (tone: Tone, shape: IconName, words: Html | string, act: Html | string = ''): Html =>
  html`<li><span class="${tone}">${icon(shape)}</span><div>${words}</div>${act}</li>`;

const FACES = ['', ' b', ' c', ' d'];

/** The initials of a person, in one of four colours. A number has a picture instead. */
export function face(name: string | null, size: '' | ' big' = ''): Html {
  const words = (name ?? '').split(/\s+/).filter((word) => /^\p{L}/u.test(word));
  const initials = [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('');
  const colour = FACES[[...(name ?? '')].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % FACES.length];
  const shown = initials === '' ? icon('user') : initials.toUpperCase();
  return html`<span class="face${colour ?? ''}${size}" aria-hidden="true">${shown}</span>`;
}

/** The place of a page in a series of steps, such as writing, checking, sent. */
export const steps = (names: readonly string[], current: number): Html =>
  html`<ol class="steps">${names.map((name, index) =>
    index < current
      ? html`<li class="done">${name}</li>`
      : html`<li${index === current ? html` aria-current="step"` : ''}>${name}</li>`,
  )}</ol>`;

/** The page of somebody who is not signed in. */
export const gate = (title: string, lead: Html | string, content: Html, end: Html | string = ''): Html =>
  html`<div class="empty">${dove(' big')}<h1>${title}</h1><p>${lead}</p></div>
<section class="panel"><div class="in">${content}</div>${end === '' ? '' : html`<footer>${end}</footer>`}</section>`;

export const unreadSaid = (unread: bigint): string => (unread > 999n ? '999+' : String(unread));

/** How many messages are unread, beside the name of their list. */
export const unreadBadge = (unread: bigint): Html =>
  unread === 0n
    ? html``
    : html`<span class="badge">${unreadSaid(unread)}<span class="unseen"> ${frameTexts.unread}</span></span>`;

/** A secret that is shown once, and the way on. */
export const secretPage = (
  title: string,
  lead: Html | string,
  secret: string,
  { href, words }: { readonly href: string; readonly words: string },
): Html =>
  html`${head(title)}${note('wait', html`${lead === '' ? '' : html`<p>${lead}</p>`}<p><code data-copy>${secret}</code></p>`, 'key')}<p>${linkButton(href, words)}</p>`;

/** The person in a row: the name if there is one, with the number below it. */
export function person(number: string | null, name: string | null, href: string | null): Cell {
  const shown = name === null ? party(number) : html`<bdi>${name}</bdi>`;
  const linked = href === null ? shown : html`<a class="open" href="${href}">${shown}</a>`;
  return {
    ...html`${linked}${name === null ? '' : html`<small>${telephone(number ?? '')}</small>`}`,
    kind: 'who',
  };
}

/** A number at the right edge of its column. */
export const num = (value: number | bigint | string): Cell => ({ ...grouped(value), kind: 'num' });

/** Buttons of a row, at its end. */
export const acts = (content: Html): Cell => ({ ...html`<div class="row">${content}</div>`, kind: 'acts' });

/** What a row is about, with something quiet below it. */
export const named = (content: Html | string, below: Html | string = ''): Cell => ({
  ...html`${content}${below === '' ? '' : html`<small>${below}</small>`}`,
  kind: 'who',
});

/** A cell for a longer text. */
export const wide = (content: Html | string): Cell => ({ ...html`${content}`, kind: 'wide' });
