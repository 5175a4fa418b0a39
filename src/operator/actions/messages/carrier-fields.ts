import { z } from 'zod';
import { badField } from '../../../base/problem.ts';
import { createConnectors } from '../../../domain/sending/connectors.ts';
import {
  type CarrierFields,
  FIELD_NAME_FORM,
  FIELD_VALUE_FORM,
  FIELDS_MAX,
  readFields,
  storedFields,
} from '../../../sms/carrier-fields.ts';
import type { Services } from '../../action.ts';

const A_FIELD = 'expected names such as templateId';
const A_FIELD_VALUE = 'expected 1 to 100 printable ASCII characters';
/** Fields that carriers demand, such as those of India. */
export const carrierFields = z
  .record(z.string().regex(FIELD_NAME_FORM, A_FIELD), z.string().regex(FIELD_VALUE_FORM, A_FIELD_VALUE))
  .refine((fields) => Object.keys(fields).length <= FIELDS_MAX, `expected at most ${FIELDS_MAX} fields`);

/** An object in JSON, and its text in the account. */
export const storedCarrierFields = z
  .codec(carrierFields, z.string().nullable(), {
    decode: storedFields,
    encode: (stored) => ({ ...readFields(stored) }),
  })
  .describe("Fields that carriers demand of its messages, such as India's entityId; a message may have others.");

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
  const { fieldNames } = await import('../../../carriers/kinds.ts'); // loads every kind, which few commands need
  const known = new Set(connectors.flatMap(({ kind, config }) => fieldNames(kind, config)));
  const unknown = given.find((name) => !known.has(name));
  if (unknown === undefined) return;
  const words = known.size > 0 ? `The connectors know ${[...known].sort().join(', ')}.` : 'No connector has any.';
  throw badField('carrierFields', `no connector has a field ${unknown}. ${words}`);
}

/** Checks the stored fields of an account in the same way. */
export const requireStoredFields = (services: Pick<Services, 'database' | 'now'>, stored: string | null = null) =>
  requireCarrierFields(services, readFields(stored));
