import type { Clock } from '../../base/clock.ts';
import { callHttp } from '../../base/http-client.ts';
import type { KannelAdmin } from './config.ts';

/** The boxes and carriers that bearerbox's admin port lists. */
export interface KannelStatus {
  readonly boxes: readonly { readonly type: string; readonly id: string }[];
  readonly carriers: readonly { readonly id: string; readonly name: string; readonly status: string }[];
}

const STATUS_BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 5_000;

/** The status, or a sentence that says why there is none. */
export async function askStatus(clock: Clock, admin: KannelAdmin): Promise<KannelStatus | string> {
  const peer = `bearerbox's admin port ${admin.host}:${admin.port}`;
  const query = admin.password === undefined ? '' : `?password=${encodeURIComponent(admin.password)}`;
  const outcome = await callHttp(clock, admin, {
    method: 'GET',
    path: `/status.xml${query}`,
    timeoutMs: TIMEOUT_MS,
    answerBytesMax: STATUS_BYTES_MAX,
  });
  if (outcome.kind !== 'answered') return `${peer} does not answer (${outcome.reason}).`;
  const xml = outcome.body.toString('utf8');
  // A refusal has the HTTP status 200 too.
  if (/\bDenied\s*<\/gateway>/.test(xml)) return `${peer} refuses the password.`;
  if (!/<gateway>/.test(xml)) return `${peer} does not answer with a status of Kannel.`;
  return readStatus(xml);
}

export function readStatus(xml: string): KannelStatus {
  return {
    boxes: blocks(xml, 'box').map((box) => ({ type: contentOf(box, 'type'), id: contentOf(box, 'id') })),
    carriers: blocks(xml, 'smsc').map((smsc) => ({
      id: contentOf(smsc, 'id'),
      name: contentOf(smsc, 'name'),
      status: contentOf(smsc, 'status'),
    })),
  };
}

const blocks = (xml: string, name: string): string[] =>
  xml
    .split(`<${name}>`)
    .slice(1)
    .map((block) => block.split(`</${name}>`, 1)[0] as string);

const contentOf = (block: string, name: string): string =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(block)?.[1]?.trim() ?? '';

/** The carriers that a message for this smsc-id may leave through. */
const carriersFor = ({ carriers }: KannelStatus, smscId: string | undefined): KannelStatus['carriers'] =>
  smscId === undefined ? carriers : carriers.filter(({ id }) => id === smscId);

export const isOnline = (status: KannelStatus, smscId: string | undefined): boolean =>
  carriersFor(status, smscId).some((carrier) => carrier.status.startsWith('online'));

/** The mistakes that a status shows, a sentence each. */
export function faultsOfRoute(status: KannelStatus, smscId: string | undefined): string[] {
  const carriers = carriersFor(status, smscId);
  if (carriers.length === 0) {
    return [
      smscId === undefined
        ? 'Kannel has no carrier: its configuration has no smsc group.'
        : `Kannel has no carrier with the smsc-id ${smscId}.`,
    ];
  }
  if (isOnline(status, smscId)) return [];
  const states = [...new Set(carriers.map((carrier) => carrier.status || 'unknown'))].join(', ');
  const dead = carriers.some((carrier) => carrier.status.startsWith('dead'));
  const remedy = dead ? ' A dead carrier refused our login; start-smsc tries again.' : '';
  return [`No carrier of Kannel is online${smscId === undefined ? '' : ` for ${smscId}`}: ${states}.${remedy}`];
}
