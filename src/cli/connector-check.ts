import type { Config } from '../config/settings.ts';
import { createConnectors } from '../domain/connectors.ts';
import { readConnectorFile } from '../gateway/connector-file.ts';
import { createConnector } from '../gateway/kinds.ts';
import type { Services } from '../services.ts';
import { print, remark } from './output.ts';

/** Looks for the usual mistakes of every configured connector. True where there are none. */
export async function checkConnectors({ database }: Services, config: Config): Promise<boolean> {
  const ofFile = readConnectorFile(config.connectors);
  const inFile = new Set(ofFile.map(({ name }) => name));
  // One of the file that no service has taken over yet is not in the table.
  const others = (await createConnectors(database, Date.now).list()).filter(
    ({ name, origin }) => origin === 'api' && !inFile.has(name),
  );
  let isRight = true;
  for (const { name, kind, config: own } of [...ofFile, ...others]) {
    const faults = (await createConnector(name, kind, own, { now: Date.now }).probe?.()) ?? [];
    for (const fault of faults) remark(`columba: ${name}: ${fault}`);
    print(`Connector: ${name} (${kind})${faults.length === 0 ? '' : ', with mistakes'}`);
    if (faults.length > 0) isRight = false;
  }
  return isRight;
}
