import type { z } from 'zod';
import type { ProblemKind } from '../base/problem.ts';
import type { Action } from './action.ts';
import { actions } from './actions/all.ts';
import { createEntityTags } from './entity-tag.ts';
import { pageQuery } from './input.ts';
import { meaningOf } from './nouns.ts';
import { inputName, itemName, operationId, outputNames } from './openapi-operations.ts';
import { type Components, createComponents, type Json, jsonSchema, open } from './openapi-schemas.ts';
import { webhooks } from './openapi-webhooks.ts';
import { meanings, STATUS } from './problem-json.ts';

/** The actions as an OpenAPI 3.1 document. */

function document(version: string): Json {
  const components = createComponents();
  components.schema('Problem', PROBLEM);
  nameItems(components);
  const found = paths(components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Columba: the operator’s API',
      version,
      description:
        'Accounts, their data and the service, for operators and for the programs of customers. ' +
        'Ids and credits are decimal strings of 64 bits; instants are RFC 3339 with Z. ' +
        'Answers of this version may get new fields: a client ignores fields that it does not know.',
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/operator/v1' }],
    security: [{ bearer: [] }],
    tags: [...new Set(actions.map(tagOf))].map((name) => ({ name, description: `${sentenceStart(meaningOf(name))}.` })),
    paths: found,
    webhooks: webhooks(components),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token that `columba token add` has shown: colo_… of an operator, cola_… of an account.',
        },
      },
      ...components.all(),
      headers: {
        EntityTag: { description: 'For If-Match in a later change of the object.', schema: { type: 'string' } },
        Location: { description: 'The path of what was created, with the status 201.', schema: { type: 'string' } },
        RateLimit: {
          description: 'What is left of a limit: nothing, and seconds until there is more.',
          schema: { type: 'string' },
        },
        RateLimitPolicy: {
          description: 'The limit of an address, if the service has one.',
          schema: { type: 'string' },
        },
        RequestId: { description: 'The id of the request in the log.', schema: { type: 'string' } },
      },
    },
  };
}

const PROBLEM: Json = {
  description: 'What went wrong (RFC 9457).',
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: {
      description: 'Every wrong field: `#/name` in the body, `?name` in the query, `{name}` in the path.',
      type: 'array',
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string' },
          detail: { type: 'string' },
          row: { type: 'integer', description: 'Of a file: the row as a spreadsheet numbers it.' },
          field: { type: 'string', description: 'Of a file: the column.' },
          proposal: { type: ['string', 'null'], description: 'Of a file: what the value probably was.' },
        },
        required: ['pointer', 'detail'],
        additionalProperties: false,
      },
    },
  },
  required: ['type', 'title', 'status', 'detail'],
  additionalProperties: false,
};

const sentenceStart = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
const tagOf = ({ name }: Action): string => name.split(' ', 1)[0] as string;

/** Items of lists first: the same schema is part of other answers. */
function nameItems(components: Components): void {
  for (const action of actions) {
    if (!action.output || !operationId(action).startsWith('list')) continue;
    const { properties } = open(jsonSchema(action.output)) as { properties: { items?: { items: Json } } };
    if (properties.items) components.schema(itemName(operationId(action)), properties.items.items);
  }
}

function paths(components: Components): Json {
  const found: Record<string, Record<string, unknown>> = {};
  for (const action of actions) {
    const path = found[action.path] ?? {};
    found[action.path] = path;
    path[action.method.toLowerCase()] = operation(action, components);
    if (!action.formerly) continue;
    const former = { operationId: operationId(action.formerly), deprecated: true };
    found[action.formerly.path] = { [action.method.toLowerCase()]: { ...operation(action, components), ...former } };
  }
  return found;
}

function operation(action: Action, components: Components): Json {
  const { summary, description, scope, needs, endless } = action;
  const tokens = scope === null ? 'Any token will do.' : `Scope: ${scope}.`;
  return {
    operationId: operationId(action),
    tags: [tagOf(action)],
    summary,
    description: [
      description,
      tokens,
      needs?.says,
      endless?.says,
      ...(action.accountTokens ? ['Tokens of accounts may do this too.'] : []),
    ]
      .filter((sentence) => sentence !== undefined)
      .join(' '),
    parameters: parametersOf(action, components),
    ...bodyOf(action, components),
    responses: responsesOf(action, components),
  };
}

function parametersOf(action: Action, components: Components): Json[] {
  const { example, position } = action;
  const parameters = (where: 'path' | 'query', fields: Readonly<Record<string, z.core.$ZodType>>, given: Json = {}) =>
    Object.entries(fields).map(([name, field]) => {
      const { description, default: fallback, ...schema } = jsonSchema(field as z.ZodType);
      return {
        name,
        in: where,
        ...(typeof description === 'string' && { description }),
        ...(where === 'path' && { required: true }),
        ...(where === 'query' && !(field as z.ZodType).safeParse(undefined).success && { required: true }),
        ...(name in given && { example: asNumber(schema, given[name]) }),
        schema: fallback === undefined ? schema : { ...schema, default: asNumber(schema, fallback) },
      };
    });
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { type: 'string', minLength: 1, maxLength: 130 },
    description:
      'Makes the request safe to repeat: for 24 hours, the same key with the same body gets the same answer, and the work is done once.',
  };
  return [
    ...parameters('path', action.params.shape, example.params),
    ...parameters('query', action.query.shape, example.query),
    ...(position === null
      ? []
      : parameters('query', pageQuery).map((each) => components.parameter(`Page${capital(each.name)}`, each))),
    ...(action.method === 'POST' ? [components.parameter('IdempotencyKey', key)] : []),
    ...(entityTags.has(action) ? [components.parameter('IfMatch', IF_MATCH)] : []),
  ];
}

