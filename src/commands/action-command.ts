import { readFile, stat } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { Problem } from '../base/problem.ts';
import type { Action, Services } from '../operator/action.ts';
import type { Actor } from '../operator/actor.ts';
import {
  argumentName,
  type CommandField,
  type CommandShape,
  commandLine,
  commandShape,
  flagName,
  listValue,
} from '../operator/command-line.ts';
import type { RawInput } from '../operator/input.ts';
import { type Performed, perform } from '../operator/perform.ts';
import { printList, printOutput, printStream, refusalOf } from './action-output.ts';
import { offering } from './completion.ts';
import { examples } from './help-text.ts';
import { requireFile } from './input-file.ts';
import { remark } from './output.ts';
import { readSecret, readSecrets } from './secret-input.ts';

/** An action as a command: arguments and options in, a table or JSON out. */
export interface CommandDependencies {
  /**
   * Opens the database for one command. Creates it only for commands that may begin a new
   * installation.
   */
  readonly withServices: (
    command: Command,
    options: { readonly creates: boolean; readonly needsNoDatabase?: boolean },
    work: (services: Services) => Promise<void>,
  ) => Promise<void>;
  readonly print: (line: string) => void;
  readonly actor: Actor;
}

export type Options = Readonly<Record<string, unknown>>;

export function actionCommand(
  action: Action,
  { withServices, print, actor }: CommandDependencies,
  name = action.name,
): Command {
  const shape = commandShape(action);
  const { secretsIn } = action.command;
  const [noun = '', verb = noun] = name.split(' ');
  const command = new Command(verb).description(summaryOf(action));
  for (const field of shape.arguments) {
    command.argument(field.isRequired ? `<${argumentName(field)}>` : `[${argumentName(field)}]`, field.description);
  }
  if (action.upload) command.argument('<FILE>', 'a file, or - for standard input');
  for (const field of shape.options) {
    const option = optionOf({ ...field, description: withFlags(field.description, shape) });
    command.addOption(option.hideHelp(field.replacedBy !== null));
    // If a value is required, "no" must be possible.
    if (field.kind === 'flag' && field.isRequired) command.option(`--no-${flagName(field.name)}`, 'the opposite');
  }
  for (const { name, description } of shape.secrets) {
    command.option(`--${flagName(name)}-stdin`, `${withoutStop(description)}: from standard input, or asked for`);
  }
  if (secretsIn) {
    const told = `ask for the secrets of --${flagName(secretsIn.field)}, or read them from standard input, one per line`;
    command.option(`--${flagName(secretsIn.field)}-secrets`, told);
  }
  if (action.position !== null) command.option('--limit <N>', 'largest number of items; all if it is not given');
  if (!action.download) command.option('--json', 'print the answer of the API as JSON, for programs');
  const more = action.description === undefined ? '' : `\n${withFlags(action.description, shape)}\n`;
  command.addHelpText('after', () => `${more}${examples(commandLine(action))}`);
  command.action(async (...given) => {
    const invoked = given.at(-1) as Command;
    const options: Options = invoked.opts();
    if (name !== action.name) warnOfName(`columba ${name}`, `columba ${action.name}`);
    for (const field of shape.options) {
      if (field.replacedBy !== null && options[camel(field.name)] !== undefined)
        warnOfName(`--${flagName(field.name)}`, `--${flagName(field.replacedBy)}`);
    }
    const raw = await rawInput(action, shape, invoked.args, options);
    const { creates = false, needsNoDatabase = false } = action.command;
    await withServices(invoked, { creates, needsNoDatabase }, async (services) => {
      const file = action.upload ? invoked.args[shape.arguments.length] : undefined;
      await run({ action, services, raw, actor, options, print, file: file === '-' ? 'standard input' : file }, shape);
    });
  });
  return command;
}

const warnOfName = (former: string, name: string): void =>
  remark(`columba: ${former} is now called ${name}. The next version will not accept the former name.`);

interface Run {
  readonly action: Action;
  readonly services: Services;
  readonly raw: RawInput;
  readonly actor: Actor;
  readonly options: Options;
  readonly print: (line: string) => void;
  /** The name of an uploaded file. */
  readonly file: string | undefined;
}

