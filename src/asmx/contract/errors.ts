import type { ProblemKind } from '../../base/problem.ts';
import type { contract } from './contract.ts';
import type { Contract, Operation, ParameterType } from './types.ts';

/** The errors of an operation, for pages and reference. */
export interface ErrorDescription {
  readonly kind: ProblemKind;
  readonly when: string;
}

/** First the errors of this operation, then those of any call. */
export const errorsOf = (group: string, name: string, operation: Operation): ErrorDescription[] => [
  { kind: 'denied', when: 'The user_id is missing, unknown, revoked or not allowed from this address.' },
  {
    kind: 'bad-argument',
    when: [...refusedArguments(group, name, operation), 'Any parameter that GET or POST gives twice.'].join(' '),
  },
  ...GENERAL,
];

/** One sentence for each parameter whose value can be refused. */
export const refusedArguments = (group: string, name: string, { parameters }: Operation): string[] =>
  Object.entries(parameters).flatMap(([parameter, type]) => {
    const reasons = refused(group, name, parameter, type);
    return reasons === '' ? [] : [`${parameter}: ${reasons}.`];
  });

const GENERAL: readonly ErrorDescription[] = [
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

type ParameterPath<C extends Contract> = {
  [G in keyof C & string]: {
    [O in keyof C[G] & string]: `${G}.${O}.${keyof C[G][O]['parameters'] & string}`;
  }[keyof C[G] & string];
}[keyof C & string];

/** Values of the right type that are refused. */
const refusedStrings: Partial<Record<ParameterPath<typeof contract>, string>> = {
  'account.SaveMessageTemplate.message': 'missing, empty, longer than 2,000 characters, or the 1,001st template',
  'account.BlackListNumber.mobile': 'missing, without a digit, or longer than 200 characters',
};

function refused(group: string, name: string, parameter: string, type: ParameterType): string {
  if (type.kind === 'list') return 'missing, empty, or a list of more than 1,000';
  if (type.name === 'string')
    return refusedStrings[`${group}.${name}.${parameter}` as ParameterPath<typeof contract>] ?? '';
  return `missing, or no ${type.name}${parameter.startsWith('max') ? ', or negative' : ''}`;
}
