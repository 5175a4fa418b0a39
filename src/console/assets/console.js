// Every screen works without this. It asks for rows again while the page is visible, counts parts by
// asking the server, adds keys, copy buttons and relative times, and takes a second click for none.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
const live = one('#live');
/** Texts for people are with all other texts, on the server. */
const words = document.body.dataset;

const zoned = (options) => {
  try {
    return new Intl.DateTimeFormat(undefined, { ...options, timeZone: words.zone });
  } catch {
    return new Intl.DateTimeFormat(undefined, options);
  }
};
const MINUTE = { hour: '2-digit', minute: '2-digit' };
const DAY = { day: 'numeric', month: 'short' };
const YEAR = { year: 'numeric' };
const whole = zoned({ dateStyle: 'long', timeStyle: 'medium' });
const clock = zoned(MINUTE);
const calendar = zoned({ ...YEAR, month: 'numeric', day: 'numeric' });
const yearOf = zoned(YEAR);
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
/** Each way to write a time: today, in this week, in this year, and before. */
const WAYS = {
  row: [clock, zoned({ ...DAY, ...MINUTE }), zoned({ ...DAY, ...MINUTE }), zoned({ ...DAY, ...YEAR, ...MINUTE })],
  list: [clock, zoned({ weekday: 'short' }), zoned(DAY), zoned({ ...DAY, ...YEAR })],
  day: [null, null, null, zoned({ weekday: 'short', day: 'numeric', month: 'long', ...YEAR })],
  thread: [clock, clock, clock, clock],
};
WAYS.day[1] = WAYS.day[2] = zoned({ weekday: 'short', day: 'numeric', month: 'long' });
const wayOf = (time) =>
  WAYS[
    time.closest('.day') ? 'day' : time.closest('.thread') ? 'thread' : time.closest('.list, .about') ? 'list' : 'row'
  ];

/**
 * Times in the way of the browser's language, without what goes without saying: the day if it is
 * today, the year if it is this one. The whole time and how long ago it was are in the title.
 */
function shortTimes(within) {
  const now = new Date();
  for (const time of all('time[datetime*=T]:not([title])', within)) {
    const at = new Date(time.dateTime);
    const seconds = (at - now) / 1000;
    const [value, unit] =
      Math.abs(seconds) < 3600
        ? [seconds / 60, 'minute']
        : Math.abs(seconds) < 86_400
          ? [seconds / 3600, 'hour']
          : [seconds / 86_400, 'day'];
    time.title = `${whole.format(at)}, ${relative.format(Math.round(value), unit)}`;
    const isThisYear = yearOf.format(at) === yearOf.format(now);
    const isThisWeek = isThisYear && seconds <= 0 && seconds > -6 * 86_400;
    const isToday = calendar.format(at) === calendar.format(now);
    const format = wayOf(time)[isToday ? 0 : isThisWeek ? 1 : isThisYear ? 2 : 3];
    if (time.closest('.timeline')) time.textContent = whole.format(at);
    else time.textContent = format ? format.format(at) : relative.format(0, 'day');
  }
}

const numbers = new Intl.NumberFormat();
const [, point] = numbers.formatToParts(1.5);
const isEnglish = numbers.format(1234.5) === '1,234.5';
const FOREIGN = 'bdi, code, pre, textarea, option, time, script';

/** Counts in the way of the browser's language. What people and programs have written stays as it is. */
function localNumbers(within) {
  if (isEnglish) return;
  const texts = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    if (!/\d[,.]\d/.test(text.data) || text.parentElement?.closest(FOREIGN)) continue;
    text.data = text.data
      .replace(/(?<![\d,.])\d{1,3}(,\d{3})+(?![\d,])/g, (count) => numbers.format(BigInt(count.replaceAll(',', ''))))
      .replace(/(?<![\d,.])(\d+)\.(\d+)(?= (?:%|m?s)(?!\w))/g, (_, whole, part) => whole + point.value + part);
  }
}

