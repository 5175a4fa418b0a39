// The pages work without this. It adds copy buttons and a search, shows the answer of a test form below it, and keeps what
// was typed: in sessionStorage, which belongs to the tab and is gone with it. Only the chosen language stays longer.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

// A browser can forbid to store anything.
const attempt = (work) => {
  try {
    return work();
  } catch {
    return null;
  }
};
const recall = (store, key) => attempt(() => window[store].getItem(`columba ${key}`)) ?? '';
const remember = (store, key, value) =>
  attempt(() =>
    value === '' ? window[store].removeItem(`columba ${key}`) : window[store].setItem(`columba ${key}`, value),
  );

for (const sample of navigator.clipboard ? all('.sample') : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${sample.dataset.name}`);
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(one('code', sample).textContent).then(
      () => 'Copied',
      () => 'Not copied',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  sample.append(button);
}

const programs = all('details[data-language]');
const chosen = recall('localStorage', 'language');
for (const program of programs) {
  if (programs.some(({ dataset }) => dataset.language === chosen)) program.open = program.dataset.language === chosen;
  one('summary', program).addEventListener('click', () => {
    if (!program.open) remember('localStorage', 'language', program.dataset.language);
  });
}

const search = one('#search');
if (search) {
  const input = one('input', search);
  const rows = all('[data-search]');
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.dataset.search.includes(word));
    for (const group of all('.group')) group.hidden = !one('[data-search]:not([hidden])', group);
    one('[role=status]', search).textContent =
      input.value.trim() && `${rows.filter((row) => !row.hidden).length} of ${rows.length} operations`;
  };
  input.addEventListener('input', filter);
  input.addEventListener('keydown', ({ key }) => {
    const wanted = input.value.trim().toLowerCase();
    const links = all('[data-search]:not([hidden]) a');
    if (key !== 'Enter' || !wanted) return;
    (links.find((link) => link.textContent.toLowerCase() === wanted) ?? links[0])?.click();
  });
  search.hidden = false;
  filter(); // a browser may have kept what was typed
}

const form = one('form');
const inputs = form ? all('input', form) : [];
// The user_id is the same for all operations; the other fields are each operation's own.
const keyOf = ({ name }) => (name === 'user_id' ? name : `${form.getAttribute('action')} ${name}`);
for (const input of inputs) input.value = recall('sessionStorage', keyOf(input)) || input.value;

const curl = one('#curl code');
const [command, ...examples] = curl?.textContent.split(' \\\n') ?? [];
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
function updateLine() {
  const lines = examples.map((example) => {
    const name = /'(\w+)=/.exec(example)[1];
    const value = inputs.find((input) => input.name === name)?.value;
    const known = value ?? (name === 'user_id' ? recall('sessionStorage', name) : '');
    return known ? `  --data-urlencode ${quoted(`${name}=${known}`)}` : example;
  });
  curl.textContent = [command, ...lines].join(' \\\n');
}
if (curl) updateLine();

form?.addEventListener('input', ({ target }) => {
  remember('sessionStorage', keyOf(target), target.value);
  complain(target, '');
  updateLine();
});

function complain(input, text) {
  const complaint = one(`#complaint-${input.name}`);
  complaint.textContent = text;
  complaint.hidden = text === '';
  if (text === '') {
    for (const name of ['aria-invalid', 'aria-describedby']) input.removeAttribute(name);
    return;
  }
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-describedby', complaint.id);
  input.focus();
}

// A 400 starts with the name of the parameter; a 403 is about the user_id.
function complainAbout(status, text) {
  const [, name, reason] = /^(\w+): (.*)/.exec(text) ?? [];
  const wrong = inputs.find((input) => input.name === (status === 403 ? 'user_id' : name));
  if (wrong && (status === 400 || status === 403)) complain(wrong, status === 403 ? text.trim() : reason);
}

form?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = one('#answer');
  const [content, fields] = all('pre', answer);
  const show = (outcome, status, note, text, headers) => {
    answer.dataset.outcome = outcome;
    one('strong', answer).textContent = status;
    one('span', answer).textContent = note;
    content.textContent = text;
    content.hidden = text === '';
    fields.textContent = headers;
    one('details', answer).hidden = headers === '';
  };
  answer.hidden = false;
  for (const input of inputs) complain(input, '');
  show('waiting', 'Calling…', '', '', '');
  const startedAt = performance.now();
  try {
    const reply = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
    const text = await reply.text();
    const note = `${reply.ok ? 'answered' : 'refused'} after ${Math.round(performance.now() - startedAt)} ms`;
    const headers = [...reply.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
    show(reply.ok ? 'success' : 'problem', `${reply.status} ${reply.statusText}`, note, text, headers);
    if (!reply.ok) complainAbout(reply.status, text);
  } catch {
    show('problem', 'The server did not answer.', '', '', '');
  }
});
