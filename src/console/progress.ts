import { type Html, html } from '../base/html.ts';
import type { Progress } from '../base/progress.ts';
import { listTexts as texts } from './texts.ts';

type Step = Parameters<Progress>;

/** Yields a line for each step of the work while it runs. Returns what the work returns. */
export async function* reporting<T>(work: (tell: Progress) => Promise<T>): AsyncGenerator<Html, T> {
  let latest: Step | undefined;
  let isOver = false;
  let wake = (): void => {};
  const running = work((...step) => {
    latest = step;
    wake();
  });
  const over = (): void => {
    isOver = true;
    wake();
  };
  running.then(over, over);
  yield html`<ol class="progress">`;
  while (!isOver) {
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (latest) resolve();
    });
    if (latest) yield html`<li>${texts.step(...latest)}</li>`;
    latest = undefined;
  }
  yield html`</ol>`;
  return running;
}
