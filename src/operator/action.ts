import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { ProblemKind } from '../base/problem.ts';
import type { Progress } from '../base/progress.ts';
import type { Extension } from '../domain/privacy/extension.ts';
import type { Database } from '../store/database.ts';
import type { Actor, Scope } from './actor.ts';
import type { BackupReader } from './backup-state.ts';

/**
 * An action of the operator, declared once. The JSON route, the OpenAPI entry, the reference page
 * and the command are views of this declaration.
 */

/** What an action works with. */
export interface Services extends Pick<Clock, 'now' | 'sleep'>, BackupReader {
  /** For a change, inside of the action's transaction, which a nested `transaction` joins. */
  readonly database: Database;
  /** COLUMBA_REGION, or null. */
  readonly defaultRegion: string | null;
  /** COLUMBA_RETRY_HOURS: how long a message is tried. */
  readonly tryForMs: number;
  /** Called after a change is on disk. It wakes the dispatchers of this process. */
  readonly changed: () => void;
  /** Called with the progress of long work, which may still be rolled back. */
  readonly progress?: Progress;
  /** Names of the connectors of the file, for a command before the first start of the service. */
  readonly connectorsOfFile: () => readonly string[];
  /** Looks for the mistakes of a connector, and submits nothing. Problem `not-found` for none. */
  readonly testConnector: (name: string) => Promise<TestedConnector>;
  /** The request that a message would make, and what an answer to it means. Nothing is sent. */
  readonly tryConnector: (name: string, given: TriedMessage) => Promise<TriedConnector>;
  /** What other programs keep in the same database. */
  readonly extensions: readonly Extension[];
  readonly version: string;
  readonly engine: 'sqlite' | 'postgres';
  /** The public URL of the web listener, without a slash at its end. */
  readonly webUrl: () => string;
  /** The OpenAPI document of all actions. */
  readonly openapi: () => Promise<Readonly<Record<string, unknown>>>;
}

/** Sentences. A connector with mistakes cannot be used as it is. */
export interface TestedConnector {
  readonly mistakes: readonly string[];
  readonly notes: readonly string[];
}

export interface TriedMessage {
  readonly recipient: string;
  readonly sender: string | null;
  readonly text: string;
  readonly answer?: { readonly status: number; readonly body: string };
}

/** Secrets of the request are masked. */
export interface TriedConnector {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly answer: {
    readonly result: string;
    readonly gatewayId: string | null;
    readonly reason: string | null;
    readonly says: string;
  } | null;
}

/** The services of actions below `/accounts/{username}`, with the account, which exists. */
export interface AccountServices extends Services {
  readonly account: { readonly id: bigint; readonly username: string };
}

type Fields = z.ZodObject;
type None = z.ZodObject<Record<never, never>, z.core.$strict>;
const none: None = z.strictObject({});

/** How the command of an action differs from the default. */
export interface CommandView<Input, Output> {
  /** Fields of the body or query that are arguments, after the parameters of the path. */
  readonly arguments?: readonly string[];
  /** Fields that are read from standard input or a prompt, never from an argument. */
  readonly secrets?: readonly string[];
  /** Lists of free text: each use of the option is one entry, which may contain commas. */
  readonly texts?: readonly string[];
  /** Texts that are long: the option names a file with the text, or `-` for standard input. */
  readonly files?: readonly string[];
  /**
   * The names of secrets inside of a JSON field (`a.b` for b inside of a), which may depend on the
   * rest of the body. Secrets come from a file, from standard input or from a prompt; a command
   * refuses them as arguments.
   */
  readonly secretsIn?: {
    readonly field: string;
    readonly names: (body: Readonly<Record<string, unknown>>) => readonly string[];
  };
  /** What the command says to people; the default is a table. */
  say?(output: Output, input: Input): string;
  /**
   * Why nothing was done although the API answers with success; null if something was done. The
   * command writes the reason to standard error and ends with 1.
   */
  refusal?(output: Output): string | null;
  /** Fields of a list's items that are columns of its table; the default is every field. */
  readonly columns?: readonly string[];
  readonly row?: (item: never) => readonly string[];
  /** Several lines of the table for one item. */
  readonly rows?: (item: never) => readonly (readonly string[])[];
  /** Whether the command creates a missing database. */
  readonly creates?: boolean;
  /** Whether the command reads nothing that is stored, so that it works without a database. */
  readonly needsNoDatabase?: boolean;
}

export interface Upload {
  readonly mediaType: string;
  readonly bytesMax: number;
}

export interface Download {
  readonly mediaType: string;
  readonly fileName: string;
}

/** How far a list is read: at most `limit` items after a cursor; from its beginning for null. */
export interface Page<T> {
  readonly limit: number;
  readonly after: T | null;
}

/** What `run` gets, read by the schemas of its action. */
export interface Input<
  P extends Fields = Fields,
  Q extends Fields = Fields,
  B extends z.ZodType = z.ZodType,
  T extends z.ZodType | null = z.ZodType | null,
> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
  /** The whole body of an action with `upload`; else empty. */
  readonly upload: Uint8Array;
  /** The page to read, for a list. */
  readonly page?: Page<z.output<T>>;
}

export interface Example {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The output as JSON. */
  readonly output?: unknown;
}

/**
 * Scopes that a token needs besides the one of the action: for what the result lets its bearer do,
 * and for what this input reads or deletes.
 */
export interface Needs<In> {
  /** A sentence for the reference. */
  readonly says: string;
  scopes(input: In): readonly Scope[];
}

/** For an action whose result never expires, and lets somebody in or sends texts to somebody. */
export interface Endless<In> {
  /** A sentence for the reference. */
  readonly says: string;
  isMade(input: In): boolean;
}
export const alwaysEndless: Endless<unknown> = {
  says: 'A token that expires may not do this, because what it creates would not expire with the token.',
  isMade: () => true,
};

interface Body<B extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: B;
  /** A body that is not JSON, with its limit in bytes. */
  readonly upload?: Upload;
}

interface Declaration<In, Out> {
  /** A noun and a verb, or one word: `account add` is `columba account add`. */
  readonly name: string;
  /** The scope that a token needs; null if any token will do. */
  readonly scope: Scope | null;
  /** An action that gives rights needs the rights that it gives. `perform` checks this. */
  readonly needs?: Needs<In>;
  /** `perform` refuses this to a token that expires, because the result would outlive the token. */
  readonly endless?: Endless<In>;
  /**
   * Whether this input is refused to every token. Then only a command on the machine itself may do
   * it, or an operator in the console who has just given a code of the second factor.
   */
  needsFactor?(input: In): boolean;
  /** Whether account tokens may use it too. Its path is then below `/accounts/{username}`. */
  readonly accountTokens?: boolean;
  /** Whether the customer may use it in the console although no account token may. */
  readonly customers?: boolean;
  /** The path below /operator/v1, with `{name}` for each field of `params`. */
  readonly path: string;
  /** Names of an earlier version, with the new ones of fields. The next version refuses them. */
  readonly formerFields?: Readonly<Record<string, string>>;
  readonly formerly?: { readonly name: string; readonly path: string };
  /** The path of what was created, with fields of `params` and of the output (Location). */
  readonly location?: string;
  /** Fields of the output that change by themselves, such as credits. The ETag leaves them out. */
  readonly countedFields?: readonly string[];
  readonly summary: string;
  /** Further sentences for the reference. */
  readonly description?: string;
  /** The kinds of problems that the action throws, besides those that every action has. */
  readonly problems?: readonly ProblemKind[];
  /**
   * What the audit names as the target; never a secret or a text. The default is the parameters of
   * the path, joined with slashes.
   */
  target?(input: In, output: Out): string;
  /** Whether reading is audited too, because it hands out a whole inbox or a person's data. */
  readonly auditsReading?: boolean;
  /** Whether deleted data must not stay in the files of the database: see `Database.scrub`. */
  readonly erases?: boolean;
  /** Whether this input is a dry run, which needs no transaction and no entry in the audit. */
  readsOnly?(input: In): boolean;
  readonly example: Example;
}

/**
 * An action with the types of its schemas: of the path, the query, the body, the output and, for a
 * list, of a cursor. Without type arguments it is any action, as the routes, the reference and the
 * commands see it. The members that take an input are methods rather than properties, so that
 * TypeScript accepts every action as any action. This is safe, because `perform` gives an action
 * only what its own schemas have read.
 */
export interface Action<
  P extends Fields = Fields,
  Q extends Fields = Fields,
  B extends z.ZodType = z.ZodType,
  O extends z.ZodType | null = z.ZodType | null,
  T extends z.ZodType | null = z.ZodType | null,
> extends Declaration<Input<P, Q, B, T>, z.output<O>>,
    Body<B> {
  readonly params: P | None;
  readonly query: Q | None;
  /** The schema of the output; null for a download. */
  readonly output: O;
  readonly download?: Download;
  readonly status: number;
  /** Further statuses of success: see `withStatus`. */
  readonly otherStatuses: readonly number[];
  /** The schema of a list's cursor; null for an action that is no list. */
  readonly position: T;
  readonly command: CommandView<Input<P, Q, B, T>, z.output<O>>;
  /** Whether the path is below `/accounts/{username}`. */
  readonly ofAccount: boolean;
  run(services: Services, input: Input<P, Q, B, T>, actor: Actor): Promise<unknown>;
}

/** The output of an action as JSON has it: ids and credits as texts, instants as RFC 3339. */
export type Output<A extends Action> = A['output'] extends z.ZodType ? z.input<A['output']> : unknown;
/** One of the items that a list answers. */
export type Item<A extends Action> = Output<A> extends { readonly items: readonly (infer I)[] } ? I : never;

/** An output with another status than the declared one. */
export class WithStatus<O> {
  readonly status: number;
  readonly output: O;

  constructor(status: number, output: O) {
    this.status = status;
    this.output = output;
  }
}
export const withStatus = <O>(status: number, output: O): WithStatus<O> => new WithStatus(status, output);

