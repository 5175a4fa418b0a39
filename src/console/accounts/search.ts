import { type Html, html } from '../../base/html.ts';
import { addAuditEntry } from '../../domain/accounts/audit.ts';
import type { FoundEverywhere, PositionEverywhere } from '../../domain/search/everywhere.ts';
import { accountList } from '../../operator/actions/accounts/accounts.ts';
import { type ContactNames, contactNamesOf } from '../contacts/contact-names.ts';
import { addressWith, onOff, table } from '../lists.ts';
import { isFailed, statusCell } from '../messages/status-cell.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { chip, empty, fact, facts, head, linkButton, named, note, panel, person } from '../parts.ts';
import { listTexts } from '../texts.ts';
import { type Cell, clamped, time } from '../words.ts';

/** For operators: a number, an id, a reference or an account, in all accounts. */

const texts = {
  title: (words: string) => `“${words}”`,
  plainTitle: 'Search',
  readAs: (kinds: string) => `Read as ${kinds}, and looked up in all accounts, of all time`,
  kinds: { number: 'a number', id: 'the id of a message', reference: 'a reference' },
  messages: 'Messages',
  columns: ['Person', 'Account', 'Text', 'State', 'When'],
  accounts: 'Accounts',
  accountColumns: ['Account', 'State'],
  enabled: 'Enabled',
  disabled: 'Disabled',
  received: 'Received',
  scheduled: 'Scheduled',
  none: (words: string) => `Nothing was found for “${words}”.`,
  noneHint:
    'All messages of all accounts were looked through for this number, id or reference, and all accounts for this name.',
  failed: 'The newest one did not arrive.',
  why: 'Why it did not arrive',
  canLook: 'You can look for',
  looks: [
    ['A number', 'in any spelling, best in international form: +27 61 555 0109'],
    ['A message', 'by its id, such as 4118207'],
    ['A reference', 'as the customer gave it'],
    ['An account', 'by its username, company or e-mail'],
  ],
  earlier: 'Earlier messages',
  first: 'Newest messages',
} as const;

const LENGTH_MAX = 200;
const POSITION = /^(-?\d{1,16})\.(\d{1,19})\.(\d)\.(-?\d{1,19})$/;

function readPosition(text: string | null): PositionEverywhere | undefined {
  const [, at, account, kind, id] = POSITION.exec(text ?? '') ?? [];
  if (id === undefined) return undefined;
  return {
    at: Number(at),
    account: BigInt.asIntN(64, BigInt(account as string)),
    kind: Number(kind),
    id: BigInt.asIntN(64, BigInt(id)),
  };
}
const writePosition = ({ at, account, kind, id }: PositionEverywhere): string => `${at}.${account}.${kind}.${id}`;

const baseOf = (username: string): string => `/console/accounts/${encodeURIComponent(username)}`;

function linkOf({ username, message: { kind, id, number } }: FoundEverywhere): string {
  const base = baseOf(username);
  return kind === 'received'
    ? `${base}/conversation?with=${encodeURIComponent(number ?? '')}`
    : `${base}/messages/${id}`;
}

function stateOf({ message: { kind, status, isDeletedByCarrier } }: FoundEverywhere): Cell {
  if (kind === 'received') return chip('', 'chat', texts.received);
  return kind === 'scheduled' ? chip('wait', 'calendar', texts.scheduled) : statusCell(status, isDeletedByCarrier);
}

async function messageTable(request: PageRequest, found: readonly FoundEverywhere[]): Promise<Html> {
  const names = new Map<bigint, ContactNames>();
  for (const [account, own] of Map.groupBy(found, ({ account }) => account)) {
    const numbers = own.map(({ message }) => message.number);
    names.set(account, await contactNamesOf(request, account, numbers));
  }
  const nameOf = ({ account, message }: FoundEverywhere) => names.get(account)?.(message.number) ?? null;
  const rows = found.map((each) => ({
    key: `${each.username}/${each.message.kind}${each.message.id}`,
    cells: [
      person(each.message.number, nameOf(each), linkOf(each)),
      html`<a href="${baseOf(each.username)}"><bdi>${each.username}</bdi></a>`,
      clamped(each.message.text),
      stateOf(each),
      time(each.message.at, request.zone),
    ],
  }));
  return panel({
    title: texts.messages,
    content: table({ caption: texts.messages, columns: texts.columns, rows }),
    isFlush: true,
  });
}

