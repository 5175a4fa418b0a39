import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { networkList } from '../../base/networks.ts';
import type { SeenCall } from '../old-server/call-reader.ts';
import type { KnownRule, RuleStage } from '../stages/client-rules.ts';
import type { Stage } from '../stages/stages.ts';

/**
 * Which server answers a read, by the rules of clients. If several rules fit, one with an account
 * wins, then one with a header field, then the longest network prefix, then the first name.
 */
export interface ReadingClient {
  readonly account: bigint | null;
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
}
export type ReadStage = (stage: Stage, client: ReadingClient) => Stage;

/** The parts that know whether a server has every write of an account. */
export interface Completeness {
  readonly stages: { readonly readStage: ReadStage };
  readonly shadow: { applied(call: SeenCall): Promise<boolean> };
  readonly lead: { isOldComplete(account: bigint): Promise<boolean> };
}

/**
 * The stage in which a read is answered. A rule chooses the other server only if that server has
 * every write of the account, so that a client reads what it has written.
 */
export async function stageOfRead(
  { stages, shadow, lead }: Completeness,
  call: SeenCall,
  { account, stage }: { readonly account: bigint | null; readonly stage: Stage },
  client: Omit<ReadingClient, 'account'>,
): Promise<Stage> {
  const wanted = stages.readStage(stage, { account, ...client });
  if (wanted === stage || account === null) return stage;
  const isComplete = wanted === 'lead' ? await shadow.applied(call) : await lead.isOldComplete(account);
  return isComplete ? wanted : stage;
}

interface Compiled {
  readonly stage: RuleStage;
  readonly weight: readonly [account: number, header: number, prefix: number];
  fits(client: ReadingClient): boolean;
}

export const NO_RULES: ReadStage = (stage) => stage;

export function compileClientRules(rules: readonly KnownRule[]): ReadStage {
  if (rules.length === 0) return NO_RULES;
  const ordered = [...rules]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(compiled)
    .sort((one, other) => byWeight(other, one));
  return (stage, client) => {
    // Only in these stages do both servers have everything.
    if (stage !== 'compare' && stage !== 'lead') return stage;
    return ordered.find((rule) => rule.fits(client))?.stage ?? stage;
  };
}

function compiled({ account, network, header, stage }: KnownRule): Compiled {
  const isInNetwork = network === null ? () => true : networkList([network]);
  return {
    stage,
    weight: [account === null ? 0 : 1, header === null ? 0 : 1, network === null ? -1 : prefixOf(network)],
    fits: (client) =>
      (account === null || account === client.account) &&
      (header === null || fieldOf(client.headers, header.name) === header.value) &&
      isInNetwork(client.address),
  };
}

const byWeight = ({ weight: one }: Compiled, { weight: other }: Compiled): number =>
  one[0] - other[0] || one[1] - other[1] || one[2] - other[2];

function prefixOf(network: string): number {
  const [address = '', bits] = network.split('/');
  return bits === undefined ? (isIP(address) === 6 ? 128 : 32) : Number(bits);
}

const fieldOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};
