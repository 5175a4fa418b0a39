// The pages work without this: it adds copy buttons, and shows the answer of a test form below it.
for (const sample of document.querySelectorAll('.sample')) {
  const text = sample.querySelector('pre').textContent;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${sample.dataset.name}`);
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => 'Not copied',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  if (navigator.clipboard) sample.append(button);
}

const form = document.querySelector('form');
const answer = document.querySelector('#answer');
form?.addEventListener('submit', async (event) => {
  event.preventDefault();
  answer.hidden = false;
  const show = (status, text) => {
    answer.querySelector('p').textContent = status;
    answer.querySelector('pre').textContent = text;
  };
  show('Calling…', '');
  try {
    const reply = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
    show(`${reply.status} ${reply.statusText}`, await reply.text());
  } catch {
    show('The server did not answer.', '');
  }
});