async function run({ action, services, raw, actor, options, print, file }: Run, shape: CommandShape): Promise<void> {
  const asJson = options.json === true;
  const read = (more: RawInput['query'] = {}): Promise<Performed> =>
    performForPeople(services, action, { ...raw, query: { ...raw.query, ...more } }, actor, shape, file);
  if (action.position !== null) {
    await printList(action, { asJson, limit: limitOf(options.limit), print, read });
    return;
  }
  const { output, stream } = await read();
  if (stream) return printStream(stream);
  const refusal = refusalOf(action, output);
  if (refusal === null || asJson) printOutput(action, output, raw, { asJson, print });
  if (refusal !== null) throw new Problem('bad-argument', refusal);
}

/** Performs an action. Errors name fields as the command does: --priority instead of #/priority. */
export async function performForPeople(
  services: Services,
  action: Action,
  raw: RawInput,
  actor: Actor,
  shape: CommandShape = commandShape(action),
  file = 'FILE',
): Promise<Performed> {
  try {
    return await perform(services, action, raw, actor);
  } catch (thrown) {
    if (!(thrown instanceof Problem) || !thrown.details.errors) throw thrown;
    const lines = thrown.details.errors.map(
      ({ pointer, detail }) => `${isOfFile(pointer, action) ? file : wordOf(pointer, shape)}: ${detail}`,
    );
    throw new Problem(thrown.kind, lines.join('\n'));
  }
}

/** The body is the file. An error names the row that is wrong. */
const isOfFile = (pointer: string, { upload }: Action): boolean => Boolean(upload) && pointer.startsWith('#');

function wordOf(pointer: string, { arguments: words, options, secrets }: CommandShape): string {
  const [, name = pointer, inside = ''] = /^(?:#\/|\?|\{)(\w+)(?:\/(.+))?/.exec(pointer) ?? [];
  const argument = words.find((field) => field.name === name);
  if (argument) return argumentName(argument);
  const isJson = options.some((field) => field.name === name && field.kind === 'json');
  const flag = `--${flagName(name)}${secrets.some((field) => field.name === name) ? '-stdin' : ''}`;
  return isJson && inside !== '' ? `${flag} ${inside}` : flag;
}

function limitOf(given: unknown): number {
  if (given === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(String(given))) {
    throw new Problem('bad-argument', '--limit: expected a whole number from 1 to 999999999');
  }
  return Number(given);
}

async function rawInput(action: Action, shape: CommandShape, words: string[], options: Options): Promise<RawInput> {
  const parts = {
    params: {} as Record<string, string>,
    query: {} as Record<string, unknown>,
    body: {} as Record<string, unknown>,
  };
  for (const [index, field] of shape.arguments.entries()) {
    const word = words[index];
    if (word !== undefined) parts[field.where][field.name] = inputValue(field, word) as string;
  }
  for (const field of shape.options) {
    const given = options[camel(field.name)];
    if (given !== undefined) parts[field.where][field.name] = await optionValue(field, given);
  }
  await takeInnerSecrets(action, parts.body, options);
  for (const field of shape.secrets) {
    if (options[`${camel(field.name)}Stdin`])
      parts[field.where][field.name] = await readSecret(flagName(field.name), `--${flagName(field.name)}-stdin`);
  }
  const file = action.upload ? words[shape.arguments.length] : undefined;
  const upload = file === undefined ? new Uint8Array() : await readUpload(file, action.upload?.bytesMax ?? 0);
  return { ...parts, body: action.body ? parts.body : undefined, upload };
}

/** JSON may come from a file or from standard input, because it may contain secrets. */
async function optionValue(field: CommandField, given: unknown): Promise<unknown> {
  const text = String(given);
  if (field.kind === 'file') return Buffer.from(await readUpload(text, JSON_BYTES_MAX)).toString('utf8');
  if (field.kind !== 'json' || !(text === '-' || text.startsWith('@'))) return inputValue(field, given);
  const bytes = await readUpload(text === '-' ? text : text.slice(1), JSON_BYTES_MAX);
  return inputValue(field, Buffer.from(bytes).toString('utf8'));
}

/** The JSON of an option that is no field of an action. */
export async function readJsonOption(name: string, given: string): Promise<Record<string, unknown>> {
  const field = { name, kind: 'json', where: 'body', isNullable: false } as CommandField;
  const value = await optionValue(field, given);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Problem('bad-argument', `--${name}: expected a JSON object`);
}

const JSON_BYTES_MAX = 1_048_576;

/** Refuses secrets on the command line, and asks for those that `--…-secrets` requests. */
async function takeInnerSecrets(
  { command: { secretsIn } }: Action,
  body: Record<string, unknown>,
  options: Options,
): Promise<void> {
  if (!secretsIn) return;
  const { field } = secretsIn;
  const names = secretsIn.names(body);
  const flag = `--${flagName(field)}`;
  const isInline = !/^(?:-$|@)/.test(String(options[camel(field)] ?? '{}'));
  const value = body[field] ?? {};
  const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const shown = isInline ? names.find((name) => isIn(given, name)) : undefined;
  if (shown !== undefined) {
    const ways = `Write ${flag} @FILE or ${flag} - for standard input, or leave it out and add ${flag}-secrets.`;
    throw new Problem('bad-argument', `${flag} ${shown}: a secret on the command line is seen by others. ${ways}`);
  }
  if (!options[`${camel(field)}Secrets`]) return;
  const read = Object.entries(await readSecrets(names));
  body[field] = read.reduce((value, [name, secret]) => withInner(value, name, secret), given);
}

/** Names may be of an inner object: `secrets.apiKey`. */
const isIn = (given: Readonly<Record<string, unknown>>, name: string): boolean => {
  const [first = '', inner] = name.split('.', 2);
  return Object.hasOwn(given, first) && (inner === undefined || Object.hasOwn(Object(given[first]), inner));
};

function withInner(given: Record<string, unknown>, name: string, secret: string): Record<string, unknown> {
  const [first = '', inner] = name.split('.', 2);
  return { ...given, [first]: inner === undefined ? secret : { ...Object(given[first]), [inner]: secret } };
}

/** The name under which commander keeps the value of an option. */
const camel = (name: string): string => flagName(name).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The value as it would be in the JSON or the query of the API. */
function inputValue({ kind, where, isNullable, name }: CommandField, given: unknown): unknown {
  if (kind === 'flag') return where === 'query' ? String(given === true) : given === true;
  if (kind === 'texts') return given;
  const text = String(given);
  if (isNullable && (text === '' || text === 'null')) return null;
  if (kind === 'integer' && where !== 'query') return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (kind === 'list') {
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  }
  return kind === 'json' ? readJson(name, text) : text;
}

function readJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('bad-argument', `--${flagName(name)}: expected JSON`);
  }
}

