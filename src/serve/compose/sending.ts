import { performance } from 'node:perf_hooks';
import type { Clock } from '../../base/clock.ts';
import { createCarrierEvents } from '../../carriers/carrier-events.ts';
import { readConnectorFile } from '../../carriers/connector-file.ts';
import { createGateway, type Gateway } from '../../carriers/gateway.ts';
import { createThrottle, type ThrottleParts } from '../../carriers/throttle.ts';
import type { Config } from '../../config/settings.ts';
import { heldReceipts } from '../../domain/sending/receipts.ts';
import { describeError } from '../telemetry/error-redaction.ts';
import type { Log } from '../telemetry/log.ts';
import type { App } from './contract.ts';

/**
 * Starts the dispatchers of this service. With workers they run in the web process, where messages
 * are accepted and carriers call back, while the workers serve calls. `calls` tells how busy those
 * are if they are in other processes. Undefined if dispatchers are switched off.
 */
export async function startGateway(
  { database, bytesSent, oddities }: Pick<App, 'database' | 'bytesSent' | 'oddities'>,
  config: Config,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  calls: Pick<ThrottleParts, 'bytesSent' | 'utilization'> = {
    bytesSent,
    utilization: performance.eventLoopUtilization,
  },
): Promise<Gateway | undefined> {
  if (!config.dispatcher) return undefined;
  const { now } = clock;
  const ofFile = readConnectorFile(config.connectors);
  const throttle = createThrottle({
    ...calls,
    monotonicMs: clock.monotonic,
    sleep: clock.sleep,
  });
  const gateway = createGateway({
    throttle,
    database,
    clock,
    ofFile,
    log,
    events: createCarrierEvents(database, now, config.region || null, throttle),
    noticed: oddities.count,
    onGatewayIds: heldReceipts,
    defaultRegion: config.region || null,
    settings: { unknownOutcomeMs: config.unknownOutcomeMinutes * 60_000 },
    failed: (thrown) => log.error({ err: describeError(thrown) }, 'messages could not be sent'),
    connectorChanged: (connector, reason) => {
      if (reason === null) log.info({ connector }, 'the connector works again');
      else log.warn({ connector, reason }, 'the connector is down: its messages wait');
    },
    builtinUsed: () =>
      log.info('no connector is configured: messages go to the loopback, which delivers them to nobody'),
  });
  await gateway.start();
  return gateway;
}
