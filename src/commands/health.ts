import { systemClock } from '../base/clock.ts';
import { callHttp } from '../base/http-client.ts';
import type { Config } from '../config/settings.ts';
import { print, remark } from './output.ts';

/**
 * `columba health`: asks the running service on this machine whether it is ready. Containers that
 * have neither curl nor a shell use it as their health check.
 */
const TIMEOUT_MS = 4_000;
const ANSWER_BYTES_MAX = 4_096;

/** Returns the exit code: 0 if the service is ready, else 1. */
export async function runHealth({ host, port, healthHost, healthPort }: Config, asJson: boolean): Promise<number> {
  const peer = { ...(healthPort > 0 ? { host: healthHost, port: healthPort } : { host, port }), tls: false };
  const outcome = await callHttp(
    systemClock,
    { ...peer, host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[peer.host] ?? peer.host },
    {
      method: 'GET',
      path: '/health/ready',
      timeoutMs: TIMEOUT_MS,
      answerBytesMax: ANSWER_BYTES_MAX,
      beyond: 'ignore',
    },
  );
  if (outcome.kind === 'answered' && outcome.status === 200) {
    print(asJson ? JSON.stringify({ isReady: true, reason: null }) : 'The service is ready.');
    return 0;
  }
  const reason = outcome.kind === 'answered' ? `it answers with ${outcome.status}` : outcome.reason;
  if (asJson) print(JSON.stringify({ isReady: false, reason }));
  remark(`columba: the service at ${peer.host}:${peer.port} is not ready: ${reason}`);
  return 1;
}
