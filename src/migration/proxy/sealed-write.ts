import type { RawRequest } from '../compare/redaction.ts';
import type { SeenCall } from '../old-server/call-reader.ts';
import type { WaitingWrite } from '../stages/writes.ts';
import type { Seal } from './write-seal.ts';

/** The content of a waiting write before it is encrypted: the request as Columba gets it. */
export interface SealedWrite {
  readonly group: string;
  readonly operation: string;
  readonly protocol: SeenCall['protocol'];
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly userId: string | null;
  /** The ids that Columba had, for a delete of all. */
  readonly ids?: readonly string[];
}

/**
 * A message may arrive at the old server after Columba has deleted all messages. So the old server
 * is told to delete one by one those that Columba had.
 */
const ALL: Readonly<Record<string, { list: string; limit: string; each: string }>> = {
  'inbox.DeleteAllMessages': { list: 'InboxDS', limit: 'max_count', each: 'DeleteMessage' },
  'compose.DeleteAllScheduled': { list: 'FetchScheduledDS', limit: 'max', each: 'DeleteScheduledMessage' },
};
export const writeOfAll = ({ group, operation }: Pick<SeenCall, 'group' | 'operation'>) => ALL[`${group}.${operation}`];

export function sealWrite(
  seal: Seal,
  account: bigint,
  call: SeenCall,
  request: RawRequest,
  ids: string[] | undefined,
): string {
  const { group, operation, protocol, userId } = call;
  const { method, target, rawHeaders } = request;
  const body = Buffer.from(request.body ?? new Uint8Array()).toString('base64');
  const write: SealedWrite = { group, operation, protocol, userId, method, target, rawHeaders, body };
  return seal.seal(account, JSON.stringify(ids ? { ...write, ids } : write));
}

export const openWrite = (seal: Seal, { account, sealed }: WaitingWrite): SealedWrite =>
  JSON.parse(seal.open(account, sealed)) as SealedWrite;

export const bodyOfWrite = ({ body }: SealedWrite): Uint8Array => Buffer.from(body, 'base64');

const CLIENT_FIELD = 'X-Forwarded-For';

/** Adds the address of the client for Columba, as the last field. */
export const withClient = (request: RawRequest, client: string | undefined): RawRequest =>
  client === undefined
    ? request
    : { ...request, rawHeaders: [...request.rawHeaders, CLIENT_FIELD, client.replace(/^::ffff:/, '')] };

/** Removes the address of the client for the old server, which never had it. */
export const withoutClient = <T extends { readonly rawHeaders: readonly string[] }>(request: T): T =>
  request.rawHeaders.at(-2) === CLIENT_FIELD ? { ...request, rawHeaders: request.rawHeaders.slice(0, -2) } : request;
