import type { Metric, MetricValue } from 'prom-client';

/**
 * Figures that are counted in plain numbers, and become metrics only when somebody asks for them: prom-client's own ways to
 * count take about 1 µs each, for finding the labels again.
 */
export type Labels = Readonly<Record<string, string>>;

export interface Description {
  readonly name: string;
  readonly help: string;
}

export class Count {
  readonly labels: Labels;
  value = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }
}

export class Distribution {
  readonly labels: Labels;
  readonly #bounds: readonly number[];
  /** For each bound, and one for what is beyond them. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] as number)) index += 1;
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
  }

  values(name: string): MetricValue<string>[] {
    let total = 0;
    const buckets = Array.from(this.#counts, (count, index) => {
      total += count;
      return this.#value(`${name}_bucket`, total, { le: this.#bounds[index] ?? '+Inf' });
    });
    return [...buckets, this.#value(`${name}_sum`, this.#sum), this.#value(`${name}_count`, total)];
  }

  #value(metricName: string, value: number, more: Record<string, string | number> = {}) {
    return { metricName, value, labels: { ...more, ...this.labels } } as MetricValue<string>;
  }
}

/** As a registry takes a metric: it asks for its name and its values. */
const metric = (type: 'counter' | 'histogram', description: Description, values: () => MetricValue<string>[]): Metric =>
  ({
    ...description,
    get: async () => ({ ...description, type, values: values(), aggregator: 'sum' }),
    reset() {},
  }) as unknown as Metric;

export const counterOf = (description: Description, counts: () => Iterable<Count>): Metric =>
  metric('counter', description, () => Array.from(counts(), ({ value, labels }) => ({ value, labels })));

export const histogramOf = (description: Description, distributions: () => Iterable<Distribution>): Metric =>
  metric('histogram', description, () => [...distributions()].flatMap((each) => each.values(description.name)));
