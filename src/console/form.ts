import { Problem } from '../problem.ts';

/** What a form has sent. Every field is text; a file is bytes. */
export interface Form {
  /** The first value, without blanks at its ends; '' where there is none. */
  text(name: string): string;
  /** The first value as it was sent. */
  raw(name: string): string;
  all(name: string): string[];
  /** Null where no file was chosen. */
  file(name: string): { readonly name: string; readonly bytes: Uint8Array } | null;
  has(name: string): boolean;
  /** Names and values of text fields, in order. */
  readonly fields: readonly (readonly [string, string])[];
}

interface SentFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const FIELDS_MAX = 2_000;

export const createForm = (
  fields: readonly (readonly [string, string])[],
  files: ReadonlyMap<string, SentFile> = new Map(),
): Form => ({
  fields,
  raw: (name) => fields.find(([each]) => each === name)?.[1] ?? '',
  text: (name) => (fields.find(([each]) => each === name)?.[1] ?? '').trim(),
  all: (name) => fields.filter(([each]) => each === name).map(([, value]) => value),
  file: (name) => files.get(name) ?? null,
  has: (name) => fields.some(([each]) => each === name),
});

export const NO_FORM = createForm([]);

export async function readForm(request: Request, bytesMax: number): Promise<Form> {
  const type = request.headers.get('content-type') ?? '';
  const bytes = await bytesOf(request, bytesMax);
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    return bounded([...new URLSearchParams(new TextDecoder().decode(bytes))]);
  }
  if (/^multipart\/form-data\s*;/i.test(type)) return readMultipart(bytes, type);
  if (bytes.length === 0) return NO_FORM;
  throw new Problem('unsupported-media', 'This takes the fields of a form.');
}

async function readMultipart(bytes: Uint8Array, type: string): Promise<Form> {
  const body = new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { 'Content-Type': type } });
  const data = await body.formData().catch(() => {
    throw new Problem('malformed', 'The form could not be read.');
  });
  const fields: [string, string][] = [];
  const files = new Map<string, SentFile>();
  for (const [name, value] of data) {
    if (typeof value === 'string') fields.push([name, value]);
    // A browser sends a file without a name where none was chosen. One with a name may be empty.
    else if (value.size > 0 || value.name !== '')
      files.set(name, { name: value.name, bytes: new Uint8Array(await value.arrayBuffer()) });
  }
  return bounded(fields, files);
}

function bounded(fields: [string, string][], files?: ReadonlyMap<string, SentFile>): Form {
  if (fields.length > FIELDS_MAX) throw new Problem('too-large', `A form has at most ${FIELDS_MAX} fields.`);
  // Browsers send the line ends of a text area as CR LF.
  return createForm(
    fields.map(([name, value]) => [name, value.replaceAll('\r\n', '\n')]),
    files,
  );
}

async function bytesOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = () => new Problem('too-large', `The form has more than ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
