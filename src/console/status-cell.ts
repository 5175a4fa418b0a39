import { type Html, html } from '../html.ts';
import { FAILED, statuses } from './texts/statuses.ts';

/** A delivery status in words, with its code. */
export function statusCell(status: string | null): Html {
  if (status === null) return html`<span class="quiet">–</span>`;
  const { words, hint } = statuses[status] ?? { words: status, hint: '' };
  const kind = status === 'DELIVERED' ? 'good' : FAILED.includes(status) ? 'bad' : '';
  return html`<span class="${kind}" title="${hint}">${words}</span> <small class="quiet">${status}</small>`;
}

export const statusHint = (status: string | null): string => (status === null ? '' : (statuses[status]?.hint ?? ''));
