/** Told when a statement of the database begins, by its name. */
export type Watch = (name: string, kind: 'read' | 'write' | 'transaction') => Watched;

export interface Watched {
  /** For what is done inside of it. Without one, nobody wants to know. */
  readonly within?: Watch | undefined;
  ended(failed: boolean): void;
}
