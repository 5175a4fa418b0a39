/** QUEUED and SUBMITTED are ours. The others are the names of SMPP for receipts of carriers. */
export const DELIVERY_STATUSES = [
  'QUEUED',
  'SUBMITTED',
  'ENROUTE',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'ACCEPTED',
  'UNKNOWN',
  'REJECTED',
] as const;

/** A later report does not change these. UNKNOWN is not final: a late receipt still counts. */
export const FINAL_STATUSES: readonly string[] = ['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED'];

export const isFinal = (status: string): boolean => FINAL_STATUSES.includes(status);