/** Times and numbers of a page or a part of it. */
function localized(within) {
  shortTimes(within);
  localNumbers(within);
}

const POLL_MS = 5_000;
const POLL_MS_MAX = 60_000;

/** Rows of the server as elements: a template runs no script and loads no image. */
function parsed(text) {
  const template = document.createElement('template');
  template.innerHTML = text;
  return template.content;
}

/** For people who do not see the page: "3 new messages". */
function say(count) {
  live.textContent = count === 1 ? words.sayNewOne : words.sayNewMany.replace('{count}', count);
}

/** A note that stays on the page: the session has ended, or the server does not answer. */
function warn(text, tone) {
  live.textContent = text;
  live.className = text === '' ? '' : `note ${tone}`;
}
const signedOut = () => warn(words.saySignedOut, 'bad');

/** What a request that failed or succeeded says about the server. */
let awaySince = null;
function answered(isThere) {
  if (isThere && awaySince) warn('', '');
  if (isThere) awaySince = null;
  else if (!awaySince) {
    awaySince = new Date();
    warn(words.sayAway.replace('{time}', clock.format(awaySince)), 'wait');
  }
}

/** Asks for all fragments at once, because the server says that something has changed. */
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
    localized(container);
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
    if (fresh.length > 0) say(fresh.length);
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
        localized(container);
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
localized(document);
all('[data-live]').forEach(poll);

/** The unread messages, in the navigation and in the title. */
function pollCounts({ dataset: { counts } }) {
  let wait = POLL_MS;
  let etag = null;
  async function ask() {
    if (!document.hidden) {
      const headers = etag ? { 'If-None-Match': etag } : {};
      const reply = await fetch(counts, { headers, cache: 'no-store', redirect: 'error' }).catch(() => null);
      if (reply?.status === 401) return;
      wait = Math.min(wait * 1.5, POLL_MS_MAX);
      if (reply?.ok) {
        if (etag !== null) wait = POLL_MS;
        etag = reply.headers.get('ETag');
        const badge = parsed(await reply.text());
        const count = badge.querySelector('.badge')?.firstChild.textContent ?? '';
        document.title = (count === '' ? '' : `(${count}) `) + document.title.replace(/^\([\d,+]+\) /, '');
        localNumbers(badge);
        for (const each of all('[data-unread]')) each.replaceChildren(badge.cloneNode(true));
      }
    }
    timer = setTimeout(ask, wait);
  }
  let timer = setTimeout(ask, wait);
  askers.add(() => {
    clearTimeout(timer);
    ask();
  });
}
all('[data-counts]').forEach(pollCounts);

// A stream of events for a visible page. Where it cannot be had, the page goes on polling.
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

// A toast goes when it has been read, and the address no longer asks for it.
for (const toast of all('.toast')) {
  const address = new URL(location.href);
  for (const name of ['notice', 'count', 'undo']) address.searchParams.delete(name);
  history.replaceState(null, '', address);
  const hide = () => {
    if (toast.matches(':hover, :focus-within')) setTimeout(hide, 2_000);
    else toast.remove();
  };
  setTimeout(hide, 6_000);
}

// The server counts parts: there is one counter.
for (const area of all('textarea[data-count]')) {
  const output = one(`#${area.dataset.output}`);
  let timer;
  const count = async () => {
    const body = new URLSearchParams({ text: area.value });
    const reply = await fetch(area.dataset.count, { method: 'POST', body }).catch(() => null);
    if (reply?.status === 401) return signedOut();
    if (!reply?.ok) return;
    output.textContent = (await reply.json()).said;
    localNumbers(output);
  };
  area.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(count, 400);
  });
}

// A second click sends nothing. The server would know it too.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = 'yes';
});
window.addEventListener('pageshow', () => {
  for (const form of all('form[data-sent]')) delete form.dataset.sent;
});

