import { booleanOfWord, type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { operationOf } from '../old-server/answer.ts';
import type { RawDataSet } from '../old-server/answer-dataset.ts';
import { Counts, type Learned, type Observation } from './learned.ts';

/** Learns the words for true and false, by results and by columns that show a boolean of ours. */
export class BooleansLearner {
  readonly #words = new Counts();
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  see({ name, group, operation, answer }: Observation): void {
    const type = operationOf(group, operation)?.result;
    if (answer.kind !== 'value' || !type) return;
    if (type.kind === 'scalar' && type.name === 'boolean') this.#words.add(String(answer.raw).trim());
    if (type.kind !== 'dataSet') return;
    const ours = Object.entries(type.columns).filter(([, { name: scalar }]) => scalar === 'boolean');
    const columns = this.#dialect.columns?.[name] ?? ours.map(([column]) => ({ name: column, from: column }));
    const shown = columns.filter(({ from }) => ours.some(([column]) => column === from));
    const { rows = [] } = answer.raw as Partial<RawDataSet>;
    for (const row of rows) for (const column of shown) this.#words.add((row[column.name] ?? '').trim());
  }

  learned(): Learned {
    const words: Record<'true' | 'false', string[]> = { true: [], false: [] };
    const findings: Learned['findings'][number][] = [];
    for (const [word, count] of this.#words.ranked) {
      const value = booleanOfWord(NO_DIALECT, word);
      if (value === null) continue; // true, false, 1 and 0, which need no entry
      words[`${value}`].push(word);
      findings.push({ entry: `booleanWords.${value}`, count, text: `“${word}”` });
    }
    const seen = Object.entries(words).filter(([, each]) => each.length > 0);
    if (seen.length === 0) return { dialect: {}, findings, uncertain: [] };
    const booleanWords = Object.fromEntries(seen.map(([value, each]) => [value, each.length === 1 ? each[0] : each]));
    const missing = (['true', 'false'] as const).filter((value) => words[value].length === 0);
    return {
      dialect: { booleanWords: booleanWords as NonNullable<Dialect['booleanWords']> },
      findings,
      uncertain: missing.map((value) => ({
        entry: `booleanWords.${value}`,
        reason: `no word for ${value} was seen, while the other one has a word of its own; name it`,
      })),
    };
  }
}
