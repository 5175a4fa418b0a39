import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { FINAL_STATUSES } from '../../domain/messages/statuses.ts';
import { type Attempt, attemptsOf } from '../../domain/sending/attempts.ts';
import { linkedMessage } from '../../domain/sending/resend.ts';
import type { Output } from '../../operator/action.ts';
import { messageCancel, messageShow } from '../../operator/actions/messages.ts';
import { messageResend } from '../../operator/actions/sending.ts';
import { partsOf, splitText } from '../../sms/parts.ts';
import { asking, noticeOf, table } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { grouped, messageText, party, time } from '../words.ts';
import { isResting, statusCell, statusHint } from './status-cell.ts';

/** One message that was sent or is scheduled, with everything that happened to it. */

const texts = {
  title: 'Message',
  to: 'To',
  text: 'Text',
  state: 'State',
  reference: 'Reference',
  id: 'Id',
  parts: 'Parts',
  partsSaid: (parts: number, alphabet: string) => `${parts} in ${alphabet}`,
  alphabets: { gsm7: 'the GSM alphabet', ucs2: 'Unicode (UCS-2), because a character is not in the GSM alphabet' },
  cost: 'Credits',
  costSaid: (credits: number) => `${credits}, one for each part`,
  held: 'Credits held',
  sentAt: 'Sent',
  scheduledAt: 'To be sent',
  notAfter: 'Do not send after',
  createdAt: 'Written',
  history: 'What happened',
  columns: ['When', 'State', 'Reason'],
  attempts: 'Attempts',
  attemptColumns: ['Attempt', 'Part', 'Connector', 'Carrier’s id', 'State', 'When'],
  attemptStates: {
    submitting: 'on its way to the carrier',
    accepted: 'the carrier has it',
    refused: 'refused',
    'unknown-outcome': 'unknown outcome: no answer',
  } as Readonly<Record<string, string>>,
  conversation: 'Conversation',
  resend: 'Send again',
  blacklist: 'Put the number on the blacklist',
  cancel: 'Cancel this message',
  cancelQuestion: 'Cancel this message? It is not sent, and its credits are free again.',
  gone: 'The message no longer exists: it was deleted, or it was too old. Its credits are still in the list of credits.',
  goneTitle: 'This message no longer exists',
  toSent: 'To the sent messages',
  notices: {
    cancelled: 'The message is cancelled, and its credits are free again.',
    resent: 'The message is sent again, as a new one.',
  },
} as const;

type Message = Output<typeof messageShow>;

const paramsOf = ({ account, params }: PageRequest) => ({ username: account.username, id: params.id ?? '' });

const show = async (request: PageRequest): Promise<View> => {
  if (!/^-?\d{1,19}$/.test(request.params.id ?? '')) return gone(request);
  let message: Message;
  try {
    message = await request.act.run(messageShow, { params: paramsOf(request) });
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.kind === 'not-found') return gone(request);
    throw thrown;
  }
  const attempts = await attemptsOf(request.services.database, request.account.id, BigInt(message.id));
  const shown = html`${facts(request, message)}${attemptTable(attempts, request.zone)}`;
  if (request.query.get('part') === 'rows') return { kind: 'fragment', html: shown };
  const isMoving = message.state === 'scheduled' || !isResting(message.status ?? '');
  const live = isMoving ? html` data-live="${request.path}?part=rows" data-mode="whole"` : '';
  const main = html`<h1>${texts.title}</h1>${noticeOf(request, texts.notices)}<div${live}>${shown}</div>
<div class="buttons">${buttons(request, message)}</div>`;
  return page(texts.title, main, { current: message.state });
};

const row = (name: string, value: Html | string): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

/** The history of a message that was sent again links to the other one. */
function reason(base: string, detail: string | null): Html {
  const other = linkedMessage(detail);
  return other === null ? html`${detail ?? ''}` : html`<a href="${base}/messages/${other}">${detail ?? ''}</a>`;
}

