import cluster from 'node:cluster';
import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { sqlitePath } from '../config/database-name.ts';
import { serve } from '../serve/serve.ts';
import { createLog } from '../serve/telemetry/log.ts';
import { createLogStream } from '../serve/telemetry/log-stream.ts';
import { isOpenToOthers, remark, remarkOnTerminal } from './output.ts';
import { appDependencies, configOf } from './session.ts';

/** Runs `columba serve` and returns the exit code. */
export async function runServe(command: Command): Promise<number> {
  const { demo, trace, database } = command.opts();
  if (demo && database !== undefined) {
    command.error('--demo uses a temporary database of its own; leave out --database');
  }
  const { config, file } = configOf(command);
  if (file && cluster.isPrimary) remarkOnTerminal(`Settings: ${file.path}`);
  if (demo && (process.env.COLUMBA_DATABASE || file?.lines.has('COLUMBA_DATABASE'))) {
    remark('columba: --demo uses a temporary database of its own; COLUMBA_DATABASE is not used');
  }
  // A closed reader of the banner must not end the service.
  process.stdout.removeAllListeners('error').on('error', () => {});
  const output = createLogStream(config.workers > 1, systemClock);
  process.on('exit', output.flush);
  const log = createLog(config.logLevel, output);
  const path = sqlitePath(config);
  if (cluster.isPrimary && !demo && path !== undefined && isOpenToOthers(path)) {
    log.warn({ path }, 'other users can read the database; run chmod 600 on it');
  }
  return serve(
    config,
    { ...(await appDependencies(config)), log, telemetry: { output, environment: process.env } },
    { demo: demo === true, trace },
  );
}
