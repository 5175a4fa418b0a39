import type { Html } from '../base/html.ts';
import type { Origin, Session } from '../domain/access/sessions.ts';
import type { SignIn } from '../domain/access/sign-in.ts';
import type { Services } from '../operator/action.ts';
import type { Domain } from '../operator/domain.ts';
import type { Acting } from './acting.ts';
import type { Form } from './form.ts';
import type { Site } from './session.ts';

/** A request of somebody who is signed in, as a screen gets it. */
export interface PageRequest {
  readonly session: Session;
  readonly isOperator: boolean;
  /** `/console` for a customer; `/console/accounts/acme` if an operator looks at an account. */
  readonly base: string;
  /** The account that the screen is about. */
  readonly account: { readonly id: bigint; readonly username: string };
  /** IANA name of the time zone in which times are shown. */
  readonly zone: string;
  readonly now: number;
  /** The path of the request, without the query. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: Form;
  readonly services: Services;
  readonly domain: Domain;
  readonly act: Acting;
  readonly signIn: SignIn;
  readonly origin: Origin;
  readonly site: Site;
  /** Aborts when the client closes the connection while a stream is written. */
  readonly signal: AbortSignal;
}

/** What a screen answers. */
export type View =
  | {
      readonly kind: 'page';
      readonly title: Html | string;
      readonly main: Html;
      readonly status?: number;
      /** The item of the navigation that the page belongs to. */
      readonly current?: string;
      readonly cookie?: string;
      /** The default is `no-store`. */
      readonly cacheControl?: string;
      /** The panes of a conversation instead of one column. */
      readonly layout?: 'talk' | 'talk open';
      /** The seconds after which to try again. */
      readonly retryAfter?: number;
    }
  | { readonly kind: 'redirect'; readonly to: string; readonly cookie?: string }
  /** A part of a page, for the script, with an ETag. */
  | { readonly kind: 'fragment'; readonly html: Html }
  /** Server-sent events, for the script. */
  | { readonly kind: 'events'; readonly events: AsyncIterable<string> }
  | { readonly kind: 'download'; readonly fileName: string; readonly text: AsyncIterable<string> }
  /** A page whose main part comes in pieces, so that people see the progress of long work. */
  | { readonly kind: 'progress'; readonly title: string; readonly pieces: AsyncIterable<Html> };

export interface Route {
  readonly method: 'GET' | 'POST';
  /** The path below the base, with `:name` for parameters. */
  readonly path: string;
  readonly show: (request: PageRequest) => Promise<View>;
  /** The most bytes of a form; 256 KiB by default. */
  readonly bytesMax?: number;
}

export const get = (path: string, show: Route['show']): Route => ({ method: 'GET', path, show });
export const post = (path: string, show: Route['show'], bytesMax?: number): Route =>
  bytesMax === undefined ? { method: 'POST', path, show } : { method: 'POST', path, show, bytesMax };

export const page = (
  title: Html | string,
  main: Html,
  more: Omit<Partial<Extract<View, { kind: 'page' }>>, 'kind' | 'title' | 'main'> = {},
) => ({ kind: 'page', title, main, ...more }) as const satisfies View;
export const redirect = (to: string, cookie?: string): View =>
  cookie === undefined ? { kind: 'redirect', to } : { kind: 'redirect', to, cookie };

/** Redirects to a screen, which says what was done: `notice` is a key of its texts. */
export function noticed(
  to: string,
  notice: string,
  count?: number | bigint,
  more: Readonly<Record<string, string>> = {},
): View {
  const query = new URLSearchParams({ notice, ...more });
  if (count !== undefined) query.set('count', String(count));
  return redirect(`${to}${to.includes('?') ? '&' : '?'}${query}`);
}
