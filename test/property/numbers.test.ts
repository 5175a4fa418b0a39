import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type CountryCode, getCountries, getExampleNumber, type PhoneNumber } from 'libphonenumber-js/min';
import examples from 'libphonenumber-js/mobile/examples';
import { numberEnd, numberKey, sameNumber } from '../../src/sms/numbers.ts';
import { anyText, runs } from './arbitraries.ts';

const countries = getCountries();
const numberOf = (country: CountryCode) => getExampleNumber(country, examples) as PhoneNumber;

/** What names a number wherever it is read. */
const international = (number: PhoneNumber): string[] => {
  const digits = number.number.slice(1);
  return [
    number.number,
    `00${digits}`,
    ` ${digits}`,
    number.formatInternational(),
    number.getURI(),
    `+${digits} ext. 12`,
  ];
};
/** What names it in its own country too. */
const local = (number: PhoneNumber): string[] => [
  ...[number.number.slice(1), number.nationalNumber, number.formatNational()],
  number.formatInternational().replace(/^\+/, ''),
];
const arabic = (text: string) => text.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)));

/** The one that is looked for finds the other, as it is found in the database and compared. */
const finds = (text: string, other: string, region: string | null): boolean => {
  const { ends, matches } = sameNumber(text, region);
  return ends.includes(numberEnd(other)) && matches(other);
};

describe('numbers of every country', () => {
  test('every notation of a mobile number has one key in its own country, and finds every other', () => {
    for (const country of countries) {
      const number = numberOf(country);
      const texts = [...international(number), ...local(number), arabic(number.number)];
      for (const text of texts) assert.equal(numberKey(text, country), number.number, `${country} ${text}`);
      for (const text of texts) {
        for (const other of texts) assert.ok(finds(text, other, country), `${country} ${text} finds ${other}`);
      }
    }
  });

  test('without a region every international notation has one key, with plus sign, 00 or neither', () => {
    for (const country of countries) {
      const number = numberOf(country);
      for (const text of [...international(number), number.number.slice(1)]) {
        assert.equal(numberKey(text, null), number.number, `${country} ${text}`);
        assert.ok(finds(text, number.number, null), `${country} ${text}`);
      }
    }
  });

  test('an international notation is the same number whatever the region is', () => {
    for (const country of countries) {
      const number = numberOf(country);
      for (const region of ['ZA', 'GB', 'US', 'DE', 'BR', 'JP', 'FK', country]) {
        for (const text of international(number)) {
          assert.equal(numberKey(text, region), number.number, `${country} ${text} in ${region}`);
        }
      }
    }
  });
});

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 20 });
const someNumber = fc.oneof(
  fc.constantFrom(...countries).chain((country) => {
    const number = numberOf(country);
    const { countryCallingCode: code, nationalNumber } = number;
    const other = digits.map((end) => `${code}${nationalNumber}`.slice(0, -end.length) + end);
    return fc.oneof(fc.constantFrom(...international(number), ...local(number)), other);
  }),
  digits,
);
const sign = fc.constantFrom('', '', '+', '00', '0', ' ', '011', 'tel:', '\uff0b', '(');
const filler = fc.constantFrom('', '', '', ' ', '-', '.', '/', '(', ')', '\u00a0', '\u2011');
const region = fc.option(fc.constantFrom(...countries));

describe('any number', () => {
  test('two texts that name one number in any region share an ending under which one finds the other', () => {
    const pair = fc.tuple(someNumber, sign, sign, fc.nat({ max: 4 }), region);
    fc.assert(
      fc.property(pair, ([number, one, two, cut, from]) => {
        const [text, other] = [one + number, two + number.slice(cut)];
        if (numberKey(text, from) === numberKey(other, from)) assert.ok(finds(text, other, from), `${text} ${other}`);
      }),
      runs(2_000),
    );
  });

  test('punctuation and blanks between digits change neither the key nor the ending of a number', () => {
    const spaced = fc.tuple(digits, fc.array(filler, { maxLength: 20 }), fc.constantFrom('', '+'), region);
    fc.assert(
      fc.property(spaced, ([number, fillers, plus, from]) => {
        const text = plus + [...number].map((digit, at) => digit + (fillers[at] ?? '')).join('');
        assert.equal(numberKey(text, from), numberKey(plus + number, from));
        assert.equal(numberEnd(text), numberEnd(plus + number));
      }),
      runs(500),
    );
  });

  test('any text matches itself, and its ending is short', () => {
    fc.assert(
      fc.property(anyText(), region, (text, from) => {
        assert.ok(finds(text, text, from));
        assert.ok([...numberEnd(text)].length <= 6);
      }),
      runs(500),
    );
  });
});
