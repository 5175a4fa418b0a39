/** What all modules of the script share: the page, its words, and what it tells people. */

export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
export const one = (selector, within = document) => within.querySelector(selector);
/** Texts for people are with all other texts, on the server. */
export const words = document.body.dataset;

const live = one('#live');

/** Rows of the server as elements: a template runs no script and loads no image. */
export function parsed(text) {
  const template = document.createElement('template');
  template.innerHTML = text;
  return template.content;
}

/** For people who do not see the page: "3 new messages". */
export const say = (text) => {
  live.textContent = text;
};

/** A note that stays on the page: the session has ended, or the server does not answer. */
export function warn(text, tone) {
  live.textContent = text;
  live.className = text === '' ? '' : `note ${tone}`;
}
export const signedOut = () => warn(words.saySignedOut, 'bad');