for (const copied of navigator.clipboard ? all('[data-copy]') : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'btn s';
  button.textContent = words.sayCopy;
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(copied.textContent).then(
      () => words.sayCopied,
      () => words.sayNotCopied,
    );
  });
  copied.after(' ', button);
}

for (const box of all('[data-select-page]')) {
  box.closest('label').hidden = false;
  box.addEventListener('change', () => {
    for (const each of all('tbody input[name=id]', box.form)) each.checked = box.checked;
  });
}

// Open menus close with Escape and with a click elsewhere.
const openMenus = () => all('details.menu[open]');
document.addEventListener('click', ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false;
});

// A click on a row opens it, as Enter does, unless it is meant for something in the row.
document.addEventListener('click', (event) => {
  const row = event.target.closest?.('tbody tr[data-key]');
  if (!row || event.target.closest('a, button, input, select, label, summary, textarea')) return;
  if (event.defaultPrevented || event.button !== 0 || getSelection().toString() !== '') return;
  const href = linkOf(row, '.open') ?? linkOf(row, '[href]');
  if (!href) return;
  if (event.ctrlKey || event.metaKey) open(href, '_blank', 'noopener');
  else location.assign(href);
});

// Customers and operators have different screens: the list of keys on the page says where each leads.
const places = new Map(all('#keys [data-go]').map(({ dataset }) => [dataset.go, dataset.place]));
let awaitsPlace = false;

function rowsOf() {
  return all('tbody tr[data-key], .thread li[data-key]');
}
function currentRow() {
  return one('.current[data-key]');
}
function move(step) {
  const rows = rowsOf();
  if (rows.length === 0) return;
  const at = rows.indexOf(currentRow());
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  for (const row of rows) row.classList.toggle('current', row === next);
  (one('a, input', next) ?? next).focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
}
/** Presses a button of the list's form for the current row alone. */
function press(value) {
  const row = currentRow();
  const box = row && one('input[name=id]', row);
  const button = one(`button[name=act][value=${value}]`);
  if (!box || !button) return;
  if (!one('tbody input[name=id]:checked')) box.checked = true;
  button.click();
}
const linkOf = (row, kind) => row?.querySelector(`a${kind}`)?.href;
for (const link of all('a[href="#keys"]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    one('#keys').showModal();
  });
}
for (const link of all('#keys a')) {
  link.addEventListener('click', (event) => {
    if (!one('#keys').open) return;
    event.preventDefault();
    one('#keys').close();
  });
}
const KEYS = {
  '?': () => one('#keys')?.showModal(),
  '/': () => one('input[type=search]')?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => one('input[type=checkbox]', currentRow() ?? document.createElement('div'))?.click(),
  r: () => {
    const to = linkOf(currentRow(), '[href*="/conversation?"]');
    if (to) location.assign(`${to}#reply`);
    else one('#reply')?.focus();
  },
  m: () => press('read'),
  '#': () => press('delete'),
};
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.ctrlKey && event.target.matches('[data-quick]')) event.target.form.requestSubmit();
  const { target, key } = event;
  if (key === 'Escape') for (const menu of openMenus()) menu.open = false;
  if (event.ctrlKey || event.metaKey || event.altKey || one('dialog[open]')) return;
  if (target.matches('textarea, select, input:not([type=checkbox], [type=radio])')) return;
  if (awaitsPlace) {
    awaitsPlace = false;
    if (places.has(key)) location.assign(places.get(key));
    return;
  }
  if (key === 'g') {
    awaitsPlace = true;
    return;
  }
  if (key === 'Enter' && target.matches('input[type=checkbox], tr')) {
    const href = linkOf(currentRow(), '.open') ?? linkOf(currentRow(), '[href]');
    if (!href) return;
    event.preventDefault();
    location.assign(href);
    return;
  }
  if (!KEYS[key]) return;
  event.preventDefault();
  KEYS[key]();
});
