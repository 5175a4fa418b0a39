import { hash } from 'node:crypto';
import { type Html, html } from '../../base/html.ts';
import { toProblem } from '../../base/problem.ts';
import { rememberOnce } from '../../domain/accounts/idempotency.ts';
import { messageSend } from '../../operator/actions/messages/sending.ts';
import { counted, grouped } from '../counts.ts';
import { refusalOf } from '../lists.ts';
import { type PageRequest, redirect, type View } from '../page-request.ts';
import { head, note } from '../parts.ts';
import { instantOf } from '../words.ts';
import { wrongFields } from '../wrong-fields.ts';
import { type Again, AT_ONCE, bodyOf, COMPOSE_LABELS, checkAddress, contentName, contentOf, isLater } from './check.ts';
import { asWritten, digestOf, draftAccepted, findDraft, goneDraft, type Written } from './draft.ts';

/** Sends what was checked. A form that is sent twice sends the message once. */

const texts = {
  title: 'Sending',
  progress: (done: number, total: number) => html`${grouped(done)} of ${grouped(total)} numbers done …`,
  done: (accepted: number, refused: number) =>
    html`${counted(accepted, 'message')} accepted, ${grouped(refused)} refused.`,
  failed: (message: string, left: number) =>
    html`Sending stopped: ${message} ${counted(left, 'number')} left. Reload this page to continue; messages that are accepted are not sent again.`,
  stopped: 'Keep this page open until it has finished. If it is interrupted, reload it; nothing is sent twice.',
  toBatch: 'To what was sent',
} as const;

interface Summary {
  readonly accepted: number;
  readonly refused: number;
  readonly isLater: boolean;
  readonly batch: string | null;
}

/** If something is refused that passed the check, the form returns with everything typed. */
export async function sendMessage(request: PageRequest, again: Again): Promise<View> {
  const key = request.form.text('key');
  const draft = await findDraft(request, key);
  if (draft?.accepted) return redirect(`${request.base}${draft.accepted.path}`);
  if (!draft?.written) return goneDraft(request);
  const { written } = draft;
  // Another tab has changed it since this page was shown.
  if (request.form.text('content') !== digestOf(written)) {
    return redirect(`${checkAddress(request, key)}?notice=changed`);
  }
  const sending: Sending = { request: asWritten(request, written), key, written };
  if (written.lines.length > AT_ONCE) return { kind: 'progress', title: texts.title, pieces: sendMany(sending) };
  try {
    const summary = await sendBatch(sending, 0);
    return redirect(`${request.base}${await settle(sending, summary.accepted, summary)}`);
  } catch (thrown) {
    return again(sending.request, refusalOf(thrown));
  }
}

interface Sending {
  /** The request, with the form as it was written. */
  readonly request: PageRequest;
  readonly key: string;
  readonly written: Written;
}

/** Notes that everything is accepted, and returns the path of the page that shows it. */
async function settle({ request, key, written }: Sending, accepted: number, last: Summary): Promise<string> {
  await remember(request, written.lines);
  const list = last.isLater ? 'scheduled' : 'sent';
  const path =
    last.batch === null
      ? `/${list}?notice=accepted&count=${accepted}`
      : `/batches/${last.batch}?notice=sent&count=${accepted}`;
  await draftAccepted(request, key, { digest: digestOf(written), path });
  return path;
}

/** The key covers page and content: the same content is sent once, other content is new. */
const keyOf = ({ key, written }: Sending, batch: number): string =>
  hash('sha256', JSON.stringify([key, digestOf(written), batch]));

async function sendBatch(sending: Sending, batch: number, into: string | null = null): Promise<Summary> {
  const { request, written } = sending;
  const lines = written.lines.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE);
  const body = {
    ...bodyOf(request, lines, written.columns, sendTimes(request)),
    ...(into === null ? {} : { batch: into }),
  };
  const given = { params: { username: request.account.username }, query: {}, body };
  return request.act.once(keyOf(sending, batch), messageSend, given, (output) => ({
    accepted: output.accepted.length,
    refused: output.refused.length,
    isLater: isLater(request, output.dueAt),
    batch: output.batch,
  }));
}

/** A time that has passed since the check means now. A reload must give the same times. */
function sendTimes({ form, zone }: PageRequest): Record<string, string> {
  const fields = [['sendAt', 'when'] as const, ['notAfter', 'notAfter'] as const].flatMap(([field, name]) => {
    const at = form.text(name) === '' ? null : instantOf(form.text(name), zone);
    return at === null ? [] : [[field, new Date(at).toISOString()]];
  });
  return Object.fromEntries(fields);
}

const remember = (request: PageRequest, numbers: readonly string[]): Promise<void> =>
  rememberOnce(
    request.services.database,
    contentName(request, contentOf(request.form.raw('text'), numbers)),
    request.now,
  );

/**
 * Sends in batches, each once. If the page breaks, a reload continues with the next batch. In the
 * end it gives way to the page of what was sent, which takes its place in the history of the
 * browser: going back must not meet the answer to a form.
 */
async function* sendMany(sending: Sending): AsyncGenerator<Html> {
  const { request, written } = sending;
  const total = written.lines.length;
  yield html`${head(texts.title, texts.stopped)}<ol class="progress">`;
  let [accepted, refused, done] = [0, 0, 0];
  let last: Summary = { accepted: 0, refused: 0, isLater: false, batch: null };
  try {
    for (let batch = 0; done < total; batch += 1) {
      const summary = await sendBatch(sending, batch, last.batch);
      last = { ...summary, batch: summary.batch ?? last.batch };
      accepted += summary.accepted;
      refused += summary.refused;
      done = Math.min(total, done + AT_ONCE);
      yield html`<li>${texts.progress(done, total)}</li>`;
    }
    const to = `${request.base}${await settle(sending, accepted, last)}`;
    yield html`</ol>${note('good', texts.done(accepted, refused))}<p><a class="btn" href="${to}">${texts.toBatch}</a></p><meta http-equiv="refresh" content="0;url=${to}">`;
  } catch (thrown) {
    const { sentence } = wrongFields(toProblem(thrown, ''), COMPOSE_LABELS);
    const path = last.batch === null ? '/sent' : `/batches/${last.batch}`;
    yield html`</ol>${note('bad', texts.failed(sentence, total - done))}<p><a class="btn" href="${request.base}${path}">${texts.toBatch}</a></p>`;
  }
}
