import { Problem } from '../base/problem.ts';
import { createConnectors, type NewConnector } from '../domain/sending/connectors.ts';
import type { Database } from '../store/database.ts';
import type { Trial, TrialInput } from './connector.ts';
import type { ConnectorDependencies } from './dependencies.ts';
import { createConnector } from './kinds.ts';

/** For `columba check`: the mistakes of every connector, in words. Nothing is sent. */
export interface CheckedConnector {
  readonly name: string;
  readonly kind: string;
  readonly isDefault: boolean;
  readonly mistakes: readonly string[];
  /** What is worth knowing, and no mistake. */
  readonly notes: readonly string[];
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
  for (const connector of [...ofFile, ...others]) {
    const { name, kind, isDefault } = connector;
    checked.push({ name, kind, isDefault, ...(await probed(connector, deps)) });
  }
  return checked;
}

/** The same for one connector. Problem `not-found` where there is none of this name. */
export async function testConnector(
  database: Database,
  ofFile: readonly NewConnector[],
  name: string,
  deps: ConnectorDependencies,
): Promise<Pick<CheckedConnector, 'mistakes' | 'notes'>> {
  const own = ofFile.find((each) => each.name === name);
  return probed(own ?? (await createConnectors(database, deps.clock.now).show(name)), deps);
}

/** The request that a message would make. Problem `bad-argument` for a kind that shows none. */
export async function tryConnector(
  database: Database,
  ofFile: readonly NewConnector[],
  name: string,
  given: TrialInput,
  deps: ConnectorDependencies,
): Promise<Trial> {
  const own = ofFile.find((each) => each.name === name);
  const { kind, config } = own ?? (await createConnectors(database, deps.clock.now).show(name));
  const connector = createConnector(name, kind, config, deps);
  if (!connector.trial) throw new Problem('bad-argument', `A connector of the kind ${kind} shows no request.`);
  return connector.trial(given);
}

async function probed(
  { name, kind, config, submissionsMax }: NewConnector,
  deps: ConnectorDependencies,
): Promise<Pick<CheckedConnector, 'mistakes' | 'notes'>> {
  const notes: string[] = [];
  try {
    const connector = createConnector(name, kind, config, deps);
    const { windowTotal = 0 } = connector;
    if (windowTotal > submissionsMax) {
      notes.push(
        `The windows of its connections have room for ${windowTotal} submissions, and submissionsMax allows ${submissionsMax}.`,
      );
    }
    return { mistakes: (await connector.probe?.((note) => notes.push(note))) ?? [], notes };
  } catch {
    // The error may hold a secret.
    return { mistakes: ['The configuration does not match its kind. Configure it again.'], notes };
  }
}