/** What became of the newest sent message, if it did not arrive. */
function newestFailure(found: readonly FoundEverywhere[]): Html {
  const newest = found.find(({ message: { kind } }) => kind === 'sent');
  if (!newest || !isFailed(newest.message.status ?? '')) return html``;
  return note('bad', html`<p>${texts.failed} <a href="${linkOf(newest)}">${texts.why}</a></p>`);
}

async function accountsOf({ act }: PageRequest, words: string) {
  const { items } = await act.run(accountList, { query: { limit: '20', q: words } });
  const rows = items.map(({ username, company, state }) => ({
    key: username,
    cells: [
      named(html`<a href="${baseOf(username)}"><bdi>${username}</bdi></a>`, company ?? ''),
      onOff(state === 'enabled', texts.enabled, texts.disabled),
    ],
  }));
  if (rows.length === 0) return null;
  return panel({
    title: texts.accounts,
    content: table({ caption: texts.accounts, columns: texts.accountColumns, rows }),
    isFlush: true,
  });
}

/** A search in the messages of all accounts is audited, without the words. */
const noteSearch = ({ session, origin, services: { database, now } }: PageRequest, kinds: readonly string[]) =>
  addAuditEntry(database, {
    at: now(),
    actorKind: 'console operator',
    actorName: session.owner.name,
    tokenId: null,
    address: origin.address,
    action: 'search',
    account: null,
    target: kinds.join(', '),
    fields: [],
  });

const canLook = (): Html =>
  panel({ title: texts.canLook, content: facts(texts.looks.map(([name, value]) => fact(name, value))) });

const show = async (request: PageRequest): Promise<View> => {
  const { query, domain } = request;
  const words = (query.get('q') ?? '').trim().slice(0, LENGTH_MAX);
  if (words === '') return page(texts.plainTitle, html`${head(texts.plainTitle)}${canLook()}`, { current: 'search' });
  const after = readPosition(query.get('after'));
  const { found, next, isComplete, readAs } = await domain.searchEverywhere(words, after);
  await noteSearch(request, readAs);
  const accounts = after ? null : await accountsOf(request, words);
  const nothing = found.length === 0 && !accounts && next === null && !after;
  const missing = isComplete ? '' : note('wait', listTexts.notIndexed);
  const kinds = readAs.map((kind) => texts.kinds[kind]).join(', ');
  const main = html`${head(html`<bdi>${texts.title(words)}</bdi>`, texts.readAs(kinds))}${missing}${newestFailure(found)}
${accounts ?? ''}${found.length > 0 ? await messageTable(request, found) : ''}${nothing ? empty(texts.none(words), isComplete ? texts.noneHint : '', '', 'search') : ''}${pages(request, next)}
${canLook()}`;
  return page(texts.title(words), main, { current: 'search' });
};

function pages(request: PageRequest, next: PositionEverywhere | null): Html {
  const back = request.query.has('after')
    ? linkButton(addressWith(request, { after: null }), texts.first, { icon: 'left', look: 's' })
    : '';
  const address = next && addressWith(request, { after: writePosition(next) });
  const on = address === null ? '' : linkButton(address, texts.earlier, { icon: 'right', look: 's' });
  if (back === '' && on === '') return html``;
  return html`<nav class="pager" aria-label="${texts.messages}"><span class="row">${back}</span><span class="row">${on}</span></nav>`;
}

export const operatorSearchRoutes = [get('/search', show)];
