import type { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';

/** Delivery statuses in plain words, and what to do about them. The compiler misses none. */
export const statuses: Readonly<
  Record<(typeof DELIVERY_STATUSES)[number], { readonly words: string; readonly hint: string }>
> = {
  QUEUED: { words: 'Waiting', hint: 'It waits to be given to the carrier.' },
  SUBMITTED: { words: 'Given to the carrier', hint: 'The carrier has it and has not reported yet.' },
  ENROUTE: { words: 'On its way', hint: 'The carrier tries to deliver it.' },
  ACCEPTED: { words: 'Accepted', hint: 'The carrier has accepted it and has not delivered it yet.' },
  DELIVERED: { words: 'Delivered', hint: 'It has arrived on the phone.' },
  EXPIRED: { words: 'Too late', hint: 'It could not be delivered in time. Send it again if it still matters.' },
  DELETED: { words: 'Deleted by the carrier', hint: 'The carrier has deleted it. Send it again if it still matters.' },
  UNDELIVERABLE: { words: 'Not deliverable', hint: 'The number cannot get it. Check the number.' },
  UNKNOWN: {
    words: 'Not known',
    hint: 'Nobody knows whether the carrier took it, or the carrier never reported. It may have arrived. Ask the recipient before you send it again.',
  },
  REJECTED: { words: 'Refused', hint: 'The carrier has refused it. The reason is on the page of the message.' },
};
