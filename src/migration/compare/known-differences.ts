/**
 * Known differences between two servers on which no client depends, by name. They are counted and
 * do not make a comparison fail, unless they are switched off. Ids, texts, numbers, counts, true
 * and false are always compared.
 */
export const KNOWN_DIFFERENCES = {
  'header-date': 'The Date field.',
  'header-server': 'The Server field.',
  'header-powered-by': 'The X-Powered-By field.',
  'header-aspnet-version': 'The X-AspNet-Version field.',
  'header-set-cookie': 'The Set-Cookie field: the contract has no session.',
  'header-cache-control': 'The Cache-Control field.',
  'header-connection': 'The fields Connection and Keep-Alive, which are of each connection.',
  'header-length': 'A Content-Length against chunks, or another length of an equal answer.',
  'header-compression': 'The content coding, and Vary.',
  'header-other': 'Any other header field but Content-Type.',
  'content-type-form': 'How a Content-Type of the same meaning is written.',
  'xml-declaration': 'The XML declaration.',
  'xml-white-space': 'White space between elements.',
  'xml-prefixes': 'Prefixes of namespaces, and where they are declared.',
  'xml-attribute-order': 'The order of attributes.',
  'xml-notation': 'Empty elements, references and quotes, which mean the same.',
  'diffgram-row-ids': 'Ids and numbers of rows in a diffgram.',
  'field-userID': 'userID of a profile, which each server fills in differently.',
  'field-password': 'password of a profile, which is always empty in Columba.',
  'field-last-login': 'datetimeLastLoggedIn of a profile.',
  'fault-text': 'The text of a fault; its code is compared.',
  'dateTime-form': 'How an instant is written.',
  'number-form': 'How a number is written.',
  'boolean-form': 'How true or false is written.',
  'list-order': 'An order of rows that neither server promises; such answers have the outcome order.',
  'rows-beyond-cap': 'Rows beyond the smaller limit of the two servers.',
  'status-words': 'A status by its word in the dialect.',
  'error-status': 'By design: errors of GET and POST have their HTTP status in Columba, and 500 at the old server.',
  'plain-error':
    'By design: a request that is no envelope gets a plain error from Columba, and a fault from the old server.',
} as const;
export type KnownDifference = keyof typeof KNOWN_DIFFERENCES;

/** Known differences that make the class `by design`. */
export const BY_DESIGN: readonly KnownDifference[] = ['error-status', 'plain-error'];

export const isKnownDifference = (name: string): name is KnownDifference => Object.hasOwn(KNOWN_DIFFERENCES, name);

/** Known differences of header fields, by name in lower case. */
export const HEADER_DIFFERENCES: Readonly<Record<string, KnownDifference>> = {
  date: 'header-date',
  server: 'header-server',
  'x-powered-by': 'header-powered-by',
  'x-aspnet-version': 'header-aspnet-version',
  'set-cookie': 'header-set-cookie',
  'cache-control': 'header-cache-control',
  connection: 'header-connection',
  'keep-alive': 'header-connection',
  'content-length': 'header-length',
  'transfer-encoding': 'header-length',
  'content-encoding': 'header-compression',
  vary: 'header-compression',
};

/** Known differences of the fields of a profile. */
export const FIELD_DIFFERENCES: Readonly<Record<string, KnownDifference>> = {
  userID: 'field-userID',
  password: 'field-password',
  datetimeLastLoggedIn: 'field-last-login',
};

/** The findings of one comparison. Examples never hold a phone number, a text or a secret. */
export class Findings {
  readonly knownDifferences = new Map<KnownDifference, string>();
  readonly differences: string[] = [];
  readonly #disabled: ReadonlySet<KnownDifference>;

  constructor(disabled: ReadonlySet<KnownDifference>) {
    this.#disabled = disabled;
  }

  /** Counts a known difference. If it is switched off, it is a difference like any other. */
  known(name: KnownDifference, example: string): void {
    if (this.#disabled.has(name)) this.differ(`${example} (the known difference ${name} is switched off)`);
    else if (!this.knownDifferences.has(name)) this.knownDifferences.set(name, clipped(example));
  }

  differ(example: string): void {
    if (this.differences.length < DIFFERENCES_MAX) this.differences.push(clipped(example));
  }
}

const DIFFERENCES_MAX = 5;
const EXAMPLE_LENGTH_MAX = 300;
const clipped = (text: string): string =>
  text.length > EXAMPLE_LENGTH_MAX ? `${text.slice(0, EXAMPLE_LENGTH_MAX)}…` : text;
