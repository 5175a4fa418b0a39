import { readFields } from '../base/form-fields.ts';
import { Problem } from '../base/problem.ts';
import { readMultipart } from './multipart.ts';

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
/** Every byte of such a form is decoded: 24 ms for 1 MB. Forms with files are sent in parts. */
const URLENCODED_BYTES_MAX = 1_048_576;

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

/** What was sent as the body of a request, before it is read. */
export interface SentForm {
  readonly contentType: string;
  /** The whole body; throws Problem `too-large` beyond the limit. */
  readonly body: (bytesMax: number) => Promise<Uint8Array>;
}

export async function readForm({ contentType, body }: SentForm, bytesMax: number): Promise<Form> {
  const isMultipart = /^multipart\/form-data\s*;/i.test(contentType);
  const bytes = Buffer.from(await body(isMultipart ? bytesMax : Math.min(bytesMax, URLENCODED_BYTES_MAX)));
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType)) {
    return formOf(readFields(bytes.toString('latin1'), FIELDS_MAX) ?? tooMany());
  }
  if (isMultipart) return formOfParts(readMultipart(bytes, contentType, FIELDS_MAX));
  if (bytes.length === 0) return NO_FORM;
  throw new Problem('unsupported-media', 'This takes the fields of a form.');
}

function formOfParts(parts: ReturnType<typeof readMultipart>): Form {
  if (parts === 'too-many') return tooMany();
  if (parts === null) throw new Problem('malformed', 'The form could not be read.');
  const fields: [string, string][] = [];
  const files = new Map<string, SentFile>();
  for (const { name, fileName, bytes } of parts) {
    if (fileName === null) fields.push([name, bytes.toString('utf8')]);
    // A browser sends a file without a name where none was chosen. One with a name may be empty.
    else if (bytes.length > 0 || fileName !== '') files.set(name, { name: fileName, bytes });
  }
  return formOf(fields, files);
}

const tooMany = (): never => {
  throw new Problem('too-large', `A form has at most ${FIELDS_MAX} fields.`);
};

/** Browsers send the line ends of a text area as CR LF. */
const formOf = (fields: [string, string][], files?: ReadonlyMap<string, SentFile>): Form =>
  createForm(
    fields.map(([name, value]) => [name, value.includes('\r') ? value.replaceAll('\r\n', '\n') : value]),
    files,
  );
