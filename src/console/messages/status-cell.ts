import { type Html, html } from '../../base/html.ts';
import { statuses } from '../texts.ts';

/** Delivery statuses in words, and what they mean for lists. */
const FAILED: readonly string[] = ['EXPIRED', 'DELETED', 'UNDELIVERABLE', 'UNKNOWN', 'REJECTED'];

export const isFailed = (status: string): boolean => FAILED.includes(status);
/** Whether the status is not expected to change by itself. */
export const isResting = (status: string): boolean => status === 'DELIVERED' || isFailed(status);

const wordsOf = (status: string) =>
  Object.hasOwn(statuses, status) ? statuses[status as keyof typeof statuses] : { words: status, hint: '' };

/** A delivery status in words, with its code. */
export function statusCell(status: string | null): Html {
  if (status === null) return html`<span class="quiet">–</span>`;
  const { words, hint } = wordsOf(status);
  const kind = status === 'DELIVERED' ? 'good' : isFailed(status) ? 'bad' : '';
  return html`<span class="${kind}" title="${hint}">${words}</span> <small class="quiet">${status}</small>`;
}

export const statusHint = (status: string | null): string => (status === null ? '' : wordsOf(status).hint);
