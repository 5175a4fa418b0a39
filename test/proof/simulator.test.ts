import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('../../proof/simulator/run.ts', import.meta.url));

const PLANTED = 'credits.low at every debit';

/** In a process of its own, because the simulator takes the place of node:sqlite while the program is loaded. */
function simulated(...options: string[]): { status: number | null; lines: string[] } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', RUN, '--hours', '3', '--nodes', '2', ...options],
    { encoding: 'utf8', timeout: 240_000 }, // while it runs, no limit of node:test counts
  );
  return { status, lines: `${stdout}${stderr}`.trim().split('\n') };
}

test('the simulator finds a planted fault that sends an event at every debit, and not only when credits become low', () => {
  const { status, lines } = simulated(
    ...['--seed', '1', '--seeds', '5', '--hours', '16', '--nodes', '3', '--until-fault', '--mutation', PLANTED],
  );
  assert.equal(status, 1, lines.join('\n'));
  assert.match(
    lines.join('\n'),
    /lowCreditsAreTold: poor: credits fell below the limit \d+ times, and \d+ events told it/,
  );
});
