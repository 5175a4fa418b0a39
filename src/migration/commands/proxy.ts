import { hostname } from 'node:os';
import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { examples } from '../../commands/help-text.ts';
import { print, remark } from '../../commands/output.ts';
import { type Session, withSession } from '../../commands/session.ts';
import { throwListenProblem } from '../../serve/listen-problem.ts';
import { describeError } from '../../serve/telemetry/error-redaction.ts';
import { createLog, type Log } from '../../serve/telemetry/log.ts';
import type { MigrationProxy } from '../proxy/migration-proxy.ts';
import { STAGES, type Stage } from '../stages/stages.ts';
import {
  folderOption,
  formerKnownDifferenceOption,
  jsonOption,
  knownDifferenceOption,
  migrationSettings,
  readCount,
  readText,
  readUrl,
} from './settings.ts';

/** `columba migrate proxy`, which runs until a signal ends it. */
interface ProxyOptions {
  readonly old: string;
  readonly new?: string;
  readonly host: string;
  readonly port: number;
  readonly stage?: Stage;
  readonly account: readonly string[];
  readonly record: boolean;
  readonly pseudonyms?: true;
  readonly oldCa?: string;
  readonly oldInsecureCertificate?: true;
  readonly oldLegacyTls?: true;
  readonly oldReadingIsSafe?: true;
  readonly oldTimeoutMs: number;
  readonly newTimeoutMs: number;
  readonly dryRun?: true;
  readonly json?: true;
}

const MORE = `
Stages: record, compare, lead, alone. --stage is for accounts without a stage of their own, or for those of --account. A stage that was set before stays: change it with columba migrate stage and columba migrate default-stage, while the proxy runs. SIGUSR2 makes it a plain pass-through to the old server, and the next SIGUSR2 ends that.`;

export const proxyCommand = (): Command =>
  new Command('proxy')
    .description('answer for the old server, and compare Columba with it')
    .addOption(new Option('--old <URL>', 'the old server').argParser(readUrl).makeOptionMandatory())
    .addOption(
      new Option('--new <URL>', 'the address of Columba; without it, that of the settings on this machine').argParser(
        readUrl,
      ),
    )
    .option('--host <ADDRESS>', 'address to listen on', '127.0.0.1')
    .addOption(
      new Option('--port <N>', 'port to listen on; 0 for any free one').argParser(readCount(0, 65_535)).default(8090),
    )
    .addOption(new Option('--stage <STAGE>', 'the first stage').choices(STAGES))
    .option('--account <USERNAME>', 'set the stage of this account only; may be repeated', addName, [])
    .addOption(folderOption())
    .option('--no-record', 'record nothing')
    .option('--pseudonyms', 'replace numbers and texts in recordings')
    .addOption(knownDifferenceOption())
    .addOption(formerKnownDifferenceOption())
    .option('--old-ca <FILE>', 'PEM certificates that the certificate of the old server may be signed by')
    .option('--old-insecure-certificate', 'accept any certificate of the old server')
    .option('--old-legacy-tls', 'speak TLS 1.0 and 1.1 with the old server too')
    .option(
      '--old-reading-is-safe',
      'state that reading marks nothing at the old server, although the import has not tested it',
    )
    .addOption(waitOption('--old-timeout-ms', 'the old server', 120_000))
    .addOption(waitOption('--new-timeout-ms', 'Columba', 10_000))
    .option('--dry-run', 'check the settings and both servers, then end')
    .addOption(jsonOption())
    .addHelpText('after', MORE)
    .addHelpText('after', examples('columba migrate proxy --old https://old.example --stage record'))
    .action(async (_options, command: Command) => {
      const creates = command.opts<ProxyOptions>().dryRun !== true;
      process.exitCode = await withSession(command, { creates }, (session) => runProxy(session, command));
    });

const addName = (name: string, before: readonly string[]): string[] => [...before, name];
const waitOption = (flag: string, who: string, fallback: number): Option =>
  new Option(`${flag} <N>`, `how long ${who} may be silent`).argParser(readCount(1, 3_600_000)).default(fallback);

