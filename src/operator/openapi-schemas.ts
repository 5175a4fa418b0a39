import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/**
 * Puts schemas and responses that are used by name under `components`, so that generated clients
 * have one type for an account and not five, and so that the document is a fifth as long.
 */
export interface Components {
  /** A reference to the schema, which gets this name unless an equal one has another. */
  schema(name: string, schema: Json): Json;
  response(name: string, response: Json): Json;
  parameter(name: string, parameter: Json): Json;
  /** Whether another schema has this name. */
  isTaken(name: string, schema: Json): boolean;
  /** Everything that was named. Equal schemas inside of others are references too. */
  all(): { readonly schemas: Json; readonly responses: Json; readonly parameters: Json };
}

export function createComponents(): Components {
  const schemas = createNames('schemas');
  const responses = createNames('responses');
  const parameters = createNames('parameters');
  return {
    schema: schemas.reference,
    response: responses.reference,
    parameter: parameters.reference,
    isTaken: (name, schema) => schemas.has(name) && !schemas.known(schema),
    all: () => ({
      schemas: Object.fromEntries(
        schemas.entries().map(([name, schema]) => [name, mapValues(schema, (value) => shared(value))]),
      ),
      responses: Object.fromEntries(responses.entries()),
      parameters: Object.fromEntries(parameters.entries()),
    }),
  };

  /** The value with a reference in place of each named schema inside of it. */
  function shared(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(shared);
    if (typeof value !== 'object' || value === null) return value;
    return schemas.known(value as Json) ?? mapValues(value as Json, shared);
  }
}

const mapValues = (object: Json, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

function createNames(kind: string) {
  const nameOf = new Map<string, string>();
  const named = new Map<string, Json>();
  const known = (value: Json): Json | undefined => {
    const name = nameOf.get(JSON.stringify(value));
    return name === undefined ? undefined : { $ref: `#/components/${kind}/${name}` };
  };
  return {
    known,
    has: (name: string) => named.has(name),
    reference(name: string, value: Json): Json {
      const present = known(value);
      if (present) return present;
      if (named.has(name)) throw new Error(`two ${kind} of the OpenAPI document are called ${name}`);
      nameOf.set(JSON.stringify(value), name);
      named.set(name, value);
      return { $ref: `#/components/${kind}/${name}` };
    },
    entries: () => [...named],
  };
}

/** A response may get new fields in this version of the API: clients must not refuse them. */
export function open(schema: Json): Json {
  const { additionalProperties, ...rest } = schema;
  const kept = additionalProperties === false ? rest : schema;
  return mapValues(kept, (value) => {
    if (Array.isArray(value)) return value.map((each) => (isObject(each) ? open(each) : each));
    return isObject(value) ? open(value) : value;
  });
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Patterns that not every regular expression knows: classes of Unicode, and a look ahead. A pattern
 * that no portable one can replace is left out, because the description says it too.
 */
const PORTABLE: Readonly<Record<string, string | null>> = {
  '^\\P{Cc}*$': '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  '\\p{Nd}': null,
  '^[^\\s\\p{P}\\p{Cc}]+$': null,
  '^(?:\\+?\\d{1,15}|(?=.*[A-Za-z0-9])[A-Za-z0-9 ._&-]{1,11})$': '^(?:\\+?\\d{1,15}|[A-Za-z0-9 ._&-]{1,11})$',
};

interface Patterned {
  pattern?: string | undefined;
  allOf?: unknown;
}

export function makePortable(schema: Patterned): void {
  const { pattern, allOf } = schema;
  const replacement = pattern === undefined ? undefined : PORTABLE[pattern];
  if (replacement === null) delete schema.pattern;
  else if (replacement !== undefined) schema.pattern = replacement;
  if (!Array.isArray(allOf)) return;
  for (const each of allOf as Patterned[]) makePortable(each);
  const kept = allOf.filter((each) => Object.keys(each).length > 0);
  if (kept.length === 0) delete schema.allOf;
  else schema.allOf = kept;
}

/** The schema of a value as it is sent, in either direction. */
export function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema: written }) => {
      if (written.format === 'date-time') delete written.pattern; // the format says it, in fewer words
      makePortable(written);
    },
  });
  return json;
}
