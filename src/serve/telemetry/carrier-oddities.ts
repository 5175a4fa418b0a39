import { type Noticed, ODDITIES } from '../../carriers/dependencies.ts';
import { Counter, counterMetric } from './counters.ts';

/** Counts what carriers sent that was not as expected, by connector. */
export interface CarrierOddities {
  readonly count: Noticed;
  counters(): Iterable<Counter>;
  /** Called for each, so that the web process can report it to the process with the metrics. */
  onCount: Noticed;
}

export function createCarrierOddities(): CarrierOddities {
  const counters = new Map<string, Counter>();
  const oddities: CarrierOddities = {
    count(connector, what) {
      const key = `${connector} ${what}`;
      const counter = counters.get(key) ?? new Counter({ connector, what });
      counters.set(key, counter);
      counter.value += 1;
      oddities.onCount(connector, what);
    },
    counters: () => counters.values(),
    onCount: () => {},
  };
  return oddities;
}

export const odditiesMetric = (counters: () => Iterable<Counter>) =>
  counterMetric(
    {
      name: 'columba_connector_oddities_total',
      help: `What carriers sent that was not as expected, by connector and what it was: ${ODDITIES.join(', ')}.`,
    },
    counters,
  );
