/** One setting: its environment variable, its default, and what it means. */
export interface Setting<T> {
  readonly variable: string;
  readonly fallback: string;
  readonly meaning: string;
  /** Throws an Error that says what would be right. */
  readonly parse: (text: string) => T;
  /** Not to be shown. */
  readonly secret?: boolean;
  /** For paths: the same value for whoever starts in another folder than this one. */
  readonly within?: (value: string, folder: string) => string;
}

export const setting = <T>(
  variable: string,
  fallback: string,
  meaning: string,
  parse: (text: string) => T,
): Setting<T> => ({
  ...{ variable, fallback, meaning, parse },
});

export const wholeNumber =
  (least: number, most: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`expected a whole number from ${least} to ${most}`);
    }
    return number;
  };
