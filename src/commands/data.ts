import { once } from 'node:events';
import { statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readDialectFile } from '../asmx/dialect/dialect-file.ts';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { checkConnectors } from '../carriers/connector-check.ts';
import { readConnectorFile } from '../carriers/connector-file.ts';
import { databaseName, sqlitePath } from '../config/database-name.ts';
import { type Config, configLines } from '../config/settings.ts';
import type { Discrepancy } from '../domain/accounts/ledger.ts';
import { createOutboundRoutes, routeNotes } from '../domain/outbound/routes.ts';
import { readUnconnected, unconnectedFault } from '../domain/queue/counts.ts';
import { told } from '../serve/backup/recover.ts';
import type { Services } from '../serve/compose/services.ts';
import { exportAccounts } from '../transfer/export.ts';
import { type ImportResult, importFile } from '../transfer/import.ts';
import { checkDistribution } from './citus.ts';
import {
  createTeller,
  formatBytes,
  isDevice,
  isOpenToOthers,
  print,
  refuseDatabase,
  remark,
  remarkOnTerminal,
  writeWhole,
} from './output.ts';
import type { Session } from './session.ts';

/** The commands about the data as a whole. */

/** Returns the exit code, which is 1 if an account was refused. */
export async function runImport(
  services: Services,
  path: string,
  { encoding, update, asJson }: { readonly encoding: string; readonly update: boolean; readonly asJson: boolean },
): Promise<number> {
  const result = await importFile(path, services.archive, systemClock.now, {
    encoding,
    update,
    progress: showProgress(),
  });
  for (const mistake of result.mistakes) remark(mistake);
  if (result.mistakesLeftOut > 0) remark(`… and ${result.mistakesLeftOut.toLocaleString('en')} more`);
  const updated = result.updated > 0 ? ` Existed before: ${result.updated.toLocaleString('en')}.` : '';
  const refused = result.refused > 0 ? ` Refused: ${result.refused.toLocaleString('en')}.` : '';
  print(asJson ? JSON.stringify(result, null, 2) : `Imported ${importedCounts(result)}.${updated}${refused}`);
  return result.refused > 0 ? 1 : 0;
}

interface ExportFlags {
  readonly ndjson?: true;
  readonly account?: string;
  readonly output?: string;
  readonly force?: true;
}

export async function runExport({ services, config }: Session, flags: ExportFlags): Promise<void> {
  const { ndjson, account, output, force } = flags;
  if (output !== undefined) refuseDatabase(output, sqlitePath(config));
  const options = { ndjson: ndjson === true, username: account ?? null, clock: systemClock };
  const { archive } = services;
  /** Flags of fs.open: wx creates a file, w writes to a device. */
  const writeFile = async (path: string, flags: string) => {
    const file = await open(path, flags, 0o600);
    try {
      await exportAccounts(archive, options, (piece) => file.appendFile(piece));
    } finally {
      await file.close();
    }
  };
  if (output === undefined) {
    await exportAccounts(archive, options, async (piece) => {
      if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
    });
  } else if (isDevice(output)) await writeFile(output, 'w');
  else await writeWhole(output, { force: force === true }, (temporary) => writeFile(temporary, 'wx'));
}

export async function runBackup(
  { services, config }: Session,
  path: string,
  { force, json }: { readonly force?: true; readonly json?: true },
): Promise<void> {
  refuseDatabase(path, sqlitePath(config));
  await told(() => writeWhole(path, { force: force === true }, (temporary) => services.backup(temporary)), path);
  print(json ? JSON.stringify({ file: path }) : `Wrote ${path}.`);
}

/**
 * Checks the settings, the database and the connectors. Returns the exit code, which is 1 if
 * credits do not add up or if a connector is misconfigured.
 */
