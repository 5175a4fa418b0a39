/** Counts as people read them. */

export const grouped = (value: number | bigint | string): string => BigInt(value).toLocaleString('en');

/** `1 message`, `2,000 messages`. */
export const counted = (count: number | bigint, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${BigInt(count) === 1n ? one : many}`;