/** What every declaration may leave out. */
interface Optional<P extends Fields, Q extends Fields> {
  readonly params?: P;
  readonly query?: Q;
}
const DEFAULTS = { params: none, query: none, otherStatuses: [], position: null, command: {}, status: 200 } as const;

interface Acting<P extends Fields, Q extends Fields, B extends z.ZodType, O extends z.ZodType, S>
  extends Declaration<Input<P, Q, B>, z.output<O>>,
    Optional<P, Q>,
    Body<B> {
  readonly output: O;
  readonly status?: 200 | 201 | 202;
  readonly otherStatuses?: readonly number[];
  readonly command?: CommandView<Input<P, Q, B>, z.output<O>>;
  readonly run: (services: S, input: Input<P, Q, B>, actor: Actor) => Promise<z.output<O> | WithStatus<z.output<O>>>;
}

/** An action that answers one object. */
export const action = <
  O extends z.ZodType,
  P extends Fields = None,
  Q extends Fields = None,
  B extends z.ZodType = z.ZodUndefined,
>(
  declaration: Acting<P, Q, B, O, Services>,
): Action<P, Q, B, O, null> => ({ ...DEFAULTS, ...declaration, ofAccount: false });

/** An action below `/accounts/{username}`: `params` has `username`, and `services` that account. */
export const accountAction = <
  O extends z.ZodType,
  P extends Fields,
  Q extends Fields = None,
  B extends z.ZodType = z.ZodUndefined,
>(
  declaration: Acting<P, Q, B, O, AccountServices>,
): Action<P, Q, B, O, null> => ({ ...DEFAULTS, ...declaration, ofAccount: true });

interface Listing<P extends Fields, Q extends Fields, I extends z.ZodType, T extends z.ZodType, S>
  extends Declaration<Input<P, Q, z.ZodUndefined>, unknown>,
    Optional<P, Q> {
  readonly item: I;
  /** What a cursor holds: enough to continue after an item. */
  readonly position: T;
  readonly command?: Omit<CommandView<Input<P, Q, z.ZodUndefined>, unknown>, 'say' | 'row'> & {
    /** The texts of the columns of an item, where they are not simply its fields. */
    readonly row?: (item: z.output<I>) => readonly string[];
  };
  /** `next` is the position of the last item where more may follow, else null. See `pageOf`. */
  readonly run: (
    services: S,
    input: Input<P, Q, z.ZodUndefined> & { readonly page: Page<z.output<T>> },
    actor: Actor,
  ) => Promise<{ items: z.output<I>[]; next: z.output<T> | null }>;
}

const outputOfList = <I extends z.ZodType>(item: I) =>
  z.strictObject({
    items: z.array(item),
    next: z.string().nullable().describe('The cursor of the next page, for `after`; null after the last item.'),
  });
const listed = <P extends Fields, Q extends Fields, I extends z.ZodType, T extends z.ZodType, S extends Services>(
  declaration: Listing<P, Q, I, T, S>,
  ofAccount: boolean,
): Action<P, Q, z.ZodUndefined, ReturnType<typeof outputOfList<I>>, T> => ({
  ...DEFAULTS,
  ...declaration,
  method: 'GET',
  output: outputOfList(declaration.item),
  ofAccount,
});

/** A list in pages: `limit`, `after`, `next` and the Link header field are of the framework. */
export const listAction = <I extends z.ZodType, T extends z.ZodType, P extends Fields = None, Q extends Fields = None>(
  declaration: Listing<P, Q, I, T, Services>,
) => listed(declaration, false);

export const accountListAction = <I extends z.ZodType, T extends z.ZodType, P extends Fields, Q extends Fields = None>(
  declaration: Listing<P, Q, I, T, AccountServices>,
) => listed(declaration, true);

/** Makes a page of rows that were read with `limit + 1`. The extra row tells that more follow. */
export function pageOf<R, I, T>(
  rows: readonly R[],
  limit: number,
  toItem: (row: R) => I,
  positionOf: (row: R) => T,
): { items: I[]; next: T | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(toItem),
    next: rows.length > limit && last !== undefined ? positionOf(last) : null,
  };
}

interface Downloading<P extends Fields, Q extends Fields>
  extends Declaration<Input<P, Q, z.ZodUndefined>, unknown>,
    Optional<P, Q> {
  readonly download: Download;
  readonly run: (
    services: AccountServices,
    input: Input<P, Q, z.ZodUndefined>,
    actor: Actor,
  ) => Promise<AsyncIterable<string>>;
}

export type DownloadAction<P extends Fields, Q extends Fields = None> = Action<P, Q, z.ZodUndefined, null, null>;

/** An action below `/accounts/{username}` that streams a text, such as CSV. */
export const downloadAction = <P extends Fields, Q extends Fields = None>(
  declaration: Downloading<P, Q>,
): DownloadAction<P, Q> => ({
  ...DEFAULTS,
  ...declaration,
  method: 'GET',
  output: null,
  ofAccount: true,
});
