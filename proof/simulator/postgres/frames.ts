/**
 * The messages of PostgreSQL's protocol, as far as the simulator reads them.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export interface Frame {
  /** Empty for the first one of a client. */
  readonly type: string;
  readonly content: Buffer;
  /** With the type and the length. */
  readonly bytes: Buffer;
}

/** Cuts bytes into messages, whatever pieces they come in. */
export function createFrames(isClient: boolean): (bytes: Buffer) => Frame[] {
  let pending: Buffer = Buffer.alloc(0);
  let typeBytes = isClient ? 0 : 1; // a client's first message has no type
  return (bytes) => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    const frames: Frame[] = [];
    while (pending.length >= typeBytes + 4) {
      const end = typeBytes + pending.readInt32BE(typeBytes);
      if (pending.length < end) break;
      const type = pending.toString('latin1', 0, typeBytes);
      frames.push({ type, content: pending.subarray(typeBytes + 4, end), bytes: pending.subarray(0, end) });
      pending = pending.subarray(end);
      typeBytes = 1;
    }
    return frames;
  };
}

/** One statement on its way to the server: what is sent up to the next Sync, or a simple query. */
export interface Request {
  readonly bytes: Buffer;
  /** Undefined for the start and the end of a session. */
  readonly text: string | undefined;
  readonly values: readonly (string | null)[];
  readonly isEnd: boolean;
}

/** Puts the messages of a client together to requests. Names of prepared statements belong to their connection. */
export function createRequests(): (bytes: Buffer) => Request[] {
  const framesOf = createFrames(true);
  const texts = new Map<string, string>();
  let open: Frame[] = [];
  return (bytes) =>
    framesOf(bytes).flatMap((frame) => {
      open.push(frame);
      if (frame.type === 'P') texts.set(...parsed(frame.content));
      if (!['', 'Q', 'S', 'X'].includes(frame.type)) return [];
      const frames = open;
      open = [];
      const bind = frames.find(({ type }) => type === 'B');
      const bound = bind && boundOf(bind.content);
      const text = frame.type === 'Q' ? stringAt(frame.content, 0) : bound && texts.get(bound.name);
      const whole = Buffer.concat(frames.map((each) => each.bytes));
      return [{ bytes: whole, text, values: bound?.values ?? [], isEnd: frame.type === 'X' }];
    });
}

const stringAt = (content: Buffer, at: number): string => content.toString('utf8', at, content.indexOf(0, at));

function parsed(content: Buffer): [name: string, text: string] {
  const name = stringAt(content, 0);
  return [name, stringAt(content, Buffer.byteLength(name) + 1)];
}

function boundOf(content: Buffer): { name: string; values: (string | null)[] } {
  let at = content.indexOf(0) + 1; // after the portal
  const name = stringAt(content, at);
  at += Buffer.byteLength(name) + 1;
  at += 2 + 2 * content.readInt16BE(at); // formats
  const values: (string | null)[] = [];
  const count = content.readInt16BE(at);
  at += 2;
  for (let number = 0; number < count; number++) {
    const length = content.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : content.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return { name, values };
}
