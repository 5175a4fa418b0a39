import { connect, Socket as Original } from 'node:net';
import { Duplex } from 'node:stream';
import type { Random } from '../../../test/support/random.ts';
import { Dead, type DiskEvents, nothingDone, type SeenStatement } from '../disk.ts';
import type { Owner } from '../scheduler.ts';
import { createFrames, createRequests, type Request } from './frames.ts';

/**
 * The network between the nodes of a world and a real PostgreSQL. Each statement is one request, and its
 * answer reaches the node in a step of its own, so the scheduler decides which node goes on. A connection may
 * break before or after a statement, or say nothing more until the node gives it up. The time-outs of the
 * server are those of the simulated clock.
 */
export interface NetworkParts extends DiskEvents {
  /** By the scheduler's clock; nobody can end it. */
  readonly later: (ms: number, work: () => void) => void;
  readonly random: Random;
  /** By an administrator, of the session of this process of the server. */
  readonly end: (what: 'statement' | 'session', pid: number) => void;
}
/** Whether a statement that is refused has been done, and whether the node is told of the end. */
type Breakage = 'before' | 'after' | 'silent-before' | 'silent-after';
const BREAKAGES: readonly Breakage[] = ['before', 'after', 'after', 'silent-before', 'silent-after'];

/** As settings.ts has them, see pool.ts. */
const TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 0.8 * TIMEOUT_MS;
const GIVEN_UP_MS = TIMEOUT_MS + 1_000;
const WITHOUT_TIMEOUT = /set local idle_in_transaction_session_timeout = 0/;
const READS = /^\s*(?:select|show|set|with(?![\s\S]*\b(?:insert into|update|delete from)\b))\b/i;

let network: NetworkParts | undefined;
let onAnswer = () => {};
const open = new Set<SimulatedSocket>();

class SimulatedSocket extends Duplex {
  readonly owner = network?.current() as Owner;
  /** Of the process that serves this session. */
  pid: number | undefined;
  /** Whether the server has a request that it has not answered. */
  isAsked = false;
  #server: Original | undefined;
  readonly #requestsOf = createRequests();
  readonly #framesOf = createFrames(false);
  #waiting: Request[] = [];
  #isBusy = false;
  #answer: Buffer[] = [];
  #hasFailed = false;
  #status = 'I';
  #requests = 0;
  #hasTimeouts = true;
  #done = nothingDone();
  /** What happens when the answer has come. */
  #onAnswered: () => void = () => {};

