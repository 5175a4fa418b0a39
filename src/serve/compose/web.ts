import type { HttpBindings } from '@hono/node-server';
import type { Clock } from '../../base/clock.ts';
import type { Problem } from '../../base/problem.ts';
import { createCarrierCallbacks } from '../../carriers/callback-router.ts';
import { createCarrierEvents } from '../../carriers/carrier-events.ts';
import { readConnectorFile } from '../../carriers/connector-file.ts';
import type { Gateway } from '../../carriers/gateway.ts';
import type { Config } from '../../config/settings.ts';
import { webPortOf } from '../../config/web-address.ts';
import { createConsole } from '../../console/app.ts';
import { createAddresses } from '../../http/client-address.ts';
import type { RequestHead } from '../../http/request-head.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { createApi } from '../../operator/api.ts';
import { createWebApp } from '../../web/app.ts';
import { listenWeb, type WebServer } from '../../web/server.ts';
import { describeError } from '../telemetry/error-redaction.ts';
import type { Log } from '../telemetry/log.ts';
import type { App } from './contract.ts';
import { servicesOf } from './operator.ts';

/**
 * Serves the console, the operator's API and carriers' callbacks on the web listener. Undefined if
 * that is switched off, or if the default port is taken and no port was configured, so that a
 * second service can start.
 */
export async function startWeb(
  app: App,
  config: Config,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  gateway?: Gateway,
): Promise<WebServer | undefined> {
  const webPort = webPortOf(config);
  if (webPort === null) return undefined;
  const addresses = createAddresses({ ...config, baseUrl: config.webUrl });
  let address: string | undefined;
  const services = servicesOf(
    app,
    config,
    clock,
    () => gateway?.wake(),
    () => address,
  );
  const admitClient = (client: string) => app.admission.admitClient(client);
  const report = ({ message, kind, details }: Problem, request_id: string) =>
    log.error({ err: describeError(details.cause), kind, request_id }, details.operator ?? message);
  const failures = app.credentialFailures;
  const signInRefused = (client: string) => failures.count('sign-in', { client });
  const api = createApi({
    services,
    bodyBytesMax: config.bodyBytesMax,
    admitClient,
    ...(config.addressRate > 0 && {
      ratePolicy: { burst: config.addressBurst, seconds: Math.ceil(config.addressBurst / config.addressRate) },
    }),
    authenticationFailed: (client) => app.admission.failed(client),
    refused: (reason, client) => failures.count(reason, { client }),
    report,
  });
  const seen = ({ incoming: { socket, headers } }: HttpBindings) =>
    addresses.of({ headers, target: '/' } as unknown as RequestHead, addresses.peer(socket));
  const { database } = app;
  const events = createCarrierEvents(database, clock.now, config.region || null);
  const callbacks = createCarrierCallbacks({
    database,
    clock,
    events,
    ofFile: readConnectorFile(config.connectors),
    denied: (name, why, client) => failures.count('carrier', { client, connector: name.slice(0, 64), why }),
    noticed: app.oddities.count,
    ...(gateway && { runningOf: gateway.runningOf }),
  });
  const web = createWebApp({
    api,
    console: createConsole({ services, admitClient, report, contractLoad: app.contractLoad, signInRefused }),
    healthState: () => app.health.state(),
    clientOf: (bindings) => seen(bindings).client,
    baseOf: (bindings) => seen(bindings).base,
    requestIdOf,
    receivingBytesMax: config.webReceivingBytesMax,
    unsentBytesMax: config.unsentBytesMax,
    carriers: callbacks.handle,
    failed: (thrown, what) => log.error({ err: describeError(thrown) }, what),
  });
  const server = await listenWeb({ ...config, webPort }, web, addresses, clock).catch((thrown) => {
    if (config.webPort !== 'default' || thrown.code !== 'EADDRINUSE') throw thrown;
    return undefined;
  });
  if (!server) {
    log.warn(
      `port ${webPort} is taken, so the console and the operator's API are not served; choose another port with COLUMBA_WEB_PORT`,
    );
    return undefined;
  }
  address = server.address;
  log.info({ web: server.address, pid: process.pid }, "serving the console and the operator's API");
  return {
    address,
    async close() {
      await server.close();
      await callbacks.stop();
    },
  };
}