async function runProxy(session: Session, command: Command): Promise<number> {
  const options = command.opts() as ProxyOptions;
  const { config } = session;
  const log = createLog(config.logLevel);
  const created = await createProxyOf(session, command, log);
  if (options.dryRun) return dryRun(created, options);
  await offerStages(session, options);
  // Installed before the address is told, because a signal without a handler ends the process.
  let changing = Promise.resolve();
  const toggle = (): void => {
    const isOn = !created.proxy.isPassThrough;
    if (isOn) created.proxy.isPassThrough = true; // at once, even if an earlier change is not stored yet
    // The end of the pass-through is logged only after the write to the database that ends it.
    const tell = () => log.warn({ passThrough: isOn }, 'SIGUSR2');
    if (isOn) tell();
    changing = changing
      .then(() => created.setPassThrough(isOn))
      .then(() => (isOn ? undefined : tell()))
      .catch((thrown) => log.error({ err: describeError(thrown) }, 'the pass-through continues: send SIGUSR2 again'));
  };
  process.on('SIGUSR2', toggle);
  const ending = new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => resolve(name));
  });
  await created.start();
  const port = await created.proxy
    .listen(options.port, options.host)
    .catch((thrown) => throwListenProblem(thrown, { ...options, hostSetting: '--host', portSetting: '--port' }));
  const address = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`;
  print(options.json ? JSON.stringify({ address }) : `The proxy answers at ${address}. Old server: ${options.old}`);
  const told = createRepeat({
    clock: systemClock,
    everyMs: 60_000,
    work: async () => log.info(Object.fromEntries(created.pendingCounts.sinceStart), 'calls so far'),
    failed: () => {},
  });
  told.start();
  const signal = await ending;
  log.info({ signal }, 'stopping');
  await told.stop();
  await created.stop();
  process.off('SIGUSR2', toggle);
  return 0;
}

async function createProxyOf({ services, config }: Session, command: Command, log: Log): Promise<MigrationProxy> {
  const options = command.opts() as ProxyOptions;
  const { createMigrationProxy } = await import('../proxy/migration-proxy.ts');
  const { isNoAnswer } = await import('../old-server/outages.ts');
  const { folder, key, dialect, compare } = await migrationSettings(config, command);
  const { oldCa, oldInsecureCertificate, oldLegacyTls } = options;
  const namespace = dialect.namespace ?? config.namespace;
  return createMigrationProxy({
    name: `${hostname()} ${options.host}:${options.port}`,
    database: services.database,
    clock: systemClock,
    oldUrl: options.old,
    newUrl: options.new ?? `http://${config.host === '0.0.0.0' ? '127.0.0.1' : config.host}:${config.port}`,
    oldTls: {
      ...(oldCa === undefined ? {} : { ca: readText(oldCa, '--old-ca') }),
      insecure: oldInsecureCertificate === true,
      legacy: oldLegacyTls === true,
    },
    oldTimeoutMs: options.oldTimeoutMs,
    newTimeoutMs: options.newTimeoutMs,
    dialect,
    namespace,
    zone: config.timeZone,
    listLimit: config.listLimit,
    key,
    folder: options.record ? folder : undefined,
    pseudonyms: options.pseudonyms === true,
    disabledKnownDifferences: compare.disabled,
    trustedProxies: config.trustedProxies,
    oldReadingIsSafe: options.oldReadingIsSafe === true,
    failed: atMostOncePerSecond((thrown) => {
      if (isNoAnswer(thrown)) return; // an outage is logged once
      const { server } = thrown as { server?: string };
      const err = describeError(thrown);
      if (server === undefined) log.warn({ err }, 'the proxy continues');
      else log.warn({ err, server }, `a call to ${server} failed; the proxy continues`);
    }),
    outage: ({ server, thrown, over }) => {
      if (!over)
        return log.warn({ err: describeError(thrown), server }, `${server} does not answer; the proxy continues`);
      const seconds = Math.ceil(over.ms / 1_000);
      log.warn({ server, seconds, calls: over.calls }, `${server} answers again; its outage took ${seconds} s`);
    },
  });
}

/** An error that happens at every call must not fill the disk with log lines. */
function atMostOncePerSecond(tell: (thrown: unknown) => void): (thrown: unknown) => void {
  let toldAt = 0;
  return (thrown) => {
    if (systemClock.now() - toldAt < 1_000) return;
    toldAt = systemClock.now();
    tell(thrown);
  };
}

async function offerStages({ services }: Session, { stage, account }: ProxyOptions): Promise<void> {
  if (stage === undefined) return;
  const { createMigrationStages } = await import('../stages/stages.ts');
  const stages = createMigrationStages(services.database, systemClock.now);
  const stays = (who: string, present: Stage): void => {
    if (present !== stage) remark(`columba: ${who}: stays in the stage ${present}, which was set before`);
  };
  if (account.length === 0) stays('default', await stages.offerDefault(stage));
  for (const name of account) stays(name, await stages.offer(name, stage));
}

/** Checks whether both servers answer. */
async function dryRun({ probe, stop }: MigrationProxy, { json }: ProxyOptions): Promise<number> {
  const found = await probe();
  await stop();
  if (json) print(JSON.stringify(found));
  else for (const [name, result] of Object.entries(found)) print(`${name}: ${result}`);
  return Object.values(found).every((result) => result.startsWith('answers')) ? 0 : 1;
}
