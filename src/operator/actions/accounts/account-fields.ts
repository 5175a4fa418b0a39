import { z } from 'zod';
import { badField } from '../../../base/problem.ts';
import { type AccountRecord, unknownOutcomePolicies } from '../../../domain/accounts/accounts.ts';
import { isTimeZone, QUIET_HOURS_FORM } from '../../../domain/sending/quiet-hours.ts';
import { isRegion } from '../../../sms/numbers.ts';
import { changedWords, shownWords } from '../../reply-words.ts';
import { allowedNetworks, amount, credits, formerName, instant, integer, line, username } from '../../schemas.ts';
import { storedCarrierFields } from '../messages/carrier-fields.ts';

/** The fields of an account, as operators set and see them. */

const text = (lengthMax: number, description: string) => line(lengthMax).nullable().optional().describe(description);

export const settable = {
  company: text(200, 'Name of the company.'),
  contactName: text(200, 'First name of the contact person.'),
  contactSurname: text(200, 'Surname of the contact person.'),
  email: text(320, 'E-mail address.'),
  tel: text(50, 'Phone number.'),
  fax: text(50, 'Fax number.'),
  mobile: text(50, 'Mobile number.'),
  address: text(1000, 'Postal address.'),
  region: z
    .string()
    .refine(isRegion, 'expected a country code such as ZA')
    .nullable()
    .optional()
    .describe('Country of the local phone numbers of the account, such as ZA.'),
  priority: integer(0, 3).optional().describe('Priority of its messages, 0 to 3; higher goes first.'),
  tag: integer(-(2 ** 31), 2 ** 31 - 1)
    .optional()
    .describe("A number for the operator's own use."),
  allowedNetworks: allowedNetworks.nullable().optional(),
  timeZone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'expected a time zone such as Africa/Johannesburg')
    .nullable()
    .optional()
    .describe('Time zone of the quiet hours, such as Africa/Johannesburg.'),
  quietHours: z
    .string()
    .regex(QUIET_HOURS_FORM, 'expected two times such as 22:00-06:00')
    .nullable()
    .optional()
    .describe('Hours in which nothing is sent, such as 22:00-06:00.'),
  unknownOutcomePolicy: z
    .enum(unknownOutcomePolicies)
    .optional()
    .describe('What becomes of a message with an unknown outcome: nobody knows whether the carrier has it.'),
  unsurePolicy: formerName(z.enum(unknownOutcomePolicies).optional(), 'unknownOutcomePolicy'),
  lowCredits: amount.nullable().optional().describe('Below this number of free credits, credits.low is sent.'),
  connector: text(64, 'The connector that carries the messages of the account; null for the default connector.'),
  carrierFields: storedCarrierFields.nullable().optional(),
  ...changedWords,
};

export const settableObject = z.strictObject(settable);

export const accountOutput = z.strictObject({
  username,
  state: z.enum(['enabled', 'disabled']),
  company: z.string().nullable(),
  contactName: z.string().nullable(),
  contactSurname: z.string().nullable(),
  email: z.string().nullable(),
  tel: z.string().nullable(),
  fax: z.string().nullable(),
  mobile: z.string().nullable(),
  address: z.string().nullable(),
  region: z.string().nullable(),
  priority: z.int(),
  tag: z.int(),
  allowedNetworks,
  timeZone: z.string().nullable(),
  quietHours: z.string().nullable(),
  unknownOutcomePolicy: z.enum(unknownOutcomePolicies),
  unsurePolicy: formerName(z.enum(unknownOutcomePolicies), 'unknownOutcomePolicy'),
  connector: z.string().nullable(),
  lowCredits: amount.nullable(),
  carrierFields: storedCarrierFields,
  ...shownWords,
  credits,
  usedCredits: credits,
  createdAt: instant,
  lastLoginAt: instant.nullable(),
  disabledAt: instant.nullable(),
  hasPassword: z.boolean(),
});

export const shown = ({ id: _, ...record }: AccountRecord): z.output<typeof accountOutput> => ({
  ...record,
  unsurePolicy: record.unknownOutcomePolicy,
  state: record.disabledAt === null ? 'enabled' : 'disabled',
});

export const EXAMPLE = {
  username: 'acme',
  state: 'enabled',
  company: 'Acme Ltd',
  contactName: 'Ann',
  contactSurname: 'Lee',
  email: 'ann@acme.example',
  tel: null,
  fax: null,
  mobile: '+27825550100',
  address: null,
  region: 'ZA',
  priority: 1,
  tag: 0,
  allowedNetworks: [],
  timeZone: 'Africa/Johannesburg',
  quietHours: '22:00-06:00',
  unknownOutcomePolicy: 'never-twice',
  unsurePolicy: 'never-twice',
  connector: null,
  lowCredits: '50',
  carrierFields: {},
  stopWords: ['STOP', 'UNSUBSCRIBE'],
  startWords: [],
  helpWords: [],
  wordLanguages: ['en'],
  stopAnswer: 'You get no more messages from us. Write START to get them again.',
  helpAnswer: null,
  credits: '500',
  usedCredits: '0',
  createdAt: '2026-11-15T12:00:00.000Z',
  lastLoginAt: null,
  disabledAt: null,
  hasPassword: false,
};

/** The settings that were given, by their names of this version. */
export function givenSettings<T extends Pick<z.output<typeof settableObject>, 'unknownOutcomePolicy' | 'unsurePolicy'>>(
  fields: T,
) {
  const { unsurePolicy, unknownOutcomePolicy = unsurePolicy, ...others } = fields;
  if (unsurePolicy !== undefined && unsurePolicy !== unknownOutcomePolicy) {
    throw badField('unsurePolicy', 'this is the former name of unknownOutcomePolicy, which is given too; remove it');
  }
  return onlyGiven({ ...others, unknownOutcomePolicy });
}

/** Leaves out the fields that were not given. */
const onlyGiven = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
