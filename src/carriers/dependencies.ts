import type { Clock } from '../base/clock.ts';

/** What a carrier sent that was not as expected. It is counted for the operator. */
export const ODDITIES = [
  'contradictory-receipt',
  'unknown-tlv',
  'answer-to-nothing',
  'malformed-pdu',
  'unknown-command',
  'unread',
] as const;
export type Oddity = (typeof ODDITIES)[number];
export type Noticed = (connector: string, what: Oddity) => void;

/** The dependencies of every connector. */
export interface ConnectorDependencies {
  readonly clock: Clock;
  readonly log?: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  /** Called with an answer that the connector cannot read, for the operator; without secrets. */
  readonly unread?: (connector: string, answer: string) => void;
  readonly noticed?: Noticed;
}