export async function runCheck(
  { services, config }: Session,
  { ledger, settings, json }: { readonly ledger?: true; readonly settings?: true; readonly json?: true },
): Promise<number> {
  const { bytes, schemaVersion, accounts } = await services.status();
  const carriers = await checkCarriers(services, config);
  const sums = ledger ? await checkLedger(services) : NOTHING;
  const stored = await checkDistribution(config);
  const faults = [...stored.faults, ...carriers.faults, ...sums.faults];
  const { tell, end } = createTeller(json === true);
  const sentences = [...stored.remarks, ...carriers.remarks, ...sums.remarks];
  tell({ isUsable: faults.length === 0, faults, remarks: sentences });
  if (faults.length === 0) tell({}, 'The settings are valid and the database can be used.');
  else remark(`columba: The database can be used. ${faults.join(' ')}`);
  for (const line of sentences) remark(`columba: ${line}`);
  const path = sqlitePath(config);
  tell(
    { database: databaseName(config), bytes, schemaVersion, accounts },
    `Database: ${databaseName(config)}`,
    `Size: ${formatBytes(bytes)}`,
    `Schema version: ${schemaVersion}`,
    `Accounts: ${accounts.toLocaleString('en')}`,
  );
  if (path !== undefined) {
    const { bavail, bsize } = statfsSync(dirname(path));
    tell({ freeBytes: bavail * bsize }, `Free on its disk: ${formatBytes(bavail * bsize)}`);
    if (isOpenToOthers(path)) remark(`columba: Other users can read the database. Run: chmod 600 ${path}*`);
  }
  if (config.dialect !== '') tell({ dialect: config.dialect }, `Dialect: ${dialectEntries(config)}`);
  const details = [...stored.lines, ...carriers.lines, ...sums.lines];
  tell({ details }, ...details);
  if (settings) tell({ settings: configLines(config) }, ...configLines(config));
  else remarkOnTerminal('The settings, each with its value: columba check --settings');
  end();
  return faults.length === 0 ? 0 : 1;
}

/** What a part of the check has found: sentences of its result, details, and what to do. */
interface Finding {
  readonly faults: readonly string[];
  readonly lines: readonly string[];
  readonly remarks: readonly string[];
}
const NOTHING: Finding = { faults: [], lines: [], remarks: [] };

/** The names of the entries of the dialect. Throws Problem if the file cannot be used. */
const dialectEntries = ({ dialect, timeZone }: Config): string =>
  Object.keys(readDialectFile(dialect, timeZone))
    .filter((entry) => entry !== 'evidence' && entry !== 'answered')
    .join(', ') || 'no entry';

async function checkCarriers({ database }: Services, config: Config): Promise<Finding> {
  const checked = await checkConnectors(database, readConnectorFile(config.connectors), { clock: systemClock });
  const names = checked.map(({ name, kind }) => `${name} (${kind})`);
  const unconnected = await readUnconnected(database, checked, systemClock.now());
  const wrong = checked.filter(({ mistakes }) => mistakes.length > 0);
  const routes = createOutboundRoutes(database, systemClock.now);
  const ofRoutes = routeNotes(await routes.list(), await routes.counts(), new Set(checked.map(({ name }) => name)));
  return {
    faults: [
      ...wrong.map(({ name }) => `The connector ${name} cannot be used as it is configured.`),
      ...unconnected.map(unconnectedFault),
    ],
    lines: [
      ...checked.flatMap(({ name, notes }) => notes.map((note) => `Connector ${name}: ${note}`)),
      ...ofRoutes,
      `Connectors: ${names.join(', ') || 'none yet, so the loopback, which brings messages to nobody. To reach a carrier: columba setup'}`,
    ],
    remarks: [
      ...wrong.flatMap(({ name, mistakes }) => mistakes.map((mistake) => `connector ${name}: ${mistake}`)),
      ...wrong.map(({ name }) => `After a correction, try: columba connector test ${name}`),
      ...(unconnected.length > 0 ? ['Connectors, and which is the default: columba connector list'] : []),
    ],
  };
}

/** Finds accounts whose credits are not the sum of their movements. */
async function checkLedger({ ledger }: Services): Promise<Finding> {
  const { accounts, discrepancies } = await ledger.check();
  const wrong = new Set(discrepancies.map(({ username }) => username)).size;
  const sums = wrong === 0 ? 'all add up' : `${wrong.toLocaleString('en')} do not add up`;
  return {
    faults: wrong === 0 ? [] : [`The credits of ${counted(wrong, 'account')} do not add up.`],
    lines: [`Ledger: ${counted(accounts, 'account')} checked, ${sums}`],
    remarks: discrepancies.map(sentenceOf),
  };
}

function sentenceOf({ username, side, stored, counted }: Discrepancy): string {
  if (side === 'messages') return `${username}: ${stored} credits are held, and scheduled messages hold ${counted}`;
  if (stored === counted) return `${username}: there is no row in the ledger`;
  return `${username}: ${side} credits are ${stored}, and their movements add up to ${counted}`;
}

const importedCounts = ({ accounts, messages }: ImportResult): string =>
  `${counted(accounts, 'account')} with ${counted(messages, 'message')}`;

/** Shows progress on a terminal, four times a second. */
function showProgress(): (result: ImportResult) => void {
  if (!process.stderr.isTTY) return () => {};
  let shownAt = 0;
  return (result) => {
    if (systemClock.now() - shownAt < 250) return;
    shownAt = systemClock.now();
    process.stderr.write(`\r${importedCounts(result)}…\u001b[K\r`);
  };
}
