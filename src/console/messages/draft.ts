import { hash } from 'node:crypto';
import { type Html, html } from '../../base/html.ts';
import { ownerKey } from '../../domain/access/owners.ts';
import { createForm } from '../form.ts';
import { type PageRequest, page, type View } from '../page-request.ts';
import { head, linkButton, note } from '../parts.ts';
import { lineOf, type Recipient, type Recipients, readLine } from './recipients.ts';

/**
 * What was written and is to be checked and sent. It is stored, so that the check is a page with an
 * address, which a reload and going back show again, and so that exactly the numbers that were
 * checked get the message.
 */

const texts = {
  gone: 'This message is no longer here',
  goneWhy:
    'What you write is kept for a day after its check. This was checked earlier than that, or by somebody else. Nothing was sent from here.',
  accepted: 'These messages were accepted',
  acceptedWhy: 'Columba has them already, so there is nothing left to check or to send here.',
  toResult: 'To what was sent',
  write: 'New message',
} as const;

export interface Written {
  /** The fields of the form as they were typed, and the rows of the file. */
  readonly fields: readonly (readonly [string, string])[];
  /** Each is a number, with its values of the columns. */
  readonly lines: readonly string[];
  /** Where each number was found, in words. */
  readonly from: readonly string[];
  /** The columns of the file that the text needs. */
  readonly columns: readonly string[];
  readonly duplicates: number;
}

const TYPED = ['to', 'text', 'when', 'notAfter', 'reference'] as const;

export const isDraftKey = (key: string): boolean => /^[0-9a-f]{32}$/.test(key);
const keyOf = ({ account, session }: PageRequest, id: string) => ({
  account: account.id,
  id,
  owner: ownerKey(session.owner),
});

export function writtenOf(
  { form }: PageRequest,
  key: string,
  recipients: Recipients,
  columns: readonly string[],
): Written {
  const typed = TYPED.map((name) => [name, form.raw(name)] as const);
  const groups = form.all('group').map((group) => ['group', group] as const);
  const file = [
    ['fileNumbers', recipients.fileNumbers.join('\n')],
    ['fileColumns', recipients.fileColumns.join('\t')],
    ['fileName', recipients.fileName],
  ] as const;
  return {
    fields: [['key', key], ...typed, ...groups, ...file],
    lines: linesOf(recipients.list, columns),
    from: recipients.list.map(({ from }) => from),
    columns,
    duplicates: recipients.duplicates.length,
  };
}

const linesOf = (list: readonly Recipient[], columns: readonly string[]): string[] =>
  list.map(({ number, values = {} }) =>
    columns.length === 0
      ? number
      : lineOf(
          number,
          columns.map((name) => values[name] ?? ''),
        ),
  );

export const recipientsOf = ({ lines, from, columns }: Written): Recipient[] =>
  lines.map((line, index) => ({ ...readLine(line, columns), from: from[index] ?? '' }));

/** The same text to the same numbers at the same time: what was checked is what is sent. */
export const digestOf = ({ fields, lines }: Written): string => hash('sha256', JSON.stringify([fields, lines]));

export const saveDraft = (request: PageRequest, key: string, written: Written): Promise<void> =>
  request.domain.drafts.save(keyOf(request, key), JSON.stringify(written));

/** What was accepted, and the page that shows it. */
interface Accepted {
  readonly digest: string;
  readonly path: string;
}

/** What was written; or, after it was accepted, where it is. */
export async function findDraft(
  request: PageRequest,
  key: string,
): Promise<{ readonly written: Written | null; readonly accepted: Accepted | null } | null> {
  const found = isDraftKey(key) ? await request.domain.drafts.find(keyOf(request, key)) : null;
  if (!found) return null;
  const { content, result } = found;
  return {
    written: content === null ? null : (JSON.parse(content) as Written),
    accepted: result === null ? null : (JSON.parse(result) as Accepted),
  };
}

export const draftAccepted = (request: PageRequest, key: string, accepted: Accepted): Promise<void> =>
  request.domain.drafts.accepted(keyOf(request, key), JSON.stringify(accepted));

/** The request as if its form had been sent again as it was written. */
export const asWritten = (request: PageRequest, { fields }: Written): PageRequest => ({
  ...request,
  form: createForm(fields),
});

const ended = ({ base }: PageRequest, title: string, main: Html, status?: number): View =>
  page(
    title,
    html`${head(title)}${main}<div class="row">${linkButton(`${base}/compose`, texts.write, { icon: 'pen' })}</div>`,
    {
      current: 'compose',
      ...(status === undefined ? {} : { status }),
    },
  );

export const goneDraft = (request: PageRequest): View => ended(request, texts.gone, note('', texts.goneWhy), 404);

/** What somebody sees who goes back after the messages were accepted. */
export const acceptedDraft = (request: PageRequest, path: string): View =>
  ended(
    request,
    texts.accepted,
    note('good', html`<p>${texts.acceptedWhy}</p><p><a href="${request.base}${path}">${texts.toResult}</a></p>`),
  );
