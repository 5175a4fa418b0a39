import { createBackOff } from '../../base/back-off.ts';
import type { BindKind, SmppConfig, SmppDependencies } from './config.ts';
import { peerOf } from './config.ts';
import { headerOf, type Pdu } from './pdu.ts';
import type { Answer } from './requests.ts';
import { openSession, type Session, type SessionEnd } from './session.ts';
import { meaningOf } from './status.ts';
import type { OpenWire } from './wire.ts';

/** The connections of a connector, each of which is opened again whenever it ends. */
export interface Binds {
  /** Resolves when each was tried once. */
  start(): Promise<void>;
  /** The sessions that take submissions now. */
  ready(): Session[];
  /** Why none does; null where one does. */
  fault(): string | null;
  readonly isStopped: boolean;
  stop(): Promise<void>;
}

export interface BindsParts {
  readonly name: string;
  readonly config: SmppConfig;
  readonly deps: SmppDependencies;
  readonly openWire: OpenWire;
  readonly onReady: () => void;
  /** Of each connection its own: what it brings is told apart from what another one brought. */
  readonly newReceiver: () => (pdu: Pdu) => Promise<number>;
  readonly onLate: (attemptId: string, answer: Answer & { readonly kind: 'answered' }) => void;
}

const BACK_OFF_FIRST_MS = 1_000;
const BACK_OFF_LAST_MS = 60_000;
/** A connection that lived for so long was a good one. */
const GOOD_MS = 60_000;
/** Wrong credentials are not tried often: some SMSCs lock an account that does. */
const CREDENTIALS_MS = 5 * 60_000;

interface Bind {
  readonly kind: BindKind;
  session: Session | null;
  fault: string;
}

export function createBinds(parts: BindsParts): Binds {
  const { name, config, deps, onReady } = parts;
  const { clock, log } = deps;
  const stopping = new AbortController();
  const binds: Bind[] = kindsOf(config).map((kind) => ({ kind, session: null, fault: 'not bound yet' }));
  let running: Promise<unknown> = Promise.resolve();

  function open(bind: Bind, onTried: () => void): Session {
    const { kind } = bind;
    const trace = (direction: 'in' | 'out', frame: Buffer) =>
      log.info({ connector: name, direction, octets: frame.length, ...headerOf(frame) }, 'smpp: a PDU');
    return openSession({
      kind,
      config,
      clock,
      openWire: parts.openWire,
      receive: parts.newReceiver(),
      onLate: parts.onLate,
      onBound({ systemId, version }) {
        log.info({ connector: name, bind: kind, systemId: systemId.slice(0, 16), version }, 'smpp: bound');
        onReady();
        onTried();
      },
      noticed: (what) => deps.noticed?.(name, what),
      ...(config.tracePdus && { trace }),
    });
  }

  async function keepBound(bind: Bind, onTried: () => void): Promise<void> {
    const backOff = createBackOff(BACK_OFF_FIRST_MS, BACK_OFF_LAST_MS);
    while (!stopping.signal.aborted) {
      bind.session = open(bind, onTried);
      const end = await bind.session.ended;
      bind.session = null;
      bind.fault = faultOf(config, bind.kind, end);
      onTried();
      if (stopping.signal.aborted) return;
      if ((end.boundMs ?? 0) >= GOOD_MS) backOff.reset();
      if (config.quirks.unbindOnIdle && end.isIdle && end.boundMs !== null) continue;
      const waitMs = isOfCredentials(end) ? CREDENTIALS_MS : backOff.next() * (0.8 + 0.4 * clock.random());
      log.warn({ connector: name, bind: bind.kind, reason: end.reason, waitMs }, 'smpp: not bound');
      await clock.sleep(waitMs, stopping.signal);
    }
  }

  const ready = (): Session[] => binds.flatMap(({ session }) => (session?.isBound ? [session] : []));

  return {
    async start() {
      const tried = binds.map((bind) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        return { promise, kept: keepBound(bind, resolve) };
      });
      running = Promise.all(tried.map(({ kept }) => kept));
      await Promise.all(tried.map(({ promise }) => promise));
    },
    ready,
    fault() {
      if (ready().length > 0) return null;
      return binds.find(({ kind }) => kind !== 'receiver')?.fault ?? null;
    },
    get isStopped() {
      return stopping.signal.aborted;
    },
    async stop() {
      stopping.abort();
      await Promise.all(binds.map(({ session }) => session?.unbind()));
      await running;
    },
  };
}

const kindsOf = ({ bind, binds }: SmppConfig): BindKind[] => {
  const each: BindKind[] = bind === 'transceiver' ? ['transceiver'] : ['transmitter', 'receiver'];
  return Array.from({ length: binds }, () => each).flat();
};

const isOfCredentials = ({ refusal }: SessionEnd): boolean => refusal !== null && meaningOf(refusal) === 'credentials';

/** Tells the operator why a bind is missing, without anything secret. */
function faultOf(config: SmppConfig, kind: BindKind, { reason }: SessionEnd): string {
  const { host, port } = peerOf(config, kind);
  return `the SMSC ${host}:${port} is not bound (${reason})`;
}
