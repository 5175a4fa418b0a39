import { z } from 'zod';
import { configFields, kindNames, kinds } from '../../../carriers/kinds.ts';
import { type Action, action } from '../../action.ts';

/** The kinds of connectors, for those who ask for a configuration with a form. */

export const connectorKinds = action({
  name: 'connector kinds',
  scope: 'gateway',
  method: 'GET',
  path: '/connector-kinds',
  summary: 'List the kinds of connectors with the fields of their configurations.',
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        kind: z.string(),
        summary: z.string(),
        fields: z.array(
          z.strictObject({
            name: z.string(),
            type: z.enum(['text', 'number', 'flag', 'choice', 'pairs', 'json']),
            isRequired: z.boolean(),
            isSecret: z.boolean().describe('Whether the field is stored and never shown.'),
            says: z.string(),
            default: z.string().nullable(),
            choices: z.array(z.string()),
          }),
        ),
      }),
    ),
  }),
  example: {
    output: {
      items: [
        {
          kind: 'loopback',
          summary: kinds.loopback.summary,
          fields: [], // linters take a field with its type and default for a schema
        },
      ],
    },
  },
  command: {
    needsNoDatabase: true,
    say: ({ items }) => items.map(({ kind, summary }) => `${kind}  ${summary}`).join('\n'),
  },
  run: async () => ({
    items: kindNames.map((kind) => ({
      kind,
      summary: kinds[kind].summary,
      fields: configFields(kind).map((each) => ({ ...each, choices: [...each.choices] })),
    })),
  }),
});

export const connectorKindActions: readonly Action[] = [connectorKinds];
