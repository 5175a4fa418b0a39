import type { Clock } from '../base/clock.ts';

/** The dependencies of every connector. */
export interface ConnectorDependencies {
  readonly clock: Clock;
  readonly log?: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  /** Called with an answer that the connector cannot read, for the operator; without secrets. */
  readonly unread?: (connector: string, answer: string) => void;
}
