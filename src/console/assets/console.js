// Every screen works without this. It asks for rows again while the page is visible, counts parts by
// asking the server, adds keys, copy buttons and relative times, and takes a second click for none.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);
const live = one('#live');
/** Texts for people are with all other texts, on the server. */
const words = document.body.dataset;

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

function signedOut() {
  live.textContent = words.saySignedOut;
  live.className = 'note problem';
}

function poll(container) {
  let wait = POLL_MS;
  let etag = null;
  let timer;
  let held = [];
  const { mode } = container.dataset;
  const show = document.createElement('button');
  show.type = 'button';
  show.hidden = true;
  container.closest('table, ol, ul, div')?.before(show);
  show.addEventListener('click', () => {
    if (mode === 'first') return location.reload();
    container.prepend(...held);
    held = [];
    show.hidden = true;
    relativeTimes(container);
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
      if (reply.status === 401) return signedOut();
      if (reply.status === 304 || !reply.ok) wait = Math.min(wait * 1.5, POLL_MS_MAX);
      else {
        const isFirst = etag === null;
        etag = reply.headers.get('ETag');
        const content = parsed(await reply.text());
        if (mode !== 'whole') merge(content);
        else if (!container.contains(document.activeElement)) container.replaceChildren(content);
        relativeTimes(container);
        wait = isFirst ? wait : POLL_MS;
      }
    } catch {
      wait = Math.min(wait * 2, POLL_MS_MAX);
    }
    timer = setTimeout(ask, wait);
  }
  timer = setTimeout(ask, wait);
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

// The server counts parts: there is one counter.
for (const area of all('textarea[data-count]')) {
  const output = one(`#${area.dataset.output}`);
  let timer;
  const count = async () => {
    const body = new URLSearchParams({ text: area.value });
    const reply = await fetch(area.dataset.count, { method: 'POST', body }).catch(() => null);
    if (reply?.status === 401) return signedOut();
    if (reply?.ok) output.textContent = (await reply.json()).said;
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

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
function relativeTimes(within) {
  for (const time of all('time', within)) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
    const [value, unit] =
      Math.abs(seconds) < 3600
        ? [seconds / 60, 'minute']
        : Math.abs(seconds) < 86_400
          ? [seconds / 3600, 'hour']
          : [seconds / 86_400, 'day'];
    time.title = relative.format(Math.round(value), unit);
  }
}
relativeTimes(document);

// Customers and operators have different screens: the list of keys on the page says where each leads.
const places = new Map(all('#keys [data-go]').map(({ dataset }) => [dataset.go, dataset.place]));
let awaitsPlace = false;

function rowsOf() {
  return all('tbody tr[data-key], ol.conversation li[data-key]');
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
  const { target, key } = event;
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
