import { envelopes } from './envelopes.ts';
import { forms } from './forms.ts';
import { http } from './http.ts';
import type { Target } from './target.ts';

/** All there is to fuzz, by name. What the inputs of each are is between its own generator and its own rules. */
export const targets = Object.fromEntries(
  [envelopes, forms, http].map((target) => [target.name, target as unknown as Target]),
) as Readonly<Record<string, Target>>;
