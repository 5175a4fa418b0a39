import { once } from 'node:events';
import type { z } from 'zod';
import type { Action, Input } from '../operator/action.ts';
import { type RawInput, readInput } from '../operator/input.ts';
import { jsonSchema } from '../operator/openapi-schemas.ts';
import type { Performed } from '../operator/perform.ts';
import { aligned } from './columns.ts';
import { harmless, remarkOnTerminal } from './output.ts';

/** Prints the output of an action, for people or as JSON. */

type Json = Readonly<Record<string, unknown>>;
type Print = (line: string) => void;

export function printOutput(
  action: Action,
  output: unknown,
  raw: RawInput,
  { asJson, print }: { readonly asJson: boolean; readonly print: Print },
): void {
  if (asJson || !isObject(output)) {
    print(JSON.stringify(output, null, 2));
    return;
  }
  const said = action.command.say?.(decoded(action.output, output), readInput(action, raw) as Input);
  const lines = said === undefined ? fieldLines(withoutFormerNames(action, output)) : said.split('\n').map(harmless);
  for (const line of lines) print(line);
}

/** Why nothing was done; null if something was. */
export const refusalOf = (action: Action, output: unknown): string | null =>
  action.command.refusal?.(decoded(action.output, output)) ?? null;

const decoded = (schema: z.ZodType | null, output: unknown): unknown => schema?.parse(output);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** For people, each field is printed once, under its current name. */
export function withoutFormerNames({ output: schema }: Action, output: Json): Json {
  const strip = ({ properties = {} }: { readonly properties?: Record<string, Json> }, fields: Json): Json =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([name]) => properties[name]?.deprecated !== true)
        .map(([name, value]) => [name, isObject(value) ? strip(properties[name] ?? {}, value) : value]),
    );
  return schema === null ? output : strip(jsonSchema(schema), output);
}

/** A line for each field that has a value. Fields of a nested object have its name as a prefix. */
export function fieldLines(output: Json, prefix = ''): string[] {
  return Object.entries(output).flatMap(([name, value]) => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return [];
    if (isObject(value)) return fieldLines(value, `${prefix}${name}.`);
    return [`${prefix}${name}: ${cell(value)}`];
  });
}

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value))
    return harmless(value.map((item) => (isObject(item) ? JSON.stringify(item) : String(item))).join());
  return harmless(isObject(value) ? JSON.stringify(value) : String(value));
};

interface ListOptions {
  readonly asJson: boolean;
  readonly limit: number;
  readonly print: Print;
  readonly read: (query: Readonly<Record<string, string>>) => Promise<Performed>;
}

const PAGE = 500;

/** Prints page by page, so that a list may be larger than memory. */
export async function printList(action: Action, { asJson, limit, print, read }: ListOptions): Promise<void> {
  const writer = asJson ? jsonWriter(print) : tableWriter(action, print);
  let left = limit;
  let after: string | null = null;
  do {
    const size = Math.min(left, PAGE);
    const { output } = await read({ limit: String(size), ...(after !== null && { after }) });
    const { items, next } = output as { items: Json[]; next: string | null };
    writer.page(items);
    left -= items.length;
    after = next;
  } while (after !== null && left > 0);
  writer.end(after);
}

interface ListWriter {
  page(items: readonly Json[]): void;
  end(next: string | null): void;
}

/** One item per line, inside an object like the answer of the API. */
function jsonWriter(print: Print): ListWriter {
  const lines: string[] = [];
  let begun = false;
  const flush = (last: boolean) => {
    if (!begun) print('{"items":[');
    begun = true;
    for (const [index, line] of lines.entries()) print(last && index === lines.length - 1 ? line : `${line},`);
    lines.length = 0;
  };
  return {
    page(items) {
      if (lines.length > 0) flush(false);
      for (const item of items) lines.push(JSON.stringify(item));
    },
    end(next) {
      flush(true);
      print(`],"next":${JSON.stringify(next)}}`);
    },
  };
}

/** On a terminal in columns with a header; elsewhere with tabs, for other programs. */
function tableWriter(action: Action, print: Print): ListWriter {
  const { columns, row, rows: several } = action.command;
  const itemSchema = (action.output as unknown as { shape: { items: { element: z.ZodType } } }).shape.items.element;
  const linesOf = (item: Json, names: readonly string[]): string[][] => {
    if (several) return several(decoded(itemSchema, item) as never).map((cells) => cells.map(harmless));
    return [row ? row(decoded(itemSchema, item) as never).map(harmless) : names.map((name) => cell(item[name]))];
  };
  const isTerminal = process.stdout.isTTY === true;
  let headed = false;
  return {
    page(items) {
      const [first] = items;
      if (!first) return;
      const names = columns ?? Object.keys(first);
      const rows = items.flatMap((item) => linesOf(item, names));
      if (!isTerminal) {
        headed = true;
        for (const cells of rows) print(cells.join('\t').trimEnd());
        return;
      }
      const head = headed ? [] : [names.map((name) => name.toUpperCase())];
      headed = true;
      // A terminal that does not know its width says 0, for example in a container.
      for (const line of aligned([...head, ...rows], process.stdout.columns || undefined)) print(line);
    },
    end() {
      if (headed) return;
      if (isTerminal) print('There are none.');
      else remarkOnTerminal('There are none.'); // a pipe gets nothing, and the person who typed it is told
    },
  };
}

export async function printStream(stream: AsyncIterable<string>): Promise<void> {
  for await (const piece of stream) if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
}
