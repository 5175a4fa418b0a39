import { exampleMistakes } from './examples.ts';
import type { Callback, Check, Condition, Mistake, ProviderFile, SideRequest, Template, When } from './form.ts';
import { CLASS, listOf } from './sources.ts';
import { MESSAGE_NAMES, namesIn, OPTIONAL_NAMES, type Pieces, parseTemplate, renderBody } from './template.ts';
import { xmlTemplateFault } from './xml.ts';

/** Mistakes of a file that its form alone does not show, each with its place. */
type Place = readonly PropertyKey[];
type Add = (path: Place, message: string) => void;

export function fileMistakes(file: ProviderFile): Mistake[] {
  const mistakes: Mistake[] = [];
  const add: Add = (path, message) => void mistakes.push({ path, message });
  checkTemplates(file, add);
  checkRules(file, add);
  checkCallbacks(file, add);
  checkRepeat(file, add);
  if (mistakes.length === 0) for (const { path, message } of exampleMistakes(file)) add(path, message);
  return mistakes;
}

/** Each text of the file with placeholders, and its place. */
function templatesOf({ request, poll, probe }: ProviderFile): [Place, string][] {
  const { auth } = request;
  const ofRequest = (
    at: Place,
    given: Omit<SideRequest, 'method' | 'auth' | 'expect'> & { text?: string | undefined },
  ) => {
    const { url, headers = {}, query = {}, form = {}, json, xml, text } = given;
    const ofFields = Object.entries({ headers, query, form }).flatMap(([part, fields]) =>
      Object.entries(fields).map(([name, value]): [Place, string] => [[...at, part, name], value]),
    );
    const bodies = Object.entries({ xml, text }).flatMap(([name, value]): [Place, string][] =>
      value === undefined ? [] : [[[...at, name], value]],
    );
    return [[[...at, 'url'], url] as [Place, string], ...ofFields, ...bodies, ...inner(json, [...at, 'json'])];
  };
  const ofSide = (at: Place, side: SideRequest | undefined): [Place, string][] => {
    if (!side) return [];
    const basic: [Place, string][] = typeof side.auth === 'object' ? basicOf([...at, 'auth'], side.auth) : [];
    return [...ofRequest(at, side), ...basic];
  };
  const basicOf = (at: Place, { user, password }: { user: string; password: string }): [Place, string][] => [
    [[...at, 'user'], user],
    [[...at, 'password'], password],
  ];
  return [
    ...ofRequest(['request'], request),
    ...(auth?.kind === 'basic' ? basicOf(['request', 'auth'], auth) : []),
    ...(auth?.kind === 'token' ? ofSide(['request', 'auth', 'request'], auth.request) : []),
    ...ofSide(['poll', 'request'], poll?.request),
    ...ofSide(['probe'], probe),
  ];
}

function inner(template: Template | undefined, at: Place): [Place, string][] {
  if (typeof template === 'string') return [[at, template]];
  if (typeof template !== 'object') return [];
  return Object.entries(template).flatMap(([name, each]) => inner(each as Template, [...at, name]));
}

/** Long runs of letters and digits are keys, not words. */
const SECRET = /(?=[A-Za-z_+/=-]*\d)(?=[\d_+/=-]*[A-Za-z])[A-Za-z0-9_+/=-]{24,}/;
const SECRET_FIELD = /^(?:proxy-)?authorization$|api-?_?key|token|secret|passw/i;

function checkTemplates(file: ProviderFile, add: Add): void {
  const bare = (names: readonly string[]) => names.map((name) => name.replace('?', ''));
  const optional = [
    ...OPTIONAL_NAMES,
    ...file.fields.map((name) => `field.${name}`),
    ...file.settings.filter((name) => name.endsWith('?')).map((name) => `setting.${name.slice(0, -1)}`),
    ...file.secrets.filter((name) => name.endsWith('?')).map((name) => `secret.${name.slice(0, -1)}`),
  ];
  const named = [
    ...bare(file.settings).map((name) => `setting.${name}`),
    ...bare(file.secrets).map((name) => `secret.${name}`),
  ];
  const ofMessage: readonly string[] = [...MESSAGE_NAMES, ...file.fields.map((name) => `field.${name}`)];
  for (const [path, text] of templatesOf(file)) {
    const isOfMessage = path[0] === 'request' && path[1] !== 'auth';
    const names = namesOf(path, text, add);
    for (const name of names) {
      if (named.includes(name) || (isOfMessage && ofMessage.includes(name))) continue;
      const [, kind] = /^(setting|secret|field)\./.exec(name) ?? [];
      if (kind !== undefined && (kind !== 'field' || isOfMessage)) add(path, `${name} is not declared in ${kind}s`);
      else add(path, `there is no placeholder {${name}} here`);
    }
    for (const is of ['receipt', 'incoming'] as const) {
      if (names.includes(`callback.${is}`) && !file.callbacks.some((each) => each.is === is))
        add(path, `{callback.${is}} needs a callback that is ${is}`);
    }
    checkBody(path, text, add);
    const isUrl = path.at(-1) === 'url';
    const absent = isUrl ? names.find((name) => optional.includes(name) || name === 'text') : undefined;
    if (absent !== undefined) add(path, `{${absent}} must not be in the address; put it into query`);
    checkSecrets(path, text, add);
  }
}

