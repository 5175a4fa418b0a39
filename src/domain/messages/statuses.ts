/** The statuses of receipts, in the order of SMPP's message_state, which begins with 1. */
export const RECEIPT_STATUSES = [
  'ENROUTE',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'ACCEPTED',
  'UNKNOWN',
  'REJECTED',
] as const;

/** QUEUED and SUBMITTED are ours. */
export const DELIVERY_STATUSES = ['QUEUED', 'SUBMITTED', ...RECEIPT_STATUSES] as const;

/**
 * The message may have reached nobody. UNKNOWN is one of them until a late receipt says more.
 * DELETED is none if the customer cancelled it: sent.deleted_by_carrier is 1 after a receipt.
 */
export const UNDELIVERED_STATUSES: readonly string[] = ['EXPIRED', 'UNDELIVERABLE', 'REJECTED', 'UNKNOWN'];

export const isUndelivered = (status: string): boolean => UNDELIVERED_STATUSES.includes(status);

/** A later report does not change these. UNKNOWN is not final: a late receipt still counts. */
export const FINAL_STATUSES: readonly string[] = ['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED'];

export const isFinal = (status: string): boolean => FINAL_STATUSES.includes(status);
