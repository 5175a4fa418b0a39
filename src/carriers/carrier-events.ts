import { createIncoming } from '../domain/receiving/incoming.ts';
import { createReceipts, heldReceipts } from '../domain/sending/receipts.ts';
import { createSettling } from '../domain/sending/settle.ts';
import type { Database } from '../store/database.ts';
import type { CarrierEvents } from './connector.ts';
import { carrierText, isAttemptId } from './submissions.ts';
import { NO_THROTTLE, type Throttle } from './throttle.ts';

/**
 * Receives what carriers report to connectors. Every process that has connectors has its own. A
 * promise resolves when the report is on disk.
 */
export function createCarrierEvents(
  database: Database,
  now: () => number,
  defaultRegion: string | null = null,
  throttle: Throttle = NO_THROTTLE,
): CarrierEvents {
  const receipts = createReceipts(database, now, throttle);
  const settling = createSettling(database, now, heldReceipts);
  const incoming = createIncoming(database, now, defaultRegion);
  return {
    receipt: ({ attemptId, gatewayId, otherGatewayIds = [], ...receipt }) =>
      receipts.receive({
        ...receipt,
        attemptId: attemptId !== null && isAttemptId(attemptId) ? attemptId : null,
        gatewayId: shortened(gatewayId),
        otherGatewayIds: otherGatewayIds.map(shortened).filter((id) => id !== null),
      }),
    incoming: ({ gatewayId, ...message }) => incoming.receive({ ...message, gatewayId: shortened(gatewayId) }),
    late: ({ connector, attemptId, result }) =>
      settling.settleLateAnswer({
        connector,
        attemptId,
        state: result.kind === 'accepted' ? 'accepted' : 'refused',
        gatewayId: result.kind === 'accepted' ? shortened(result.gatewayId) : null,
        rejection: result.kind === 'permanent' ? carrierText(result.reason) : null,
      }),
  };
}

/** Ids are keys of indexes, where PostgreSQL takes at most 2.7 kB. */
const shortened = (id: string | null): string | null => (id === null ? null : carrierText(id)) || null;
