import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dateFormat } from '../../src/asmx/dialect/date-form.ts';
import type { DateForm } from '../../src/asmx/dialect/dialect.ts';
import { DatesLearner } from '../../src/migration/learn/learn-dates.ts';

const DAY_MS = 86_400_000;
const YEAR = Array.from({ length: 365 }, (_, day) => Date.UTC(2026, 0, 1, 9, 30, 15, 120) + day * DAY_MS);

function learn(form: DateForm, instants: readonly number[]) {
  const learner = new DatesLearner();
  const format = dateFormat(form);
  for (const at of instants) learner.see(format(at));
  return learner.learned('dates');
}

describe('dates in recordings', () => {
  test('dates with Z and trimmed digits are those of Columba, so the dialect says nothing', () => {
    const { form, uncertain } = learn(
      { zone: 'Z' },
      YEAR.flatMap((at) => [at, at + 3, at + 880]),
    );
    assert.deepEqual([form, uncertain], [undefined, []]);
  });

  for (const timeZone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe']) {
    test(`dates with the offsets of a year find a time zone like ${timeZone}`, () => {
      const { form, uncertain } = learn({ zone: 'offset', timeZone, fractionDigits: 7 }, YEAR);
      assert.equal(form?.zone, 'offset');
      assert.equal(form?.fractionDigits, 7);
      const written = dateFormat({ zone: 'offset', timeZone });
      const found = dateFormat({ zone: 'offset', timeZone: form?.timeZone as string });
      for (const at of YEAR) assert.equal(found(at), written(at));
      for (const { reason } of uncertain) assert.match(reason, /time zones fit: .*; choose one$/);
    });
  }

  test('dates with one offset all year have that offset in the dialect', () => {
    const { form, uncertain } = learn({ zone: 'offset', timeZone: 'Africa/Johannesburg', fractionDigits: 3 }, YEAR);
    assert.deepEqual(form, { zone: 'offset', timeZone: '+02:00', fractionDigits: 3 });
    assert.deepEqual(uncertain, []);
  });

  test('dates with one offset of a single month leave the rest of the year uncertain', () => {
    const { uncertain } = learn({ zone: 'offset', timeZone: 'Europe/Berlin' }, YEAR.slice(0, 20));
    assert.match(uncertain.map(({ reason }) => reason).join(), /only \+01:00 was seen/);
  });

  test('dates without a fraction have none in the dialect, which is certain only after many', () => {
    const whole = YEAR.map((at) => at - (at % 1_000));
    assert.deepEqual(learn({ zone: 'Z' }, whole).form, { zone: 'Z', fractionDigits: 0 });
    assert.deepEqual(learn({ zone: 'Z' }, whole).uncertain, []);
    assert.equal(learn({ zone: 'Z' }, whole.slice(0, 5)).uncertain[0]?.entry, 'dates.fractionDigits');
  });

  test('dates of two forms are reported with their counts', () => {
    const learner = new DatesLearner();
    for (const at of YEAR) learner.see(dateFormat({ zone: 'Z', fractionDigits: 0 })(at));
    learner.see('2026-01-01T00:00:00+02:00');
    const { form, uncertain } = learner.learned('dates');
    assert.equal(form?.zone, 'Z');
    assert.ok(uncertain.some(({ reason }) => reason === '1 dates end with an offset'));
  });

  test('text that is no date is not counted', () => {
    const learner = new DatesLearner();
    learner.see('yesterday');
    assert.deepEqual(learner.learned('dates'), { form: undefined, findings: [], uncertain: [] });
  });
});
