/**
 * The types of the contract: five scalars, four kinds of value, operations in groups.
 * TypeScript infers the types of calls and results: a handler that does not fit does not compile.
 */
export type ScalarName = 'string' | 'int' | 'long' | 'boolean' | 'dateTime';

export interface Scalar<S extends ScalarName = ScalarName> {
  readonly kind: 'scalar';
  readonly name: S;
}
export interface Fields {
  readonly [name: string]: Scalar;
}
export interface RecordType<F extends Fields = Fields> {
  readonly kind: 'record';
  readonly name: string;
  readonly fields: F;
}
export interface ListType<I extends Scalar | RecordType = Scalar | RecordType> {
  readonly kind: 'list';
  readonly item: I;
}
export interface DataSetType<F extends Fields = Fields> {
  readonly kind: 'dataSet';
  readonly columns: F;
}
export type ResultType = Scalar | RecordType | ListType | DataSetType;
export type ParameterType = Scalar | ListType<Scalar<'string'>>;

export interface Parameters {
  readonly [name: string]: ParameterType;
}
export interface Operation<P extends Parameters = Parameters, R extends ResultType = ResultType> {
  readonly parameters: P;
  readonly result: R;
  /** Whether the operation changes data. The HTTP method cannot tell: every SOAP call is a POST. */
  readonly changes: boolean;
  /** One line for pages and reference. */
  readonly summary: string;
}
export interface Group {
  readonly [operation: string]: Operation;
}
export interface Contract {
  readonly [group: string]: Group;
}

const scalar = <S extends ScalarName>(name: S): Scalar<S> => ({ kind: 'scalar', name });
export const string = scalar('string');
export const int = scalar('int');
export const long = scalar('long');
export const boolean = scalar('boolean');
export const dateTime = scalar('dateTime');

export const record = <F extends Fields>(name: string, fields: F): RecordType<F> => ({ kind: 'record', name, fields });
export const list = <I extends Scalar | RecordType>(item: I): ListType<I> => ({ kind: 'list', item });
export const dataSet = <F extends Fields>(columns: F): DataSetType<F> => ({ kind: 'dataSet', columns });
export const operation = <P extends Parameters, R extends ResultType>(
  parameters: P,
  result: R,
  summary: string,
): Operation<P, R> => ({ parameters, result, changes: false, summary });
/** An operation that changes data. Its result tells whether the requested state holds now. */
export const change = <P extends Parameters>(
  parameters: P,
  result: Scalar<'boolean'>,
  summary: string,
): Operation<P, Scalar<'boolean'>> => ({ parameters, result, changes: true, summary });

/** An instant, in milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

interface ScalarValues {
  string: string;
  int: number;
  long: bigint;
  boolean: boolean;
  dateTime: Instant;
}
export type ScalarValue<S extends Scalar = Scalar> = ScalarValues[S['name']];

/** Strings may be absent, as in ASMX. Numbers, booleans and dateTimes may not. */
type FieldValue<S extends Scalar> = S extends Scalar<'string'> ? string | null : ScalarValue<S>;
export type FieldValues<F extends Fields = Fields> = { readonly [K in keyof F]: FieldValue<F[K]> };

export type ResultValue<R extends ResultType> = R extends Scalar
  ? ScalarValue<R>
  : R extends RecordType<infer F>
    ? FieldValues<F> | null
    : R extends ListType<infer I>
      ? Items<I extends RecordType<infer F> ? FieldValues<F> : I extends Scalar ? ScalarValue<I> : never>
      : R extends DataSetType<infer F>
        ? Items<FieldValues<F>>
        : never;

/** A whole list, or its pages for a long list. The reader of a page may change it. */
export type Items<T> = readonly T[] | AsyncIterable<T[]>;

/** A missing string or list is null. A missing number or dateTime is refused earlier. */
export type ArgumentValue<P extends ParameterType = ParameterType> = P extends ListType
  ? readonly (string | null)[] | null
  : P extends Scalar
    ? FieldValue<P>
    : never;
export type Arguments<P extends Parameters = Parameters> = { readonly [K in keyof P]: ArgumentValue<P[K]> };
