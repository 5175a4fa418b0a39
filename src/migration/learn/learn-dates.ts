import { offsetAt } from '../../asmx/contract/dates.ts';
import { formatOffset } from '../../asmx/dialect/date-form.ts';
import type { DateForm } from '../../asmx/dialect/dialect.ts';
import { Counts, type Doubt, type Finding } from './learned.ts';

/** Learns the form of dates: the zone, the digits, and the time zone behind the offsets. */
const DATE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
// The most days that are remembered, a little more than two years.
const DAYS_MAX = 800;
// A client that polls sees a message within a minute. Older messages tell nothing about the zone.
const FRESH_MS = 60_000;
// Fewer dates may be without a fraction by chance.
const WHOLE_SECONDS_MIN = 20;

export class DatesLearner {
  readonly #zones = new Counts();
  readonly #lengths = new Counts();
  /** The offset on each day. */
  readonly #offsets = new Map<number, number>();
  #trailingZeros = 0;
  #example = '';
  /** How far the newest date without a zone was ahead of the clock, read as UTC. */
  #aheadMs = Number.NEGATIVE_INFINITY;

  /** `at` is the time of the answer, for lists whose newest date is about now. */
  see(text: string, at?: number): void {
    const [, local, fraction = '', zone = ''] = DATE.exec(text) ?? [];
    if (local === undefined) return;
    this.#zones.add(kindOf(zone));
    this.#lengths.add(String(fraction.length));
    if (fraction.endsWith('0')) this.#trailingZeros += 1;
    this.#example ||= text;
    const asUtc = Date.parse(`${local}Z`);
    const minutes = minutesOf(zone);
    if (minutes !== undefined && this.#offsets.size < DAYS_MAX) {
      this.#offsets.set(Math.floor((asUtc - minutes * MINUTE_MS) / DAY_MS), minutes);
    }
    if (zone === '' && at !== undefined) this.#aheadMs = Math.max(this.#aheadMs, asUtc - at);
  }

  learned(entry: string): { form: DateForm | undefined; findings: Finding[]; uncertain: Doubt[] } {
    const [usual, ...others] = this.#zones.ranked;
    if (!usual) return { form: undefined, findings: [], uncertain: [] };
    const zone = usual[0] as DateForm['zone'];
    const digits = this.#digits(entry);
    const timeZone = zone === 'Z' ? { doubts: [] } : this.#timeZone(zone, entry);
    const form: DateForm = { zone, ...timeZone.found, fractionDigits: digits.digits };
    const isOurs = zone === 'Z' && digits.digits === 'trimmed';
    return {
      form: isOurs ? undefined : form,
      findings: [{ entry, count: usual[1], text: `such as ${this.#example}` }],
      uncertain: [
        ...others.map(([other, count]) => ({
          entry,
          reason: `${count} dates end with ${ENDS[other as DateForm['zone']]}`,
        })),
        ...digits.doubts,
        ...timeZone.doubts,
      ],
    };
  }

  #digits(entry: string): { digits: number | 'trimmed'; doubts: Doubt[] } {
    const lengths = this.#lengths.ranked;
    const total = this.#lengths.total;
    const [only] = lengths.length === 1 ? lengths : [];
    if (!only) return { digits: 'trimmed', doubts: this.#trailingZeros === 0 ? [] : [mixed(entry)] };
    const digits = Number(only[0]);
    if (digits === 0) return { digits, doubts: total >= WHOLE_SECONDS_MIN ? [] : [few(entry, total)] };
    return { digits, doubts: this.#trailingZeros > 0 ? [] : [few(entry, total)] };
  }

  #timeZone(zone: 'offset' | 'none', entry: string): { found?: { timeZone: string }; doubts: Doubt[] } {
    if (zone === 'none') return this.#guessedZone(entry);
    const offsets = [...new Set(this.#offsets.values())];
    const [first = 0] = offsets;
    const months = new Set([...this.#offsets.keys()].map((day) => new Date(day * DAY_MS).getUTCMonth()));
    if (offsets.length === 1) {
      const timeZone = formatOffset(first);
      const isBothSeasons = [0, 6].every((month) => months.has(month));
      const reason = `only ${timeZone} was seen, and not in both January and July; is it the same all year?`;
      return { found: { timeZone }, doubts: isBothSeasons ? [] : [{ entry: `${entry}.timeZone`, reason }] };
    }
    const zones = Intl.supportedValuesOf('timeZone').filter((name) => this.#fits(name));
    const [timeZone] = zones;
    if (timeZone === undefined) {
      const seen = offsets.map(formatOffset).join(', ');
      return { doubts: [{ entry: `${entry}.timeZone`, reason: `no time zone has the offsets ${seen} on these days` }] };
    }
    const more = zones.slice(0, 5).join(', ');
    const doubt = { entry: `${entry}.timeZone`, reason: `${zones.length} time zones fit: ${more}; choose one` };
    return { found: { timeZone }, doubts: zones.length === 1 ? [] : [doubt] };
  }

  /** On a day of a clock change, both offsets are right. */
  #fits(timeZone: string): boolean {
    for (const [day, minutes] of this.#offsets) {
      const ends = [offsetAt(timeZone, day * DAY_MS), offsetAt(timeZone, (day + 1) * DAY_MS - 1)];
      if (!ends.includes(minutes)) return false;
    }
    return true;
  }

  /** A message is older than the answer, so the newest message gives the least possible offset. */
  #guessedZone(entry: string): { found?: { timeZone: string }; doubts: Doubt[] } {
    const quarters = Math.ceil(this.#aheadMs / (15 * MINUTE_MS));
    const isFresh = quarters * 15 * MINUTE_MS - this.#aheadMs <= FRESH_MS;
    if (!isFresh || Math.abs(quarters) > 14 * 4) {
      return { doubts: [{ entry: `${entry}.timeZone`, reason: 'dates have no zone; say in which zone they are' }] };
    }
    const timeZone = formatOffset(quarters * 15);
    const reason = `guessed from the newest message, ${timeZone}; is it right, also in the other half of the year?`;
    return { found: { timeZone }, doubts: [{ entry: `${entry}.timeZone`, reason }] };
  }
}

const ENDS: Record<DateForm['zone'], string> = { Z: 'Z', offset: 'an offset', none: 'no zone' };

const kindOf = (zone: string): DateForm['zone'] => {
  if (zone === '') return 'none';
  return zone === 'Z' ? 'Z' : 'offset';
};

function minutesOf(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const mixed = (entry: string): Doubt => ({
  entry: `${entry}.fractionDigits`,
  reason: 'fractions have several lengths, and some end with 0; look at the old server',
});
const few = (entry: string, total: number): Doubt => ({
  entry: `${entry}.fractionDigits`,
  reason: `all ${total} dates have as many digits, maybe by chance; record more`,
});
