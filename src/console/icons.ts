import type { Html } from '../base/html.ts';

/** The icons of the console, as shapes in a square of 20 units. A page has each of them once. */
const SHAPES = {
  again: '<path d="M15.5 7A6.3 6.3 0 1 0 16.3 11.5M16 3.5V7h-3.5"/>',
  alert: '<path d="M10 3.2 17.5 16.5h-15zM10 8v4M10 14.2v.1"/>',
  block: '<circle cx="10" cy="10" r="6.8"/><path d="m5.3 5.3 9.4 9.4"/>',
  box: '<path d="M3.5 7 10 3.5 16.5 7v6L10 16.5 3.5 13zM3.5 7 10 10.5 16.5 7M10 10.5v6"/>',
  calendar: '<path d="M3.5 5.5h13v11h-13zM3.5 9h13M7 3.5v3M13 3.5v3"/>',
  chat: '<path d="M3 5.5A1.5 1.5 0 0 1 4.5 4h11A1.5 1.5 0 0 1 17 5.5v7a1.5 1.5 0 0 1-1.5 1.5H8l-3.5 3v-3A1.5 1.5 0 0 1 3 12.5z"/>',
  clock: '<circle cx="10" cy="10" r="6.8"/><path d="M10 6v4.2l2.8 1.8"/>',
  coin: '<ellipse cx="10" cy="5.8" rx="6" ry="2.6"/><path d="M4 5.8v8.4c0 1.4 2.7 2.6 6 2.6s6-1.2 6-2.6V5.8M4 10c0 1.4 2.7 2.6 6 2.6s6-1.2 6-2.6"/>',
  cross: '<circle cx="10" cy="10" r="6.8"/><path d="m7.6 7.6 4.8 4.8m0-4.8-4.8 4.8"/>',
  down: '<path d="m5 7.5 5 5 5-5"/>',
  download: '<path d="M10 3.5V13M6 9.5l4 4 4-4M4 14v2.5h12V14"/>',
  filter: '<path d="M3 5h14M6 10h8M8.5 15h3"/>',
  group: '<path d="M3 6.5h5l1.5 2H17v8H3z"/>',
  home: '<path d="M3 9.5 10 3.5l7 6V16a1 1 0 0 1-1 1h-3.5v-5h-5v5H4a1 1 0 0 1-1-1z"/>',
  hook: '<path d="M8.5 11.5 11.5 8.5M7.5 8.5 5.3 10.7a2.8 2.8 0 0 0 4 4l2.2-2.2M12.5 11.5l2.2-2.2a2.8 2.8 0 0 0-4-4L8.5 7.5"/>',
  info: '<circle cx="10" cy="10" r="6.8"/><path d="M10 9.5v4M10 6.6v.1"/>',
  key: '<circle cx="6.8" cy="13.2" r="3.3"/><path d="m9.2 10.8 7.3-7.3M13.5 6.5l2.3 2.3"/>',
  left: '<path d="m12 4.5-5.5 5.5 5.5 5.5"/>',
  log: '<path d="M4 4h12v12H4zM7 8h6M7 12h4"/>',
  more: '<path d="M4 6h12M4 10h12M4 14h12"/>',
  move: '<path d="M4 10h11M11 6l4 4-4 4"/>',
  offline: '<path d="M3 8a10 10 0 0 1 14 0M6 11a6 6 0 0 1 8 0M10 15v.1M3.5 3.5l13 13"/>',
  out: '<path d="M8 3.5H4v13h4M12.5 6.5 16 10l-3.5 3.5M16 10H8"/>',
  page: '<path d="M5 3h6.5L15 6.5V17H5zM11 3v4h4M7.5 10.5h5M7.5 13.5h3.5"/>',
  pause: '<path d="M7 5v10M13 5v10"/>',
  pen: '<path d="M4 16l.8-3.5L13.5 3.8l2.7 2.7-8.7 8.7z"/>',
  people:
    '<circle cx="7.5" cy="7" r="2.8"/><path d="M2.5 16.5c.3-3 2.2-4.6 5-4.6s4.7 1.6 5 4.6M13 4.6a2.6 2.6 0 0 1 0 5M14.5 12.2c1.8.5 2.9 2 3 4.3"/>',
  play: '<path d="m6.5 4.5 9 5.5-9 5.5z"/>',
  plug: '<path d="M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v2.5"/>',
  plus: '<path d="M10 4v12M4 10h12"/>',
  pulse: '<path d="M2.5 10.5h3.5l2-6 4 11 2-5h3.5"/>',
  question: '<circle cx="10" cy="10" r="6.8"/><path d="M8 8.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.3M10 13.7v.1"/>',
  queue: '<path d="M3.5 5h13M3.5 10h13M3.5 15h8"/>',
  right: '<path d="m8 4.5 5.5 5.5L8 15.5"/>',
  search: '<circle cx="9" cy="9" r="5.2"/><path d="m13 13 4 4"/>',
  send: '<path d="m17 3-7 14-2-6-5-2.5zM8 11l4-3.5"/>',
  shield: '<path d="M10 3 4 5.2v4.3c0 3.7 2.5 6.3 6 7.5 3.5-1.2 6-3.8 6-7.5V5.2z"/>',
  tick: '<path d="m4.5 10.5 3.5 3.5 7.5-8"/>',
  ticks: '<path d="m2 10.5 3.5 3.5L12 7M9.5 13l1 1 7-7.5"/>',
  upload: '<path d="M10 13V4M6 7.5 10 3.5l4 4M4 13v3.5h12V13"/>',
  user: '<circle cx="10" cy="7" r="3.2"/><path d="M4 17c.4-3.4 2.7-5 6-5s5.6 1.6 6 5"/>',
} as const;

