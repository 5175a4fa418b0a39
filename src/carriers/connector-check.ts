import { createConnectors, type NewConnector } from '../domain/sending/connectors.ts';
import type { Database } from '../store/database.ts';
import { type ConnectorDependencies, createConnector } from './kinds.ts';

/** For `columba check`: the mistakes of every connector, in words. Nothing is sent. */
export interface CheckedConnector {
  readonly name: string;
  readonly kind: string;
  readonly isDefault: boolean;
  readonly mistakes: readonly string[];
}

export async function checkConnectors(
  database: Database,
  ofFile: readonly NewConnector[],
  deps: ConnectorDependencies,
): Promise<CheckedConnector[]> {
  const names = new Set(ofFile.map(({ name }) => name));
  const stored = (await createConnectors(database, deps.clock.now).list()).filter(
    ({ name, origin }) => origin !== 'file' && !names.has(name),
  );
  const checked: CheckedConnector[] = [];
  // If the file has a default, it becomes the only one when the service starts.
  const fileHasDefault = ofFile.some(({ isDefault }) => isDefault);
  const others = stored.map((each) => ({ ...each, isDefault: each.isDefault && !fileHasDefault }));
  for (const { name, kind, isDefault, config } of [...ofFile, ...others]) {
    const mistakes = await mistakesOf(name, kind, config, deps);
    checked.push({ name, kind, isDefault, mistakes });
  }
  return checked;
}

async function mistakesOf(
  name: string,
  kind: string,
  config: Readonly<Record<string, unknown>>,
  deps: ConnectorDependencies,
): Promise<string[]> {
  try {
    return (await createConnector(name, kind, config, deps).probe?.()) ?? [];
  } catch {
    return ['The configuration does not match its kind. Configure it again.']; // the error may hold a secret
  }
}