const entityTags = createEntityTags(actions);
const IF_MATCH: Json = {
  name: 'If-Match',
  in: 'header',
  schema: { type: 'string' },
  description:
    'The ETag of the object as it was read. If somebody else has changed it since, the answer is 412 and nothing is done. ' +
    'What counts by itself, such as credits, does not change the ETag.',
};

/** Values of a query are texts to the schema, and numbers to the reader. */
const asNumber = (schema: Json, value: unknown): unknown => (schema.type === 'integer' ? Number(value) : value);

function bodyOf(action: Action, components: Components): Json {
  const { body, upload, example, method } = action;
  if (upload)
    return { requestBody: { required: true, content: { [upload.mediaType]: { schema: { type: 'string' } } } } };
  if (!body) return {};
  const schema = components.schema(inputName(operationId(action)), withoutDefaults(jsonSchema(body)));
  const content = { schema, ...(example.body !== undefined && { example: example.body }) };
  const merge = method === 'PATCH' ? { 'application/merge-patch+json': content } : {};
  const isRequired = !body.safeParse({}).success;
  return { requestBody: { required: isRequired, content: { 'application/json': content, ...merge } } };
}

/** In words: openapi-typescript takes a field that has a default for one that must be given. */
function withoutDefaults(schema: Json): Json {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>).map(([name, field]) => {
    const { default: fallback, ...rest } = field;
    if (fallback === undefined) return [name, field];
    const description = `${rest.description ?? ''} The default is ${JSON.stringify(fallback)}.`.trim();
    return [name, { ...rest, description }];
  });
  return schema.properties ? { ...schema, properties: Object.fromEntries(properties) } : schema;
}

/** The problems that every action can have. */
const COMMON: readonly ProblemKind[] = ['bad-argument', 'denied', 'forbidden', 'not-found', 'too-many', 'unavailable'];

export function problemsOf(action: Action): ProblemKind[] {
  const own: ProblemKind[] = [...(action.problems ?? []), 'internal'];
  if (action.body || action.upload) own.push('malformed');
  own.push('too-large', 'unsupported-media'); // a body may come with any method
  if (action.method === 'POST') own.push('conflict', 'key-reused');
  if (entityTags.has(action)) own.push('changed');
  return [...new Set([...COMMON, ...own])];
}

function responsesOf(action: Action, components: Components): Json {
  const { output, download, example, status, otherStatuses, position } = action;
  const headers = {
    'X-Request-Id': { $ref: '#/components/headers/RequestId' },
    'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
  };
  const limited = { ...headers, RateLimit: { $ref: '#/components/headers/RateLimit' } };
  const content = download
    ? { [download.mediaType]: { schema: { type: 'string' } } }
    : {
        'application/json': {
          schema: output === null ? {} : outputOf(action, output, components),
          ...(example.output !== undefined && { example: example.output }),
        },
      };
  const link = { Link: { description: 'The next page, with rel="next".', schema: { type: 'string' } } };
  const more = {
    ...(position !== null && link),
    ...(entityTags.answers(action) && { ETag: { $ref: '#/components/headers/EntityTag' } }),
    ...(action.location && { Location: { $ref: '#/components/headers/Location' } }),
  };
  const done = { description: 'Done.', headers: { ...headers, ...more }, content };
  const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  const byStatus = new Map<number, ProblemKind[]>();
  for (const kind of problemsOf(action).sort()) {
    byStatus.set(STATUS[kind], [...(byStatus.get(STATUS[kind]) ?? []), kind]);
  }
  return Object.fromEntries([
    ...[status, ...otherStatuses].map((each) => [each, done]),
    ...[...byStatus].map(([each, kinds]) => {
      const description = kinds.map((kind) => meanings.find(([one]) => one === kind)?.[2] ?? kind).join(' ');
      return [
        each,
        components.response(kinds.map(capital).join('Or'), {
          description,
          headers: each === 429 ? limited : headers,
          content: problem,
        }),
      ];
    }),
  ]);
}

/** `bad-argument` is BadArgument. */
const capital = (kind: string): string => kind.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

function outputOf(action: Action, output: z.ZodType, components: Components): Json {
  const schema = open(jsonSchema(output));
  const [best = '', other = best] = outputNames(operationId(action));
  return components.schema(components.isTaken(best, schema) ? other : best, schema);
}

/** Makes the document when it is first asked for. */
export function openapi(version: string): Json {
  const made = documents.get(version) ?? document(version);
  documents.set(version, made);
  return made;
}

/** Made once in a process, because it takes 0.3 s of CPU. */
const documents = new Map<string, Json>();
