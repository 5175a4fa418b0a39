import { readdirSync, readFileSync } from 'node:fs';

/** Raw exchanges in files: `=== request ===`, the bytes sent, `=== response ===`, the bytes received. */
export interface Exchange {
  readonly name: string;
  /** As it went over the wire. */
  readonly raw: Buffer;
  readonly request: HttpMessage;
  readonly response: HttpMessage;
}
export interface HttpMessage {
  /** The request line or the status line. */
  readonly start: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const CASES = new URL('../asmx/cases/', import.meta.url);

/** All exchanges of a folder, a file's own in their order. */
export function exchanges(folder: string): Exchange[] {
  const at = new URL(`${folder}/`, CASES);
  return readdirSync(at)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .flatMap((file) => exchangesIn(file.replace(/\.txt$/, ''), readFileSync(new URL(file, at))));
}

export const caseFile = (path: string): string => readFileSync(new URL(path, CASES), 'utf8');

function exchangesIn(name: string, bytes: Buffer): Exchange[] {
  // latin1 keeps every byte as one character
  const parts = bytes.toString('latin1').split(/^##### .*\n/m);
  return parts
    .filter((part) => part.includes('=== request ==='))
    .map((part) => {
      const [, request = '', response = ''] =
        /=== request ===\n([\s\S]*)\n=== response ===\n([\s\S]*)$/.exec(part) ?? [];
      const parsed = parseMessage(request);
      const raw = Buffer.from(request, 'latin1').subarray(0, Buffer.byteLength(request, 'latin1'));
      return { name, raw: wholeRequest(raw, parsed), request: parsed, response: parseMessage(response) };
    });
}

/** Exactly the head and as much body as it announces: the file has a line end more. */
function wholeRequest(raw: Buffer, { body }: HttpMessage): Buffer {
  const head = raw.indexOf('\r\n\r\n') + 4;
  return Buffer.concat([raw.subarray(0, head), body]);
}

export function parseMessage(text: string): HttpMessage {
  const end = text.indexOf('\r\n\r\n');
  const [start = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const length = Number(headers['content-length'] ?? 0);
  return { start, headers, body: Buffer.from(text.slice(end + 4, end + 4 + length), 'latin1') };
}
