import { badField } from '../base/problem.ts';
import { fieldNames } from '../carriers/kinds.ts';
import type { CarrierFields } from '../domain/sending/carrier-fields.ts';
import { createConnectors } from '../domain/sending/connectors.ts';
import type { Services } from './action.ts';

/**
 * A field that no connector sends is a mistake: the carrier would refuse the message, or send it
 * without what the country demands. The fields of a connector file are known only where the
 * dispatchers run, so beside such a connector every name is taken.
 */
export async function requireCarrierFields(
  { database, now }: Pick<Services, 'database' | 'now'>,
  fields: CarrierFields = {},
): Promise<void> {
  const given = Object.keys(fields);
  if (given.length === 0) return;
  const connectors = await createConnectors(database, now).list();
  if (connectors.some(({ origin }) => origin === 'file')) return;
  const known = new Set(connectors.flatMap(({ kind, config }) => fieldNames(kind, config)));
  const unknown = given.find((name) => !known.has(name));
  if (unknown === undefined) return;
  const words = known.size > 0 ? `The connectors know ${[...known].sort().join(', ')}.` : 'No connector has any.';
  throw badField('carrierFields', `no connector has a field ${unknown}. ${words}`);
}
