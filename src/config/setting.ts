/** One setting: its environment variable, its default, and what it means. */
export interface Setting<T> {
  readonly variable: string;
  readonly fallback: string;
  readonly meaning: string;
  /** Throws an Error that says what was expected. */
  readonly parse: (text: string) => T;
  /** Writes a value as `parse` reads it; without it, String does. */
  format?(value: T): string;
  /** The value is never printed. */
  readonly secret?: boolean;
  /** False: there is no flag, because other users of the machine can read command lines. */
  readonly hasFlag?: boolean;
  /** The variable of an earlier version. It is still read, with a warning, for one version. */
  readonly formerly?: string;
  /** For paths: resolves a relative path against a folder. */
  readonly within?: (value: string, folder: string) => string;
}

export const setting = <T>(
  variable: string,
  fallback: string,
  meaning: string,
  parse: (text: string) => T,
): Setting<T> => ({ variable, fallback, meaning, parse });

export const wholeNumber =
  (least: number, most: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`expected a whole number from ${least} to ${most}`);
    }
    return number;
  };
