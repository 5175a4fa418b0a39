import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { FINAL_STATUSES } from '../../domain/messages/statuses.ts';
import { type Story, storyOf } from '../../domain/queue/story.ts';
import type { Output } from '../../operator/action.ts';
import { messageCancel, messageShow } from '../../operator/actions/messages/messages.ts';
import { messageResend } from '../../operator/actions/messages/sending.ts';
import { partsOf, splitText } from '../../sms/parts.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { grouped } from '../counts.ts';
import { asking, noticeOf } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { backLink, button, fact, facts, head, linkButton, note, panel, question } from '../parts.ts';
import { messageText, telephone, time } from '../words.ts';
import { isDeletedByCarrier, partTable, timeline, whySaid } from './message-story.ts';
import { isResting, statusCell } from './status-cell.ts';

/** One message that was sent or is scheduled, with everything that happened to it. */

const texts = {
  title: 'Message',
  to: 'To',
  unknown: '(unknown)',
  text: 'Text',
  facts: 'About it',
  lists: { sent: 'Sent', scheduled: 'Scheduled' },
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
  conversation: 'Conversation',
  resend: 'Send again',
  resendUnknown: 'Send again…',
  resendQuestion: 'Send it again? Nobody knows whether it has arrived, so the person may get it twice.',
  blacklist: 'Blacklist…',
  cancel: 'Cancel this message…',
  cancelSubmit: 'Cancel this message',
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
  const told = await storyOf(request.services.database, request.account.id, {
    id: BigInt(message.id),
    acceptedAt: Date.parse(message.history[0]?.at ?? message.createdAt ?? message.sentAt ?? ''),
    history: message.history.map(({ status, at, detail }) => ({ status, at: Date.parse(at), detail })),
  });
  const name = (await contactNames(request, [message.recipient]))(message.recipient);
  const { zone, base, query } = request;
  const why = html`${title(request, message, told, name)}${whySaid(message.status, told, base, zone)}`;
  if (query.get('part') === 'why') return { kind: 'fragment', html: why };
  const story = storyShown(request, message, told);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: story };
  const isMoving = message.state === 'scheduled' || !isResting(message.status ?? '');
  const live = (part: string) => (isMoving ? html` data-live="${request.path}?part=${part}" data-mode="whole"` : '');
  const main = html`${backLink(`${request.base}/${message.state}`, texts.lists[message.state])}${noticeOf(request, texts.notices)}
<div class="stack"${live('why')}>${why}</div><div class="row">${buttons(request, message)}</div>
<div class="stack"${live('rows')}>${story}</div>`;
  return page(texts.title, main, { current: message.state });
};

/** Whom the message is for, when, and what became of it. */
function title(
  { zone }: PageRequest,
  { recipient, state, status, scheduledAt, sentAt }: Message,
  told: Story,
  name: string | null,
): Html {
  const number = recipient === null ? texts.unknown : telephone(recipient);
  const when =
    state === 'scheduled'
      ? html`${texts.scheduledAt} ${time(scheduledAt, zone)}`
      : html`${texts.sentAt} ${time(sentAt, zone)}`;
  const chip = state === 'scheduled' ? '' : statusCell(status, isDeletedByCarrier(status, told));
  return head(
    html`${texts.to} ${name === null ? number : html`<bdi>${name}</bdi>`}`,
    html`${name === null ? '' : html`${number} · `}${when}`,
    chip,
  );
}

function storyShown({ zone, base }: PageRequest, message: Message, told: Story): Html {
  return html`<div class="cols"><div class="stack">${timeline(told, base, zone)}</div>
<div class="stack">${panel({ title: texts.text, content: html`<p class="bubble">${messageText(message.text)}</p>` })}${panel({ title: texts.facts, content: factsOf(zone, message) })}</div></div>${partTable(told, zone)}`;
}

function factsOf(zone: string, { id, text, reference, heldCredits, state, notAfter, createdAt }: Message): Html {
  const parts = partsOf(text ?? '');
  const isScheduled = state === 'scheduled';
  return facts([
    fact(texts.parts, texts.partsSaid(parts, texts.alphabets[splitText(text ?? '').encoding])),
    isScheduled ? fact(texts.held, grouped(heldCredits ?? '0')) : fact(texts.cost, texts.costSaid(parts)),
    isScheduled ? fact(texts.createdAt, time(createdAt, zone)) : '',
    notAfter === null ? '' : fact(texts.notAfter, time(notAfter, zone)),
    fact(texts.reference, reference ?? '–'),
    fact(texts.id, html`<code data-copy>${id}</code>`),
  ]);
}

function buttons({ base }: PageRequest, { id, recipient, state, status }: Message): Html {
  const number = recipient ?? '';
  const to = new URLSearchParams({ with: number }).toString();
  const cancel = html`<form method="post" action="${base}/messages/${id}/cancel">${button(texts.cancel, { look: 'danger' })}</form>`;
  const action = `${base}/messages/${id}/resend`;
  const key = html`<input type="hidden" name="key" value="${randomBytes(16).toString('hex')}">`;
  const again =
    status === 'UNKNOWN'
      ? question({
          words: texts.resendUnknown,
          icon: 'again',
          question: texts.resendQuestion,
          action,
          fields: key,
          submit: texts.resend,
        })
      : html`<form method="post" action="${action}">${key}${button(texts.resend, { icon: 'again' })}</form>`;
  const isWaiting = state === 'scheduled' || status === 'QUEUED';
  const hasEnded = state !== 'scheduled' && (FINAL_STATUSES.includes(status ?? '') || status === 'UNKNOWN');
  const links = html`${linkButton(`${base}/conversation?${to}`, texts.conversation, { icon: 'chat' })}
${linkButton(`${base}/blacklist?${new URLSearchParams({ number })}#add`, texts.blacklist, { icon: 'block', look: 'danger' })}`;
  return html`${hasEnded ? again : ''}${/\d/.test(number) ? links : ''}${isWaiting ? cancel : ''}`;
}

const gone = ({ base }: PageRequest): View =>
  page(
    texts.goneTitle,
    html`${head(texts.goneTitle)}${note('', texts.gone)}<p><a class="btn" href="${base}/sent">${texts.toSent}</a></p>`,
    { status: 404, current: 'sent' },
  );

const cancel = async (request: PageRequest): Promise<View> => {
  const { base, params, form } = request;
  const id = params.id ?? '';
  const back = `${base}/messages/${id}`;
  if (form.text('confirmed') !== 'yes') {
    const question = texts.cancelQuestion;
    return asking('scheduled', { question, action: `${back}/cancel`, submit: texts.cancelSubmit, back });
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
