import { isFinal, isUndelivered } from '../../domain/messages/statuses.ts';
import type { IconName } from '../icons.ts';
import { chip } from '../parts.ts';
import { deletedByCarrier, statuses } from '../texts.ts';
import type { Cell, Tone } from '../words.ts';

/** Delivery statuses in words, and what they mean for lists. */
export const isFailed = isUndelivered;
/** Whether the status is not expected to change by itself. */
export const isResting = (status: string): boolean => isFinal(status) || isFailed(status);

interface StatusWords {
  readonly words: string;
  readonly hint: string;
  readonly look: readonly [Tone, IconName];
}

const wordsOf = (status: string): StatusWords =>
  Object.hasOwn(statuses, status)
    ? statuses[status as keyof typeof statuses]
    : { words: status, hint: '', look: ['off', 'question'] };

const NONE: Cell = { html: '<span class="quiet">–</span>', kind: 'chip' };

/** A delivery status: its icon, its words and its colour. Its code is in the title. */
export function statusCell(status: string | null, isDeletedByCarrier = false): Cell {
  if (status === null) return NONE;
  const { words, hint, look } = isDeletedByCarrier ? deletedByCarrier : wordsOf(status);
  return chip(look[0], look[1], words, `${status}. ${hint}`);
}

export const statusLook = (status: string): readonly [Tone, IconName] => wordsOf(status).look;
export const statusWords = (status: string): string => wordsOf(status).words;
export const statusHint = (status: string | null): string => (status === null ? '' : wordsOf(status).hint);