function checkSecrets(path: Place, text: string, add: Add): void {
  const literal = text.replace(/\{[^{}]*\}|xmlns(?::\w+)?=["'][^"']*["']/g, ' ');
  const isField = ['headers', 'query', 'form', 'json'].includes(String(path.at(-2)));
  const holdsNone = !/\{(?:secret|setting)\.|\{attemptId/.test(text);
  if (path.at(-1) !== 'url' && SECRET.test(literal))
    add(path, 'this looks like a secret; write {secret.NAME} and name it in secrets');
  else if (isField && SECRET_FIELD.test(String(path.at(-1))) && holdsNone && literal.trim() !== '')
    add(path, 'this field carries a secret; write {secret.NAME} and name it in secrets');
}

/** A body that is one text, of which the last step of the path names the kind. */
function checkBody(path: Place, text: string, add: Add): void {
  const isWhole = ['request', 'probe'].includes(String(path.at(-2)));
  if (isWhole && path.at(-1) === 'text' && text.trimStart().startsWith('<'))
    add(path, 'write a document of XML as xml, so that values in it are encoded');
  // A value with a blank fits into text and quoted attributes alone.
  const fault = isWhole && path.at(-1) === 'xml' ? xmlTemplateFault(renderBody(piecesOf(text), () => 'a b')) : null;
  if (fault !== null) add(path, fault);
}

/** No pieces if the text is wrong, which is told elsewhere. */
function piecesOf(text: string): Pieces {
  try {
    return parseTemplate(text);
  } catch {
    return [];
  }
}

function namesOf(path: Place, text: string, add: Add): string[] {
  try {
    return namesIn(parseTemplate(text));
  } catch (thrown) {
    add(path, (thrown as SyntaxError).message);
    return [];
  }
}

function checkRules({ answer, settings }: ProviderFile, add: Add): void {
  if (!answer.some(({ result }) => result === 'accepted'))
    add(['answer'], 'no rule says accepted, so no message would ever be taken');
  for (const [index, rule] of answer.entries()) {
    const before = answer.findIndex((each, at) => at < index && covers(each.when, rule.when));
    if (before >= 0) add(['answer', index, 'when'], `this rule is never reached: the rule ${before} fits first`);
    for (const field of ['gatewayId', 'reason', 'retryAfter'] as const) {
      for (const source of listOf(rule[field])) {
        const wrong = /^(?:form|query):/.test(source)
          ? 'an answer has no form and no query'
          : settingFault(source, settings);
        if (wrong !== null) add(['answer', index, field], wrong);
      }
    }
    for (const source of Object.keys(rule.when)) {
      if (/^(?:form|query|setting|literal):|^attemptId$/.test(source))
        add(['answer', index, 'when', source], 'expected status, body, header:, json: or any:');
    }
  }
}

const settingFault = (source: string, settings: readonly string[]): string | null => {
  const name = source.startsWith('setting:') ? source.slice('setting:'.length) : undefined;
  return name === undefined || settings.includes(name) || settings.includes(`${name}?`)
    ? null
    : `setting ${name} is not declared in settings`;
};

/** Whether whatever fits the later conditions has fitted the earlier ones. */
const covers = (earlier: When, later: When): boolean =>
  Object.entries(earlier).every(([source, wide]) => {
    const narrow = later[source];
    if (narrow === undefined) return false;
    return manyOf(narrow).every((each) => manyOf(wide).some((own) => includes(own, each)));
  });

const manyOf = (given: Condition | Condition[]): Condition[] => (Array.isArray(given) ? given : [given]);

function includes(wide: Condition, narrow: Condition): boolean {
  if (JSON.stringify(wide) === JSON.stringify(narrow)) return true;
  if (typeof wide === 'object' && wide !== null && 'present' in wide && wide.present) {
    return narrow !== null && narrow !== '' && !(typeof narrow === 'object' && 'present' in narrow);
  }
  if (typeof wide === 'object' || typeof narrow === 'object') return false;
  return String(wide) === String(narrow) || (CLASS.test(String(wide)) && String(narrow)[0] === String(wide)[0]);
}

function checkCallbacks(file: ProviderFile, add: Add): void {
  const { callbacks, receipts, answer } = file;
  const receiving = callbacks.filter(({ is }) => is === 'receipt');
  if (receiving.length === 0 && receipts !== 'none')
    add(['callbacks'], 'there is no callback for receipts; write "receipts": "none" if the provider sends none');
  if (receiving.length > 0 && receipts === 'none') add(['receipts'], 'there is a callback for receipts');
  const hasIds = answer.some(({ gatewayId }) => gatewayId !== undefined);
  for (const [index, callback] of callbacks.entries()) {
    const at = ['callbacks', index];
    const first = callbacks.findIndex(({ path }) => path === callback.path);
    if (JSON.stringify(callbacks[first]?.check) !== JSON.stringify(callback.check))
      add([...at, 'check'], `the callback ${first} has the same path, so it needs the same check`);
    const before = callbacks.findIndex((each, own) => own < index && isBefore(each, callback));
    if (before >= 0) add(at, `this callback is never reached: the callback ${before} fits first`);
    checkKeys(file, callback.check, [...at, 'check'], add);
    checkRead(file, callback, at, add);
    if (callback.is === 'receipt' && callback.read.attemptId === undefined && !(callback.read.gatewayId && hasIds))
      add([...at, 'read'], 'a receipt must name attemptId, or a gatewayId that a rule of answer reads');
  }
}

const isBefore = (earlier: Callback, later: Callback): boolean =>
  earlier.path === later.path &&
  later.methods.every((method) => earlier.methods.includes(method)) &&
  covers(earlier.when ?? {}, later.when ?? {});

function checkKeys({ settings, secrets }: ProviderFile, check: Check, at: Place, add: Add): void {
  const wanted: [string, string, readonly string[]][] = [];
  if (check.kind === 'basic') wanted.push(['user', check.user, settings], ['password', check.password, secrets]);
  if (check.kind === 'header') wanted.push(['secret', check.secret, secrets]);
  if (check.kind === 'hmac' || check.kind === 'jwt-hs256') wanted.push(['key', check.key, secrets]);
  if (check.kind === 'ed25519') wanted.push(['publicKey', check.publicKey, settings]);
  for (const [field, name, names] of wanted) {
    const where = names === secrets ? 'secrets' : 'settings';
    if (!names.includes(name)) add([...at, field], `${name} is not declared in ${where} as one that must be there`);
  }
}

/** Sources that the kind of body never has. */
const ABSENT: Readonly<Record<Callback['body'], RegExp>> = {
  json: /^(?:form|xml):/,
  xml: /^(?:form|json):/,
  form: /^(?:json|xml):/,
  query: /^(?:form|json|xml):/,
  text: /^(?:form|json|xml):/,
  any: /^(?:status|xml:)/,
};

function checkRead({ settings }: ProviderFile, { body, read, when = {}, each }: Callback, at: Place, add: Add): void {
  const all: [Place, string][] = Object.keys(when).map((source) => [[...at, 'when', source], source]);
  for (const [field, sources] of Object.entries(read)) {
    for (const source of listOf(sources)) all.push([[...at, 'read', field], source]);
  }
  for (const [path, source] of all) {
    const isAbsent = ABSENT[body].test(source) || source === 'status' || source === 'attemptId';
    const wrong = isAbsent ? `a callback with the body ${body} has no ${source}` : settingFault(source, settings);
    if (wrong !== null) add(path, wrong);
  }
  if (each !== undefined && body !== 'json' && body !== 'xml')
    add([...at, 'each'], 'only a body of JSON or XML has lists');
}

function checkRepeat({ repeat, request }: ProviderFile, add: Add): void {
  if (!repeat) return;
  const json = typeof request.json === 'object' && !Array.isArray(request.json) ? request.json : {};
  const fields = { ...request.headers, ...request.query, ...request.form, ...json } as Record<string, unknown>;
  if (fields[repeat.field] !== '{attemptId}')
    add(['repeat', 'field'], 'the request has no such field with {attemptId} alone');
}
