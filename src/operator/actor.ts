/** Who acts, and the rights that a token may have. */

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

/** The scopes that the token of an account may have. A signed-in customer has these rights too. */
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
  /** When the token expires. A token that it makes expires no later; see also `endless`. */
  readonly expiresAt?: number | null;
  /** Whether an operator in the console gave a code of the second factor with this request. */
  readonly hasFreshFactor?: boolean;
}

/** Whether answers may have the texts and numbers of messages. A token needs the scope for it. */
export const mayRead = ({ kind, scopes: held }: Actor): boolean =>
  (kind !== 'operator' && kind !== 'account') || held.includes('messages:read');
