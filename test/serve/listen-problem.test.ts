import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { startHealthThread } from '../../src/serve/health-thread.ts';
import { listenProblem, throwListenProblem } from '../../src/serve/listen-problem.ts';

/** An address that no machine has: it is reserved for documents. */
const FOREIGN = '192.0.2.1';

async function errorOf(host: string, port: number): Promise<NodeJS.ErrnoException> {
  const [thrown] = await once(createServer().listen(port, host), 'listening').catch((error) => [error]);
  return thrown ?? assert.fail('it listens');
}

const told = (thrown: Error, environment: Record<string, string>) => () =>
  listenProblem(readConfig(environment))(thrown);

describe('what keeps a listener from listening', () => {
  const listeners = [
    ['HOST', 'PORT', '--host or COLUMBA_HOST'],
    ['WEB_HOST', 'WEB_PORT', '--web-host or COLUMBA_WEB_HOST'],
    ['METRICS_HOST', 'METRICS_PORT', '--metrics-host or COLUMBA_METRICS_HOST'],
  ] as const;
  for (const [host, port, remedy] of listeners) {
    const message = `This machine does not have the address ${FOREIGN}. Choose one that it has, or 0.0.0.0 for all, with ${remedy}.`;

    test(`an address in COLUMBA_${host} that this machine does not have is named with its setting`, async () => {
      const environment = { [`COLUMBA_${host}`]: FOREIGN, [`COLUMBA_${port}`]: '18080' };
      assert.throws(told(await errorOf(FOREIGN, 18_080), environment), { kind: 'bad-argument', message });
      // Without a port in the error, as for a port that the system chooses.
      const chosen = { [`COLUMBA_${host}`]: FOREIGN };
      assert.throws(told(await errorOf(FOREIGN, 0), chosen), { message });
    });
  }

  test('the health port, which a thread serves, names its own setting', async () => {
    const settings = { healthHost: FOREIGN, healthPort: 18_081 };
    const thrown = await startHealthThread(settings, systemClock, () => {}).catch((error) => error);
    const environment = { COLUMBA_HOST: FOREIGN, COLUMBA_HEALTH_HOST: FOREIGN, COLUMBA_HEALTH_PORT: '18081' };
    assert.throws(told(thrown, environment), / address 192\.0\.2\.1\. .* with --health-host or COLUMBA_HEALTH_HOST\.$/);
  });

  test('a name without an address, and a port for root alone, are told with what to do', () => {
    const unnamed = Object.assign(new Error(), { code: 'ENOTFOUND', hostname: 'nothing.invalid' });
    assert.throws(
      told(unnamed, { COLUMBA_WEB_HOST: 'nothing.invalid' }),
      /^Problem: The name nothing\.invalid has no address\. .* with --web-host or COLUMBA_WEB_HOST\.$/,
    );
    const privileged = Object.assign(new Error(), { code: 'EACCES', port: 80, address: '127.0.0.1' });
    assert.throws(
      told(privileged, { COLUMBA_PORT: '80' }),
      /port 80\. Choose a port above 1023 with --port or COLUMBA_PORT\.$/,
    );
  });

  test('an option of another command is named as it is, and another error stays as it is', () => {
    const options = { host: '127.0.0.1', port: 8090, hostSetting: '--host', portSetting: '--port' };
    const taken = Object.assign(new Error(), { code: 'EADDRINUSE' });
    assert.throws(() => throwListenProblem(taken, options), {
      message: 'Port 8090 is taken. Choose another port with --port.',
    });
    const other = Object.assign(new Error('listen EMFILE'), { code: 'EMFILE' });
    assert.throws(() => throwListenProblem(other, options), other);
  });
});
