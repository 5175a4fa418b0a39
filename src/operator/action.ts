import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { ProblemKind } from '../base/problem.ts';
import type { Progress } from '../base/progress.ts';
import type { Extension } from '../domain/privacy/extension.ts';
import type { Database } from '../store/transactions.ts';

/**
 * An action of the operator, declared once. The JSON route, the OpenAPI entry, the reference page
 * and the command are views of this declaration.
 */

export const scopes = [
  'accounts',
  'contacts',
  'messages:read',
  'messages:send',
  'messages:delete',
  'credits',
  'audit',
  'erase',
  'gateway',
  'metrics',
] as const;
export type Scope = (typeof scopes)[number];

/** What the token of an account may have. Whoever signs in for an account has these rights too. */
export const accountScopes = [
  'contacts',
  'messages:read',
  'messages:send',
  'messages:delete',
  'credits',
] as const satisfies readonly Scope[];

/** Who acts, for the audit. */
export interface Actor {
  /**
   * `command`: an operator at the machine. `operator` and `account`: the bearer of such a token.
   * `console operator` and `console account`: somebody who is signed in to the console.
   */
  readonly kind: 'command' | 'operator' | 'account' | 'console operator' | 'console account';
  /** The name of the token, or of the user who runs the command. */
  readonly name: string;
  /** Null for a command. */
  readonly tokenId: bigint | null;
  /** The network address; null for a command. */
  readonly address: string | null;
  readonly scopes: readonly Scope[];
  /** The account of an account token. */
  readonly account: { readonly id: bigint; readonly username: string } | null;
  /** When the token ends. A token that it makes ends no later; see also `endless`. */
  readonly expiresAt?: number | null;
  /** An operator in the console who gave a code of the second factor with this very request. */
  readonly hasFreshFactor?: boolean;
}

/** Texts and numbers are answered only to whoever may read messages: a token needs the scope. */
export const mayRead = ({ kind, scopes: held }: Actor): boolean =>
  (kind !== 'operator' && kind !== 'account') || held.includes('messages:read');

/** What an action works with. */
export interface Services extends Pick<Clock, 'now' | 'sleep'> {
  /**
   * For a change: inside its transaction, which a nested `transaction` joins. For a read: the
   * database itself.
   */
  readonly database: Database;
  /** COLUMBA_REGION, or null. */
  readonly defaultRegion: string | null;
  /** COLUMBA_RETRY_HOURS: how long a message is tried. */
  readonly tryForMs: number;
  /** After a change is on disk. It wakes the dispatchers of this process. */
  readonly changed: () => void;
  /** Is told how far long work has come. What it tells may still be rolled back. */
  readonly progress?: Progress;
  /** Names of the connectors of the file, for a command before the first start of the service. */
  readonly connectorsOfFile: () => readonly string[];
  /** What other programs keep in the same database. */
  readonly extensions: readonly Extension[];
  readonly version: string;
  readonly engine: 'sqlite' | 'postgres';
  /** The public URL of the web listener, without a slash at its end. */
  readonly webUrl: () => string;
  /** The OpenAPI document of all actions. */
  readonly openapi: () => Readonly<Record<string, unknown>>;
}

/** For actions below `/accounts/{username}`: the account, which is there. */
export interface AccountServices extends Services {
  readonly account: { readonly id: bigint; readonly username: string };
}

type Fields = z.ZodObject;
type None = z.ZodObject<Record<never, never>, z.core.$strict>;
const none: None = z.strictObject({});

/** What a command shows of an action, where the default does not do. */
export interface CommandView<Input, Output> {
  /** Fields of the body or query that are arguments, after the parameters of the path. */
  readonly arguments?: readonly string[];
  /** Fields that are read from standard input or a prompt, never from an argument. */
  readonly secrets?: readonly string[];
  /** Lists of free text: each use of the option is one entry, with its commas. */
  readonly texts?: readonly string[];
  /**
   * Names inside of a field of JSON that are secrets too, by the whole body. They come from a file,
   * from standard input or from a prompt: a command refuses them among its arguments.
   */
  readonly secretsIn?: {
    readonly field: string;
    readonly names: (body: Readonly<Record<string, unknown>>) => readonly string[];
  };
  /** What the command says to people; the default is a table. */
  readonly say?: (output: Output, input: Input) => string;
  /**
   * Why nothing was done although the API has an answer; null where something was. The command
   * says it on standard error and ends with 1.
   */
  readonly refusal?: (output: Output) => string | null;
  /** Fields of a list's items that are columns of its table; the default is every field. */
  readonly columns?: readonly string[];
  readonly row?: (item: never) => readonly string[];
  /** Several lines of the table for one item. */
  readonly rows?: (item: never) => readonly (readonly string[])[];
  /** Makes a database that is not there. */
  readonly creates?: boolean;
  /** It reads nothing that is stored, so it works without a database. */
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

interface Input<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
  /** The whole body of an action with `upload`; else empty. */
  readonly upload: Uint8Array;
}

