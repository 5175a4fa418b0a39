import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type HealthSettings, type Pulse, STATES, serveHealth } from './health-port.ts';
import { type Failed, milliseconds } from './health-thread.ts';

/** The code of the thread that health-thread.ts starts. */

if (parentPort) void serve(parentPort, workerData as { settings: HealthSettings; told: Int32Array });

async function serve(parent: MessagePort, { settings, told }: { settings: HealthSettings; told: Int32Array }) {
  const pulse = (): Pulse => ({
    state: STATES[Atomics.load(told, 0)] ?? 'starting',
    lagMs: (milliseconds() - Atomics.load(told, 1)) | 0,
  });
  try {
    const { address, close } = await serveHealth(settings, () => [pulse()]);
    parent.once('message', () => close().then(() => parent.close()));
    parent.postMessage({ address });
  } catch (thrown) {
    const { message, code, port, address, hostname } = thrown as Error & Failed; // a cloned Error would lose them
    parent.postMessage({ failed: { message, code, port, address, hostname } });
    parent.close();
  }
}
