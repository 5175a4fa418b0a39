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

function wordsOf(status: string, isDeletedByCarrier = false): StatusWords {
  if (isDeletedByCarrier) return deletedByCarrier;
  if (Object.hasOwn(statuses, status)) return statuses[status as keyof typeof statuses];
  return { words: status, hint: '', look: ['off', 'question'] };
}

const NONE: Cell = { html: '<span class="quiet">–</span>', kind: 'chip' };

/** A delivery status: its icon, its words and its colour. Its code is in the title. */
export function statusCell(status: string | null, isDeletedByCarrier?: boolean): Cell {
  if (status === null) return NONE;
  const { words, hint, look } = wordsOf(status, isDeletedByCarrier);
  return chip(look[0], look[1], words, `${status}. ${hint}`);
}

export const statusLook = (status: string, isDeletedByCarrier?: boolean): readonly [Tone, IconName] =>
  wordsOf(status, isDeletedByCarrier).look;
export const statusWords = (status: string, isDeletedByCarrier?: boolean): string =>
  wordsOf(status, isDeletedByCarrier).words;
export const statusHint = (status: string | null): string => (status === null ? '' : wordsOf(status).hint);