/**
 * Scopes that a token needs besides the one of the action: for what the result lets its bearer do,
 * and for what this input reads or deletes.
 */
export interface Needs<In> {
  /** A sentence for the reference. */
  readonly says: string;
  readonly scopes: (input: In) => readonly Scope[];
}

/** What an action makes has no end, and lets somebody in or sends texts to somebody. */
export interface Endless<In> {
  /** A sentence for the reference. */
  readonly says: string;
  readonly isMade: (input: In) => boolean;
}
export const alwaysEndless: Endless<unknown> = {
  says: 'A token that ends may not do it, because what it makes does not end with the token.',
  isMade: () => true,
};

interface Declaration<P extends Fields, Q extends Fields, B extends z.ZodType, In, Out> {
  /** A noun and a verb, or one word: `account add` is `columba account add`. */
  readonly name: string;
  /** The scope that a token needs; null: any token will do. */
  readonly scope: Scope | null;
  /** Whatever gives rights needs the rights that it gives. `perform` checks it. */
  readonly needs?: Needs<In>;
  /** A token that ends makes nothing that outlives it. `perform` refuses it to such a token. */
  readonly endless?: Endless<In>;
  /**
   * No token will do for this input: only the machine itself, or an operator in the console who has
   * just given a code of the second factor.
   */
  readonly needsFactor?: (input: In) => boolean;
  /** Account tokens may use it too; it must then lie below `/accounts/{username}`. */
  readonly accountTokens?: boolean;
  /** The holder of the account may use it in the console, though no account token may. */
  readonly holders?: boolean;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /operator/v1, with `{name}` for each field of `params`. */
  readonly path: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** A body that is not JSON, at most so many bytes. */
  readonly upload?: Upload;
  readonly summary: string;
  /** Further sentences for the reference. */
  readonly description?: string;
  /** Kinds of problems that it throws, besides those that every action has. */
  readonly problems?: readonly ProblemKind[];
  /**
   * What the audit says it acted on. Default: the parameters of the path, with slashes. Never a
   * secret or a text.
   */
  readonly target?: (input: In, output: Out) => string;
  /** That somebody has read it is audited, because it hands out a whole inbox or a person. */
  readonly auditsReading?: boolean;
  /** What it deletes must not stay in the files of the database: see `Database.scrub`. */
  readonly erases?: boolean;
  /** Changes nothing for this input (a dry run): no transaction, no audit. */
  readonly readsOnly?: (input: In) => boolean;
}

export interface Example {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** As sent in JSON. */
  readonly output?: unknown;
}

/**
 * An action whose types are forgotten: what the routes, the reference and the commands work with.
 */
export interface Action extends Declaration<Fields, Fields, z.ZodType, AnyInput, unknown> {
  readonly params: Fields;
  readonly query: Fields;
  /** Null: it has none. */
  readonly output: z.ZodType | null;
  readonly download?: Download;
  readonly status: number;
  /** Further statuses of success: see `withStatus`. */
  readonly otherStatuses: readonly number[];
  readonly example: Example;
  /** For a list: the schema of a cursor of it. */
  readonly position: z.ZodType | null;
  readonly command: CommandView<AnyInput, unknown>;
  /** Lies below `/accounts/{username}`. */
  readonly ofAccount: boolean;
  run(services: Services, input: AnyInput, actor: Actor): Promise<unknown>;
}
export interface AnyInput extends Input<Fields, Fields, z.ZodType> {
  readonly page?: Page<unknown>;
}

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

