import { type Answer, verdictOf } from './answers.ts';
import { readCallback } from './callback-reading.ts';
import type { Mistake, ProviderFile } from './form.ts';

/** Runs the examples of a file without a network: they must become what the file expects. */

const AT = 0;
const ATTEMPT_ID = '0'.repeat(32);
const setting = (): undefined => undefined;

export function exampleMistakes(file: ProviderFile): Mistake[] {
  const { answers = [], callbacks = [] } = file.examples ?? {};
  return [
    ...answers.flatMap(({ expect, ...example }, index) => {
      const { result, gatewayId, reason } = verdictOf(file, answerOf(example), { attemptId: ATTEMPT_ID, setting });
      return differences(expect, { result, gatewayId, reason }, ['examples', 'answers', index]);
    }),
    ...callbacks.flatMap(({ expect, ...example }, index) => {
      const at = ['examples', 'callbacks', index];
      const read = readExample(file, example);
      if (read === null) return [{ path: at, message: 'no callback of the file fits this example' }];
      const items = [
        ...read.receipts.map((each) => ({ is: 'receipt', ...each })),
        ...read.messages.map((each) => ({ is: 'incoming', ...each })),
      ];
      if (items.length !== expect.length)
        return [{ path: at, message: `this example gives ${items.length} entries, and ${expect.length} are expected` }];
      return expect.flatMap((each, item) => differences(each, items[item] ?? {}, [...at, 'expect', item]));
    }),
  ];
}

type Example = NonNullable<ProviderFile['examples']>;
type AnswerExample = Omit<Example['answers'][number], 'expect'>;
type CallbackExample = Omit<Example['callbacks'][number], 'expect'>;

export function answerOf({ status, headers = {}, body }: AnswerExample): Answer {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return { status, headers: lower, body: bodyOf(body) };
}

const bodyOf = (body: unknown): Buffer =>
  Buffer.from(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body), 'utf8');

function readExample({ callbacks }: ProviderFile, example: CallbackExample) {
  const { path, query = '', form, json, text = '', headers = {} } = example;
  const type =
    form !== undefined ? 'application/x-www-form-urlencoded' : json !== undefined ? 'application/json' : 'text/plain';
  const fields = new Map([['content-type', type]]);
  for (const [name, value] of Object.entries(headers)) fields.set(name.toLowerCase(), value);
  const candidates = callbacks.filter((each) => each.path === path);
  const received = {
    method: example.method ?? 'POST',
    header: (name: string) => fields.get(name.toLowerCase()),
    query,
    body: form !== undefined ? Buffer.from(form, 'latin1') : bodyOf(json ?? text),
  };
  return readCallback(candidates, received, { connector: '', now: AT, setting: () => 'x' });
}

/** Only what the example names is compared. */
function differences(expect: object, found: object, path: readonly PropertyKey[]): Mistake[] {
  return Object.entries(expect).flatMap(([field, wanted]) => {
    const own = (found as Record<string, unknown>)[field] ?? null;
    const isSame = JSON.stringify(own) === JSON.stringify(wanted ?? null);
    return isSame ? [] : [{ path: [...path, field], message: `this becomes ${JSON.stringify(own)}` }];
  });
}