function optionOf(field: CommandField): Option {
  const flag = `--${flagName(field.name)}`;
  const choices = field.choices.length > 0 && field.kind !== 'flag' ? ` (${field.choices.join(', ')})` : '';
  const repeated = {
    list: '; separate values by commas, or repeat the option',
    texts: '; repeat the option for each value',
  };
  const description = `${withoutStop(field.description)}${choices}${field.kind in repeated ? repeated[field.kind as keyof typeof repeated] : ''}`;
  if (field.kind === 'flag') return new Option(flag, description);
  const value = { integer: 'N', list: 'LIST', json: 'JSON|@FILE|-', text: 'TEXT', texts: 'TEXT', file: 'FILE|-' }[
    field.kind
  ];
  const option = offering(new Option(`${flag} <${value}>`, description), field.choices).makeOptionMandatory(
    field.isRequired,
  );
  if (field.kind === 'texts') return option.argParser((text, before: string[] = []) => [...before, text]);
  return field.kind === 'list' ? option.argParser(listValue()) : option;
}

/** Descriptions name fields as the API does, in backticks. In a command they are options. */
const withFlags = (sentence: string, { options }: CommandShape): string =>
  sentence.replace(/`(\w+)`/g, (quoted, name: string) =>
    options.some((field) => field.name === name) ? `--${flagName(name)}` : quoted,
  );

export const summaryOf = ({ summary }: Action): string => withoutStop(summary);

const withoutStop = (sentence: string): string =>
  sentence.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

async function readUpload(file: string, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = () => new Problem('too-large', `${file}: more than ${bytesMax} bytes`);
  if (file !== '-') {
    requireFile(file);
    if ((await stat(file)).size > bytesMax) throw tooLarge();
    return readFile(file);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    length += (chunk as Buffer).length;
    if (length > bytesMax) throw tooLarge();
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
