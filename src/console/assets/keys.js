import { all, one } from './page.js';

/** Rows that open with a click, menus that close by themselves, and the keys of the page. */

const linkOf = (row, kind) => row?.querySelector(`a${kind}`)?.href;
const openingOf = (row) => linkOf(row, '.open') ?? linkOf(row, '[href]');

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
  const href = openingOf(row);
  if (!href) return;
  if (event.ctrlKey || event.metaKey) open(href, '_blank', 'noopener');
  else location.assign(href);
});

// Customers and operators have different screens: the list of keys on the page says where each leads.
const places = new Map(all('#keys [data-go]').map(({ dataset }) => [dataset.go, dataset.place]));
let awaitsPlace = false;

const currentRow = () => one('.current[data-key]');
function move(step) {
  const rows = all('tbody tr[data-key], .thread li[data-key]');
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
    const href = openingOf(currentRow());
    if (!href) return;
    event.preventDefault();
    location.assign(href);
    return;
  }
  if (!KEYS[key]) return;
  event.preventDefault();
  KEYS[key]();
});