export type IconName = keyof typeof SHAPES;

const uses = Object.fromEntries(
  Object.keys(SHAPES).map((name) => [
    name,
    { html: `<svg class="i" aria-hidden="true"><use href="#i-${name}"/></svg>` },
  ]),
) as Readonly<Record<IconName, Html>>;

/** An icon beside a word. It says nothing by itself, so screen readers skip it. */
export const icon = (name: IconName): Html => uses[name];

const symbolOf = (name: IconName): string => `<symbol id="i-${name}" viewBox="0 0 20 20">${SHAPES[name]}</symbol>`;

const isName = (name: string): name is IconName => Object.hasOwn(SHAPES, name);

/** Icons of states, which rows that the script requests later may bring to any page. */
const OF_STATES: readonly IconName[] = [
  'again',
  'alert',
  'block',
  'clock',
  'cross',
  'pause',
  'question',
  'tick',
  'ticks',
];

/** The shapes of the icons that a text of HTML uses; of all icons, if the text is not known yet. */
export function spriteOf(text: string | null): Html {
  const used = text === null ? Object.keys(SHAPES) : [...text.matchAll(/#i-([a-z]+)"/g)].map((match) => match[1] ?? '');
  const symbols = [...new Set([...OF_STATES, ...used])].filter(isName).map(symbolOf);
  return { html: `<svg class="sprite" aria-hidden="true">${symbols.join('')}</svg>` };
}

/** The dove of the product. */
export const dove = (size: '' | ' big' = ''): Html => ({
  html: `<svg class="dove${size}" viewBox="0 0 32 32" aria-hidden="true">${DOVE}</svg>`,
});
const DOVE =
  '<path fill="currentColor" opacity=".6" d="M12.5 20.5C9 15.5 7.2 9.5 7.4 3c6.8 1 12.3 4.8 14.4 11.2z"/><path fill="currentColor" fill-rule="evenodd" d="M2 22.6c4.9.3 8.4-1.1 10.9-3.8 2.6-2.9 4.9-4.9 8.2-5.1.4-2.7 2.3-4.4 4.6-4.3 1.6.1 2.8 1 3.2 2.3l2.1 1-2.1.9c.2 6.3-4.5 11.3-11.3 11.3-3.6 0-6.5-.6-8.6-1.5L4 24.9zM26.7 11.9a.8.8 0 1 1-1.6 0 .8.8 0 0 1 1.6 0z"/><path class="twig" fill="none" stroke-width="1.1" stroke-linecap="round" d="M30 13.4c.5 2.3.1 4.4-1.2 6.3M30.1 16l1.3-1M29.5 18.3l-1.5-.9"/>';
