import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A client that sees answers as they come over the wire, in chunks or not, whole or broken off. */
export interface Received {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False where it broke off; undefined where only the end of the connection tells. */
  readonly isWhole: boolean | undefined;
}
export interface Receiver {
  send(bytes: string): void;
  /** Takes nothing any more until it is told to go on. */
  pause(): void;
  resume(): void;
  /** The head of the first answer has come. */
  started(): Promise<void>;
  /** So many whole answers have come. */
  answers(count: number): Promise<Received[]>;
  /** The connection is closed, in whichever way; all that has come. */
  ended(): Promise<Received[]>;
  leave(): void;
}

/** `methods` are those of the requests that are sent: the answer to a HEAD has no body. */
export function openReceiver(address: string, methods: readonly string[] = []): Receiver {
  const { hostname, port } = new URL(address);
  const socket = connect({ port: Number(port), host: hostname, noDelay: true });
  const reader = createReader(methods);
  let closed = false;
  let wake = () => {};
  socket.on('data', (bytes) => {
    reader.feed(bytes);
    wake();
  });
  socket.on('error', () => {}); // a connection that is cut off may be reset
  socket.on('close', () => {
    closed = true;
    wake();
  });
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (closed) throw new Error(`closed after ${reader.answers().length} answers`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    send: (bytes) => void socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    started: async () => void (await until(() => reader.answers()[0])),
    answers: (count) => until(() => (reader.whole() >= count ? reader.answers().slice(0, count) : undefined)),
    ended: () => until(() => (closed ? reader.answers() : undefined)),
    leave: () => void socket.destroy(),
  };
}

interface Building {
  readonly status: number;
  readonly headers: Received['headers'];
  readonly parts: Buffer[];
  isWhole: boolean | undefined;
}

/** Takes what comes, and no part of it twice: answers may be long. */
function createReader(methods: readonly string[]) {
  const all: Building[] = [];
  let rest: Buffer = Buffer.alloc(0);
  const take = (count: number): Buffer => {
    const taken = rest.subarray(0, count);
    rest = rest.subarray(count);
    return taken;
  };
  /** Whether there is more to do with what has come. */
  function step(): boolean {
    const current = all.at(-1);
    if (!current || current.isWhole) return readHead();
    const { headers, parts } = current;
    if (headers['transfer-encoding'] === 'chunked') return readChunk(current);
    if (headers['content-length'] === undefined) {
      current.isWhole = undefined;
      parts.push(take(rest.length));
      return false;
    }
    const length = Number(headers['content-length']);
    if (rest.length < length) return false;
    parts.push(take(length));
    current.isWhole = true;
    return true;
  }

  function readHead(): boolean {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [start = '', ...fields] = take(end + 4)
      .toString('latin1')
      .trimEnd()
      .split('\r\n');
    const headers = Object.fromEntries(fields.map(readField));
    const isWhole = methods[all.length] === 'HEAD';
    all.push({ status: Number(start.split(' ')[1]), headers, parts: [], isWhole });
    return true;
  }

  /** RFC 9112 §7.1: the last chunk has no bytes, and without it the answer broke off. */
  function readChunk(current: Building): boolean {
    const line = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.toString('latin1', 0, Math.max(line, 0)), 16);
    if (line < 0 || rest.length < line + 2 + size + 2) return false;
    take(line + 2);
    current.parts.push(take(size));
    take(2);
    current.isWhole = size === 0;
    return true;
  }

  return {
    feed(bytes: Buffer) {
      rest = Buffer.concat([rest, bytes]);
      while (step());
    },
    whole: () => all.filter(({ isWhole }) => isWhole).length,
    answers: (): Received[] =>
      all.map(({ status, headers, parts, isWhole }) => ({ status, headers, body: Buffer.concat(parts), isWhole })),
  };
}

function readField(field: string): [string, string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}

export const textOf = ({ headers, body }: Received): string =>
  (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
