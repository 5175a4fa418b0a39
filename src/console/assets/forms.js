import { localize } from './locale.js';
import { all, one, parsed, signedOut, words } from './page.js';

/** Makes forms easier: counted parts, one sending for two clicks, copied ids, a box for all rows. */

// The server counts parts: there is one counter.
for (const area of all('textarea[data-count]')) {
  const output = one(`#${area.dataset.output}`);
  let timer;
  const count = async () => {
    const body = new URLSearchParams({ text: area.value });
    const reply = await fetch(area.dataset.count, { method: 'POST', body }).catch(() => null);
    if (reply?.status === 401) return signedOut();
    if (!reply?.ok) return;
    output.replaceChildren(parsed(await reply.text()));
    localize(output);
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