function facts({ zone, base }: PageRequest, message: Message): Html {
  const { recipient, text, status, reference, history, heldCredits } = message;
  const parts = partsOf(text ?? '');
  const isScheduled = message.state === 'scheduled';
  const events = history.map(({ status: each, at, detail }, index) => ({
    key: String(index),
    cells: [time(at, zone), statusCell(each), reason(base, detail)],
  }));
  return html`<dl class="list">${row(texts.to, party(recipient))}${row(texts.text, messageText(text))}
${isScheduled ? row(texts.scheduledAt, time(message.scheduledAt, zone)) : row(texts.state, html`${statusCell(status)}<br>${statusHint(status)}`)}
${message.notAfter === null ? '' : row(texts.notAfter, time(message.notAfter, zone))}
${isScheduled ? row(texts.createdAt, time(message.createdAt, zone)) : row(texts.sentAt, time(message.sentAt, zone))}
${row(texts.parts, texts.partsSaid(parts, texts.alphabets[splitText(text ?? '').encoding]))}${
  isScheduled ? row(texts.held, grouped(heldCredits ?? '0')) : row(texts.cost, texts.costSaid(parts))
}${row(texts.reference, reference ?? '–')}${row(texts.id, html`<code data-copy>${message.id}</code>`)}</dl>
${events.length === 0 ? '' : html`<h2>${texts.history}</h2>${table({ caption: texts.history, columns: texts.columns, rows: events })}`}`;
}

function attemptTable(attempts: readonly Attempt[], zone: string): Html {
  if (attempts.length === 0) return html``;
  const rows = attempts.map(({ attempt, part, connector, gatewayId, state, submittedAt }) => ({
    key: `${attempt}/${part}`,
    cells: [
      html`${attempt}`,
      html`${part}`,
      html`${connector}`,
      html`${gatewayId ?? '–'}`,
      html`${texts.attemptStates[state] ?? state}`,
      time(submittedAt, zone),
    ],
  }));
  return html`<h2>${texts.attempts}</h2>${table({ caption: texts.attempts, columns: texts.attemptColumns, rows })}`;
}

function buttons({ base }: PageRequest, { id, recipient, state, status }: Message): Html {
  const number = recipient ?? '';
  const to = new URLSearchParams({ with: number }).toString();
  const cancel = html`<form method="post" action="${base}/messages/${id}/cancel"><button class="danger">${texts.cancel}</button></form>`;
  const again = html`<form method="post" action="${base}/messages/${id}/resend"><input type="hidden" name="key" value="${randomBytes(16).toString('hex')}"><button>${texts.resend}</button></form>`;
  const isWaiting = state === 'scheduled' || status === 'QUEUED';
  const hasEnded = state !== 'scheduled' && (FINAL_STATUSES.includes(status ?? '') || status === 'UNKNOWN');
  return html`${isWaiting ? cancel : ''}${hasEnded ? again : ''}
${/\d/.test(number) ? html`<a href="${base}/conversation?${to}">${texts.conversation}</a> <a href="${base}/blacklist?${new URLSearchParams({ number }).toString()}">${texts.blacklist}</a>` : ''}`;
}

const gone = ({ base }: PageRequest): View =>
  page(
    texts.goneTitle,
    html`<h1>${texts.goneTitle}</h1><p class="note">${texts.gone}</p><p><a href="${base}/sent">${texts.toSent}</a></p>`,
    { status: 404, current: 'sent' },
  );

const cancel = async (request: PageRequest): Promise<View> => {
  const { base, params, form } = request;
  const id = params.id ?? '';
  const back = `${base}/messages/${id}`;
  if (form.text('confirmed') !== 'yes') {
    const question = texts.cancelQuestion;
    return asking('scheduled', { question, action: `${back}/cancel`, submit: texts.cancel, back });
  }
  await request.act.run(messageCancel, { params: paramsOf(request) });
  // A message that was due is still listed, as DELETED. A scheduled one is gone.
  const isListed = await request.domain.sent.show(request.account.id, BigInt(id)).catch(() => null);
  return isListed ? noticed(back, 'cancelled') : noticed(`${base}/scheduled`, 'cancel', 1);
};

const resend = async (request: PageRequest): Promise<View> => {
  const key = request.form.text('key');
  const id = await request.act.once(
    key,
    messageResend,
    { params: paramsOf(request) },
    ({ accepted }) => accepted[0]?.id ?? '',
  );
  return noticed(`${request.base}/messages/${id}`, 'resent');
};

export const messageRoutes = [
  get('/messages/:id', show),
  post('/messages/:id/cancel', cancel),
  post('/messages/:id/resend', resend),
];
