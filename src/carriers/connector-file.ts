import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { Problem } from '../base/problem.ts';
import type { NewConnector } from '../domain/sending/connectors.ts';
import { checkConfig, defaultSubmissionsMax, kindField, kinds } from './kinds.ts';

/** Connectors of a JSON file: for installations that keep their settings in files. */
const file = z.strictObject({
  connectors: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'expected lower-case letters, digits and hyphens'),
        kind: kindField,
        isDefault: z.boolean().default(false),
        submissionsMax: z.int().min(1).max(10_000).optional(),
        ratePerSecond: z.int().min(1).max(100_000).nullable().default(null),
        config: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .max(100),
});

/** Throws Problem `bad-argument`, which names the file and never a secret. */
export function readConnectorFile(path: string): NewConnector[] {
  if (path === '') return [];
  const fault = (reason: string) => new Problem('bad-argument', `${path}: ${reason}`);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    throw fault(code ? `the connector file cannot be read (${code})` : 'the connector file is not JSON');
  }
  const parsed = file.safeParse(content);
  if (!parsed.success) {
    throw fault(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
  }
  const { connectors } = parsed.data;
  const names = connectors.map(({ name }) => name);
  if (new Set(names).size < names.length) throw fault('two connectors have the same name');
  if (connectors.filter(({ isDefault }) => isDefault).length > 1) throw fault('two connectors claim to be the default');
  return connectors.map(({ submissionsMax, config, ...others }) => {
    try {
      const given = kinds[others.kind]?.fromFile?.(config, dirname(path)) ?? config;
      const checked = checkConfig(others.kind, given);
      return {
        ...others,
        config: checked,
        submissionsMax: submissionsMax ?? defaultSubmissionsMax(others.kind, checked),
      };
    } catch (thrown) {
      throw fault(`${others.name}: ${(thrown as Error).message}`);
    }
  });
}