interface Acting<P extends Fields, Q extends Fields, B extends z.ZodType, O extends z.ZodType, S>
  extends Declaration<P, Q, B, Input<P, Q, B>, z.output<O>> {
  readonly output: O;
  readonly status?: 200 | 201 | 202;
  readonly otherStatuses?: readonly number[];
  readonly example: Example;
  readonly command?: CommandView<Input<P, Q, B>, z.output<O>>;
  readonly run: (services: S, input: Input<P, Q, B>, actor: Actor) => Promise<z.output<O> | WithStatus<z.output<O>>>;
}

/** Erases the types: the framework checks inputs by the schemas before `run` sees them. */
const erased = (declaration: object, more: object): Action =>
  ({
    params: none,
    query: none,
    otherStatuses: [],
    position: null,
    command: {},
    output: null,
    status: 200,
    ...declaration,
    ...more,
  }) as unknown as Action;

/** An action that answers one object. */
export const action = <
  O extends z.ZodType,
  P extends Fields = None,
  Q extends Fields = None,
  B extends z.ZodType = z.ZodUndefined,
>(
  declaration: Acting<P, Q, B, O, Services>,
): Action => erased(declaration, { ofAccount: false });

/**
 * The same below `/accounts/{username}`: `services.account` is that account. `params` has
 * `username`.
 */
export const accountAction = <
  O extends z.ZodType,
  P extends Fields,
  Q extends Fields = None,
  B extends z.ZodType = z.ZodUndefined,
>(
  declaration: Acting<P, Q, B, O, AccountServices>,
): Action => erased(declaration, { ofAccount: true });

/** How far a list is read: at most `limit` items after a cursor; from its beginning for null. */
export interface Page<T> {
  readonly limit: number;
  readonly after: T | null;
}

interface Listing<P extends Fields, Q extends Fields, I extends z.ZodType, T extends z.ZodType, S>
  extends Omit<Declaration<P, Q, z.ZodUndefined, Input<P, Q, z.ZodUndefined>, unknown>, 'method' | 'body' | 'upload'> {
  readonly item: I;
  /** What a cursor holds: enough to go on behind an item. */
  readonly position: T;
  readonly example: Example;
  readonly command?: Omit<CommandView<Input<P, Q, z.ZodUndefined>, unknown>, 'say' | 'row'> & {
    /** What the columns of an item show, where that is not the field as it is. */
    readonly row?: (item: z.output<I>) => readonly string[];
  };
  /** `next` is the position of the last item where more may follow, else null. See `pageOf`. */
  readonly run: (
    services: S,
    input: Input<P, Q, z.ZodUndefined> & { readonly page: Page<z.output<T>> },
    actor: Actor,
  ) => Promise<{ items: z.output<I>[]; next: z.output<T> | null }>;
}

const listed = (declaration: { item: z.ZodType }, ofAccount: boolean): Action =>
  erased(declaration, {
    ofAccount,
    method: 'GET',
    output: z.strictObject({
      items: z.array(declaration.item),
      next: z.string().nullable().describe('The cursor of the next page, for `after`; null after the last item.'),
    }),
  });

/**
 * A list in pages: the framework reads `limit` and `after`, and writes `next` and the Link header
 * field.
 */
export const listAction = <I extends z.ZodType, T extends z.ZodType, P extends Fields = None, Q extends Fields = None>(
  declaration: Listing<P, Q, I, T, Services>,
): Action => listed(declaration, false);

export const accountListAction = <I extends z.ZodType, T extends z.ZodType, P extends Fields, Q extends Fields = None>(
  declaration: Listing<P, Q, I, T, AccountServices>,
): Action => listed(declaration, true);

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
  extends Omit<Declaration<P, Q, z.ZodUndefined, Input<P, Q, z.ZodUndefined>, unknown>, 'method' | 'body' | 'upload'> {
  readonly download: Download;
  readonly example: Example;
  readonly run: (
    services: AccountServices,
    input: Input<P, Q, z.ZodUndefined>,
    actor: Actor,
  ) => Promise<AsyncIterable<string>>;
}

/** An action below `/accounts/{username}` that streams a text, such as CSV. */
export const downloadAction = <P extends Fields, Q extends Fields = None>(declaration: Downloading<P, Q>): Action =>
  erased(declaration, { ofAccount: true, method: 'GET' });
