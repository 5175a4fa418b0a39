import type { z } from 'zod';
import type { Action } from './action.ts';
import { jsonSchema } from './openapi-schemas.ts';

/** How an action looks as a command: which fields are arguments, and which are options. */
export interface CommandField {
  /** The name of the field in JSON. */
  readonly name: string;
  readonly where: 'params' | 'query' | 'body';
  readonly kind: 'text' | 'integer' | 'flag' | 'list' | 'texts' | 'json' | 'file';
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  readonly description: string;
  readonly choices: readonly string[];
  /** The new name, if the field has its former one; else null. */
  readonly replacedBy: string | null;
}

export interface CommandShape {
  readonly arguments: readonly CommandField[];
  readonly options: readonly CommandField[];
  /** Read from standard input, each with an option of its own. */
  readonly secrets: readonly CommandField[];
}

type Json = Readonly<Record<string, unknown>>;

export function commandShape(action: Action): CommandShape {
  const { arguments: named = [], secrets = [], texts = [], files = [] } = action.command;
  const params = fieldsOf(action.params, 'params');
  const present = [...fieldsOf(action.query, 'query'), ...(action.body ? fieldsOf(action.body, 'body') : [])];
  const former = Object.entries(action.formerFields ?? {}).flatMap(([name, replacedBy]) =>
    present.filter((field) => field.name === replacedBy).map((field) => ({ ...field, name, replacedBy })),
  );
  const others = [...present, ...former.map((field) => ({ ...field, isRequired: false }))].map((field) => {
    if (texts.includes(field.name)) return { ...field, kind: 'texts' as const };
    return files.includes(field.name) ? { ...field, kind: 'file' as const } : field;
  });
  return {
    arguments: [...params, ...others.filter(({ name }) => named.includes(name))],
    options: others.filter(({ name }) => !named.includes(name) && !secrets.includes(name)),
    secrets: others.filter(({ name }) => secrets.includes(name)),
  };
}

function fieldsOf(schema: z.ZodType, where: CommandField['where']): CommandField[] {
  const { properties = {}, required = [] } = jsonSchema(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, field]) => {
    const forms = formsOf(field);
    const main = forms.find(({ type }) => type !== 'null') ?? field;
    const choices = ((main.enum ?? (main.items as Json | undefined)?.enum ?? []) as unknown[]).map(String);
    return {
      name,
      where,
      choices: choices.filter((choice) => choice !== ''),
      kind: kindOf(main),
      isNullable: forms.some(({ type }) => type === 'null'),
      isRequired: required.includes(name),
      description: String(field.description ?? main.description ?? ''),
      replacedBy: (field['x-replaced-by'] as string | undefined) ?? null,
    };
  });
}

/** JSON Schema writes "or null" as a further form, or as a further type of the same one. */
const formsOf = (field: Json): Json[] =>
  ((field.anyOf as Json[] | undefined) ?? [field]).flatMap((form) =>
    Array.isArray(form.type) ? form.type.map((type: unknown) => ({ ...form, type })) : [form],
  );

function kindOf({ type, enum: choices, items }: Json): CommandField['kind'] {
  if (type === 'boolean' || (Array.isArray(choices) && choices.join() === ',true,false')) return 'flag';
  if (type === 'integer') return 'integer';
  // A list of objects has no form with commas.
  if (type === 'array') return (items as Json | undefined)?.type === 'object' ? 'json' : 'list';
  return type === 'object' ? 'json' : 'text';
}

/**
 * The value of a list option that is given several times: `--scopes a --scopes b,c` is
 * `--scopes a,b,c`. The first value replaces the default.
 */
export const listValue =
  (fallback?: string) =>
  (text: string, before: string | undefined): string =>
    before === undefined || before === fallback ? text : `${before},${text}`;

export const flagName = (name: string): string =>
  name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const argumentName = ({ name }: CommandField): string => flagName(name).toUpperCase();

/** The command with the values of the example. */
export function commandLine(action: Action): string {
  const { example, name, upload } = action;
  const shape = commandShape(action);
  const exampleOf = ({ where, name: field }: CommandField): unknown => (example[where] as Json | undefined)?.[field];
  const words = shape.arguments.map((field) => quoted(textOf(exampleOf(field) ?? argumentName(field))));
  const flags = shape.options.flatMap((field) => {
    const value = exampleOf(field);
    if (value === undefined || value === null || value === false) return [];
    return field.kind === 'flag'
      ? [`--${flagName(field.name)}`]
      : [`--${flagName(field.name)} ${quoted(textOf(value))}`];
  });
  return ['columba', name, ...words, ...(upload ? ['FILE'] : []), ...flags].join(' ');
}

const textOf = (value: unknown): string =>
  Array.isArray(value) && typeof value[0] !== 'object'
    ? value.join()
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);

const quoted = (text: string): string => (/^[\w.:,@/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
