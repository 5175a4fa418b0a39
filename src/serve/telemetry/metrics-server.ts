import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `/metrics` on a port of its own, so that clients of the contract do not get it by accident. */
export interface MetricsServer {
  readonly address: string;
  close(): Promise<void>;
}

export interface MetricsSettings {
  readonly metricsHost: string;
  /** 0 for no such port. */
  readonly metricsPort: number;
}

const TIMEOUT_MS = 10_000;

export async function serveMetrics(
  { metricsHost, metricsPort }: MetricsSettings,
  contentType: string,
  text: () => Promise<string>,
): Promise<MetricsServer> {
  const times = { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
  const server = createServer({ ...times, maxHeaderSize: 16_384 }, (request, response) => {
    const end = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
      response.end(request.method === 'HEAD' ? '' : body);
    };
    const line = (status: number, body: string) => end(status, 'text/plain; charset=utf-8', `${body}\n`);
    request.resume();
    if (request.url?.split('?', 1)[0] !== '/metrics') return line(404, 'Metrics are at /metrics.');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return line(405, 'This address accepts only GET and HEAD.');
    text().then(
      (metrics) => end(200, contentType, metrics),
      () => line(503, 'There are no metrics right now.'),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: metricsPort, host: metricsHost, exclusive: true }, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
