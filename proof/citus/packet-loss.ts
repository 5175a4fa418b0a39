import { spawnSync } from 'node:child_process';
import { createNetwork, type Network } from '../postgres/network.ts';

/** A network to a server that can lose everything, and refuses nothing. */
export type LossyNetwork = Pick<Network, 'port' | 'swallow' | 'restore' | 'close'> & { readonly kind: string };

const nft = (...args: string[]) => spawnSync('nft', args, { encoding: 'utf8' });

/**
 * Where this process may, the kernel drops every packet to and from the port: connections that are open stay, and the
 * kernel repeats what gets no answer. Elsewhere a proxy swallows the bytes.
 */
export async function createLossyNetwork(to: number): Promise<LossyNetwork> {
  if (nft('list', 'tables').status !== 0)
    return { ...(await createNetwork(to)), kind: 'a proxy that swallows all bytes' };
  const table = `columba_loss_${to}`;
  const change = (...args: string[]) => {
    const { status, stderr } = nft(...args);
    if (status !== 0) throw new Error(`nft ${args.join(' ')}: ${stderr}`);
  };
  let isLossy = false;
  const restore = () => {
    if (isLossy) change('delete', 'table', 'inet', table);
    isLossy = false;
  };
  return {
    port: to,
    kind: 'a kernel that drops all packets',
    swallow() {
      const drop = ['dport', 'sport'].map((side) => `tcp ${side} ${to} drop;`).join(' ');
      change(`table inet ${table} { chain lost { type filter hook input priority 0; ${drop} }; };`);
      isLossy = true;
    },
    restore,
    async close() {
      restore();
    },
  };
}