  connect(port: number, host: string): this {
    open.add(this);
    this.isAsked = true;
    const server = connect(port, host);
    this.#server = server;
    server.once('connect', () => {
      this.#told();
      this.#tell(() => this.emit('connect'));
    });
    server.on('data', (bytes) => this.#heard(bytes));
    server.on('error', (error) => this.#lost(error));
    server.on('close', () => this.#lost(new Error('the server has closed the connection')));
    return this;
  }
  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;

  override _read(): void {}
  override _write(bytes: Buffer, _: unknown, done: () => void): void {
    this.#waiting.push(...this.#requestsOf(bytes));
    done();
    this.#next();
  }
  override _final(done: () => void): void {
    this.#server?.end();
    done();
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    open.delete(this);
    this.#told();
    this.#server?.destroy();
    done(error);
  }

  /** Runs in a step of its node. */
  #tell(work: () => void): void {
    network?.post(this.owner, () => {
      if (!this.destroyed) work();
    });
  }

  #told(): void {
    this.isAsked = false;
    onAnswer();
  }

  #lost(error: Error): void {
    this.#told();
    const rest = Buffer.concat(this.#answer.splice(0)); // such as why the server has ended the session
    this.#tell(() => {
      if (rest.length > 0) this.push(rest);
      this.destroy(error);
    });
  }

  #next(): void {
    if (this.#isBusy || this.destroyed) return;
    const request = this.#waiting.shift();
    if (!request) return;
    this.#isBusy = true;
    const statement = request.text === undefined ? undefined : this.#seen(request.text, request.values);
    const breakage = statement && this.#breakage(statement);
    if (breakage === 'dead') return;
    if (breakage) count(breakage, request.text === 'commit');
    const isSilent = breakage?.startsWith('silent') ?? false;
    const end = () => this.destroy(new Error(isSilent ? 'no answer in time' : 'the connection broke'));
    const breakOff = () => (isSilent ? network?.later(GIVEN_UP_MS, () => this.#tell(end)) : this.#tell(end));
    if (breakage?.endsWith('before')) return void breakOff();
    this.#onAnswered = () => {
      if (statement && !this.#hasFailed && !this.#isAfter(statement)) return;
      if (breakage) return void breakOff();
      this.push(Buffer.concat(this.#answer.splice(0)));
      this.#isBusy = false;
      this.#watchTransaction();
      this.#next();
    };
    this.#ask(request);
  }

  #ask({ bytes, isEnd }: Request): void {
    const number = ++this.#requests;
    this.#hasFailed = false;
    this.isAsked = !isEnd;
    this.#server?.write(bytes);
    network?.later(LOCK_TIMEOUT_MS, () => {
      const isLockedOut = this.isAsked && this.#requests === number && this.#hasTimeouts && !this.destroyed;
      if (isLockedOut && this.pid !== undefined) network?.end('statement', this.pid);
    });
  }

  #heard(bytes: Buffer): void {
    for (const frame of this.#framesOf(bytes)) {
      this.#answer.push(Buffer.from(frame.bytes));
      if (frame.type === 'K') this.pid = frame.content.readInt32BE(0);
      if (frame.type === 'E') this.#hasFailed = true;
      if (frame.type !== 'Z') continue;
      this.#status = frame.content.toString('latin1');
      this.#told();
      this.#tell(() => this.#onAnswered());
    }
  }

  /** A node that stalls within a transaction must not keep others from its locks. */
  #watchTransaction(): void {
    const number = this.#requests;
    if (this.#status === 'I') this.#hasTimeouts = true;
    else if (this.#hasTimeouts)
      network?.later(TIMEOUT_MS, () => {
        const isIdle = this.#requests === number && !this.destroyed;
        if (isIdle && this.pid !== undefined) network?.end('session', this.pid);
      });
  }

  #seen(text: string, values: readonly (string | null)[]): SeenStatement {
    if (WITHOUT_TIMEOUT.test(text)) this.#hasTimeouts = false;
    const inTransaction = this.#status !== 'I';
    const writes = !READS.test(text);
    return { text, values, writes, inTransaction, done: this.#done, rollBack: () => {} };
  }

  #breakage(statement: SeenStatement): Breakage | 'dead' | undefined {
    try {
      network?.before(this.owner, statement);
      return undefined;
    } catch (thrown) {
      return thrown instanceof Dead ? 'dead' : network?.random.pick(BREAKAGES);
    }
  }

  /** False where the node dies there. */
  #isAfter(statement: SeenStatement): boolean {
    try {
      network?.after(this.owner, statement);
      return true;
    } catch {
      return false;
    }
  }
}

const noCounts = () => ({ commits: { before: 0, after: 0 }, others: 0 });
let counts = noCounts();
/** Connections that broke in this world. */
export const broken = (): Readonly<typeof counts> => counts;

function count(breakage: Breakage, isCommit: boolean): void {
  if (!isCommit) counts.others += 1;
  else counts.commits[breakage.endsWith('before') ? 'before' : 'after'] += 1;
}

/** What src/store/postgres/ finds as the Socket of node:net, see hooks.ts. */
export const Socket = new Proxy(Original, {
  construct: (target, given) => (network ? new SimulatedSocket() : new target(...given)),
});

export function replaceNetwork(given: NetworkParts): () => void {
  network = given;
  counts = noCounts();
  return () => {
    for (const socket of [...open]) socket.destroy();
    network = undefined;
  };
}

export function endConnectionsOf(owner: Owner): void {
  for (const socket of [...open]) if (socket.owner === owner) socket.destroy();
}

/** The connections with a statement that the server has not answered yet. */
export const asked = (): SimulatedSocket[] => [...open].filter(({ isAsked }) => isAsked);
/** The server's processes of all open connections. */
export const sessions = (): ReadonlySet<number> =>
  new Set([...open].flatMap(({ pid }) => (pid === undefined ? [] : [pid])));

/** Resolves with the next answer, or after a while. */
export const answered = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    onAnswer = () => {
      clearTimeout(timer);
      resolve();
    };
  });
