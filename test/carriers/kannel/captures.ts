import { readdirSync, readFileSync } from 'node:fs';

/** Exchanges with Kannel 1.4.5, recorded byte for byte. A line `=== name ===` begins each section. */
const FOLDER = new URL('captures/', import.meta.url);

export interface Section {
  readonly name: string;
  /** Latin-1: one character for each octet. */
  readonly text: string;
}

export const namesIn = (folder: string): string[] =>
  readdirSync(new URL(`${folder}/`, FOLDER))
    .map((file) => file.replace(/\.txt$/, ''))
    .sort();

export function readCapture(name: string): Section[] {
  const text = readFileSync(new URL(`${name}.txt`, FOLDER), 'latin1');
  return text
    .split(/^=== (?=.* ===$)/m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split(' ===\n');
      return { name: heading, text: lines.join(' ===\n') };
    });
}

export const sectionsOf = (name: string, section: string): string[] =>
  readCapture(name)
    .filter((each) => each.name.startsWith(section))
    .map(({ text }) => text);

export interface RecordedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export function readRequest(text: string): RecordedRequest {
  const end = text.indexOf('\r\n\r\n');
  const [line = '', ...fields] = text.slice(0, end).split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const headers = Object.fromEntries(
    fields.map((field) => [
      field.slice(0, field.indexOf(':')).toLowerCase(),
      field.slice(field.indexOf(':') + 1).trim(),
    ]),
  );
  const body = Buffer.from(text.slice(end + 4), 'latin1').subarray(0, Number(headers['content-length'] ?? 0));
  return { method, target, headers, body };
}
