import { clockSaid, localize } from './locale.js';
import { all, one, parsed, say, signedOut, warn, words } from './page.js';

/**
 * Keeps a visible page up to date. It asks for the parts of the page again, at once when the stream
 * of events says that something has changed, and else every few seconds.
 */

const POLL_MS = 5_000;
const POLL_MS_MAX = 60_000;

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

function poll(container) {
  let wait = POLL_MS;
  let etag = null;
  let timer;
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

  async function ask() {
    timer = undefined;
    if (document.hidden) return;
    try {
      const reply = await fetch(container.dataset.live, {
        headers: etag ? { 'If-None-Match': etag } : {},
        cache: 'no-store',
        redirect: 'error',
      });
      answered(true);
      if (reply.status === 401) return signedOut();
      if (reply.status === 304 || !reply.ok) wait = Math.min(wait * 1.5, POLL_MS_MAX);
      else {
        const isFirst = etag === null;
        etag = reply.headers.get('ETag');
        const content = parsed(await reply.text());
        if (mode !== 'whole') merge(content);
        else if (!container.contains(document.activeElement)) container.replaceChildren(content);
        localize(container);
        wait = isFirst ? wait : POLL_MS;
      }
    } catch {
      answered(false);
      wait = Math.min(wait * 2, POLL_MS_MAX);
    }
    timer = setTimeout(ask, wait);
  }
  timer = setTimeout(ask, wait);
  askers.add(() => {
    if (timer === undefined) return;
    clearTimeout(timer);
    wait = POLL_MS;
    ask();
  });
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    timer = undefined;
    if (!document.hidden) {
      wait = POLL_MS;
      timer = setTimeout(ask, 500);
    }
  });
}
all('[data-live]').forEach(poll);

/** The unread messages, in the navigation and in the title. */
function pollCounts({ dataset: { counts } }) {
  let wait = POLL_MS;
  let etag = null;
  async function ask() {
    timer = undefined;
    if (!document.hidden) {
      const headers = etag ? { 'If-None-Match': etag } : {};
      const reply = await fetch(counts, { headers, cache: 'no-store', redirect: 'error' }).catch(() => null);
      if (reply?.status === 401) return signedOut();
      wait = Math.min(wait * 1.5, POLL_MS_MAX);
      if (reply?.ok) {
        if (etag !== null) wait = POLL_MS;
        etag = reply.headers.get('ETag');
        const badge = parsed(await reply.text());
        const count = badge.querySelector('.badge')?.firstChild.textContent ?? '';
        document.title = (count === '' ? '' : `(${count}) `) + document.title.replace(/^\([\d,+]+\) /, '');
        for (const each of all('[data-unread]')) each.replaceChildren(badge.cloneNode(true));
      }
    }
    timer = setTimeout(ask, wait);
  }
  let timer = setTimeout(ask, wait);
  askers.add(() => {
    if (timer === undefined) return;
    clearTimeout(timer);
    ask();
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
