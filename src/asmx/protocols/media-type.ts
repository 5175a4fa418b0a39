import { BoundedMap } from '../../base/bounded-map.ts';
import { detached } from '../../base/detached.ts';

/** A Content-Type field, parsed. */
export interface MediaType {
  /** In lower case, without parameters; '' where the field is missing. */
  readonly type: string;
  /** Names are in lower case; values have lost their quotes. */
  readonly parameters: Readonly<Record<string, string>>;
}

const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g;

const MISSING: MediaType = { type: '', parameters: {} };
// Clients are few programs, and each sends one field or a few.
const CACHED_MAX = 200;
const CACHED_LENGTH_MAX = 200;
const cache = new BoundedMap<string, MediaType>(CACHED_MAX);

export function parseMediaType(field: string | undefined): MediaType {
  if (!field) return MISSING;
  const cached = cache.get(field);
  if (cached) return cached;
  if (field.length > CACHED_LENGTH_MAX) return parse(field);
  const copy = detached(field);
  const media = parse(copy);
  cache.set(copy, media);
  return media;
}

function parse(field: string): MediaType {
  const type = (field.split(';', 1)[0] as string).trim().toLowerCase();
  const parameters: Record<string, string> = {};
  for (const [, name, value] of field.matchAll(PARAMETER)) {
    const text = (value as string).trim();
    parameters[(name as string).toLowerCase()] = /^".*"$/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  }
  return { type, parameters };
}
