import { clockSaid, localize } from './locale.js';
import { all, one, parsed, say, signedOut, warn, words } from './page.js';

/**
 * Keeps a visible page up to date. It asks for the parts of the page again, at once when the stream
 * of events says that something has changed, and else every few seconds.
 */

const POLL_MS = 5_000;
const POLL_MS_MAX = 60_000;
const SOON_MS = 500;

/** What a request that failed or succeeded says about the server. */
let awaySince = null;
function answered(isThere) {
  if (isThere && awaySince) warn('', '');
  if (isThere) awaySince = null;
  else if (!awaySince) {
    awaySince = new Date();
    warn(words.sayAway.replace('{time}', clockSaid(awaySince)), 'wait');
  }
}

/** Each asks for one part of the page now. */
const askers = new Set();

/**
 * Asks for a part of the page while it is seen, one request at a time. `ask` gets the wait before
 * it, and answers with the next one, or with null if the session has ended.
 */
function keepAsking(ask) {
  let wait = POLL_MS;
  let timer;
  let isAsking = false;
  let isStale = false;
  let isOver = false;
  async function askNow() {
    clearTimeout(timer);
    isStale = isAsking;
    if (isAsking || isOver || document.hidden) return;
    isAsking = true;
    const next = await ask(wait).catch(() => Math.min(wait * 1.5, POLL_MS_MAX));
    isAsking = false;
    if (next === null) isOver = true;
    else wait = next;
    if (!isOver) timer = setTimeout(askNow, isStale ? SOON_MS : wait);
  }
  timer = setTimeout(askNow, wait);
  const askAgain = () => {
    wait = POLL_MS;
    return askNow();
  };
  askers.add(askAgain);
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(askAgain, SOON_MS);
  });
}

function ended() {
  signedOut();
  return null;
}

function poll(container) {
  let etag = null;
  let held = [];
  const { mode } = container.dataset;
  const show = document.createElement('button');
  show.type = 'button';
  show.hidden = true;
  container.closest('table, ol, ul, div, section')?.before(show);
  show.className = 'btn s';
  show.addEventListener('click', () => {
    if (mode === 'first') return location.reload();
    container.prepend(...held);
    held = [];
    show.hidden = true;
    localize(container);
  });

  function offer(count) {
    show.textContent = words.sayShow.replace('{count}', count);
    show.hidden = count === 0;
  }

  /** A row that has the focus is left as it is; a box that was ticked stays so. */
  function renewed(old, row) {
    if (old.contains(document.activeElement) || old.dataset.source === row.outerHTML) return old;
    const box = one('input[type=checkbox]', old);
    const source = row.outerHTML;
    if (box?.checked) one('input[type=checkbox]', row).checked = true;
    row.classList.toggle('current', old.classList.contains('current'));
    row.dataset.source = source;
    old.replaceWith(row);
    return row;
  }

  /** The list as the server has it: rows come, go and move. A chosen row stays until it is let go. */
  function arrange(rows) {
    const wanted = new Set(rows);
    for (const row of [...container.children]) {
      const isKept = row.contains(document.activeElement) || one('input[type=checkbox]', row)?.checked;
      if (!wanted.has(row) && !isKept) row.remove();
    }
    rows.forEach((row, index) => {
      if (container.children[index] !== row && !row.contains(document.activeElement))
        container.insertBefore(row, container.children[index] ?? null);
    });
  }

  function merge(content) {
    const rows = [...content.querySelectorAll('[data-key]')];
    const known = new Map([...container.children].map((row) => [row.dataset.key, row]));
    const fresh = rows.filter((row) => !known.has(row.dataset.key));
    const shown = rows.map((row) => (known.has(row.dataset.key) ? renewed(known.get(row.dataset.key), row) : row));
    if (mode === 'hold') held = fresh;
    if (mode === 'append') container.append(...fresh);
    if (mode === 'replace') arrange(shown);
    if (mode === 'hold' || mode === 'first') offer(fresh.length);
    if (fresh.length > 0) say(fresh.length === 1 ? words.sayNewOne : words.sayNewMany.replace('{count}', fresh.length));
  }

  keepAsking(async (wait) => {
    try {
      const reply = await fetch(container.dataset.live, {
        headers: etag ? { 'If-None-Match': etag } : {},
        cache: 'no-store',
        redirect: 'error',
      });
      answered(true);
      if (reply.status === 401) return ended();
      if (reply.status === 304 || !reply.ok) return Math.min(wait * 1.5, POLL_MS_MAX);
      const isFirst = etag === null;
      const content = parsed(await reply.text());
      etag = reply.headers.get('ETag');
      if (mode !== 'whole') merge(content);
      else if (!container.contains(document.activeElement)) container.replaceChildren(content);
      localize(container);
      return isFirst ? wait : POLL_MS;
    } catch {
      answered(false);
      return Math.min(wait * 2, POLL_MS_MAX);
    }
  });
}
all('[data-live]').forEach(poll);

/** The unread messages, in the navigation and in the title. */
function pollCounts({ dataset: { counts } }) {
  let etag = null;
  keepAsking(async (wait) => {
    const headers = etag ? { 'If-None-Match': etag } : {};
    const reply = await fetch(counts, { headers, cache: 'no-store', redirect: 'error' });
    if (reply.status === 401) return ended();
    if (!reply.ok) return Math.min(wait * 1.5, POLL_MS_MAX);
    const isFirst = etag === null;
    const badge = parsed(await reply.text());
    etag = reply.headers.get('ETag');
    const count = badge.querySelector('.badge')?.firstChild.textContent ?? '';
    document.title = (count === '' ? '' : `(${count}) `) + document.title.replace(/^\([\d,+]+\) /, '');
    for (const each of all('[data-unread]')) each.replaceChildren(badge.cloneNode(true));
    return isFirst ? wait : POLL_MS;
  });
}
all('[data-counts]').forEach(pollCounts);

// Where a stream cannot be had, the page goes on polling.
for (const { dataset } of window.EventSource ? all('[data-events]') : []) {
  let source;
  const listen = () => {
    source?.close();
    if (document.hidden) return;
    source = new EventSource(dataset.events);
    source.addEventListener('message', () => {
      for (const ask of askers) ask();
    });
    source.addEventListener('full', () => source.close());
  };
  listen();
  document.addEventListener('visibilitychange', listen);
  window.addEventListener('pagehide', () => source?.close());
}
