import type { ProblemKind } from '../problem.ts';
import type { contract } from './contract.ts';
import type { Contract, Operation, ParameterType } from './types.ts';

/** When an operation answers with an error, for pages and reference. */
export interface ErrorMeaning {
  readonly kind: ProblemKind;
  readonly when: string;
}

/** Those that have to do with the operation, and then those that any call can meet. */
export const errorsOf = (group: string, name: string, operation: Operation): ErrorMeaning[] => [
  { kind: 'denied', when: 'The user_id is missing, unknown, revoked or not allowed from this address.' },
  {
    kind: 'bad-argument',
    when: [...refusedArguments(group, name, operation), 'Any parameter that GET or POST gives twice.'].join(' '),
  },
  ...GENERAL,
];

/** A sentence for each parameter that can be wrong by itself. */
export const refusedArguments = (group: string, name: string, { parameters }: Operation): string[] =>
  Object.entries(parameters).flatMap(([parameter, type]) => {
    const reasons = refused(group, name, parameter, type);
    return reasons === '' ? [] : [`${parameter}: ${reasons}.`];
  });

const GENERAL: readonly ErrorMeaning[] = [
  { kind: 'too-many', when: 'More calls than the operator allows. Try again after Retry-After.' },
  { kind: 'unavailable', when: 'The service cannot answer at the moment. Try again after Retry-After.' },
  { kind: 'internal', when: 'A mistake of the service’s own. The text has a reference that the operator can look up.' },
  { kind: 'unknown-operation', when: 'There is no such operation, or the SOAPAction names another one.' },
  { kind: 'malformed', when: 'What was sent is no XML, or no SOAP envelope.' },
  { kind: 'unsupported-media', when: 'The Content-Type belongs to no form.' },
  { kind: 'too-large', when: 'What was sent is too long.' },
  { kind: 'method', when: 'The address does not take this method.' },
  { kind: 'version', when: 'The envelope is neither of SOAP 1.1 nor of SOAP 1.2.' },
  { kind: 'must-understand', when: 'A header block that must be understood is not known here.' },
];

type Place<C extends Contract> = {
  [G in keyof C & string]: {
    [O in keyof C[G] & string]: `${G}.${O}.${keyof C[G][O]['parameters'] & string}`;
  }[keyof C[G] & string];
}[keyof C & string];

/** What else is refused than what the type says. */
const particular: Partial<Record<Place<typeof contract>, string>> = {
  'account.SaveMessageTemplate.message': 'missing, empty, longer than 2,000 characters, or the 1,001st template',
  'account.BlackListNumber.mobile': 'missing, without a digit, or longer than 200 characters',
};

function refused(group: string, name: string, parameter: string, type: ParameterType): string {
  if (type.kind === 'list') return 'missing, empty, or a list of more than 1,000';
  if (type.name === 'string') return particular[`${group}.${name}.${parameter}` as Place<typeof contract>] ?? '';
  return `missing, or no ${type.name}${parameter.startsWith('max') ? ', or negative' : ''}`;
}
