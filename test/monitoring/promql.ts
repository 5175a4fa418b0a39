/** As much of PromQL as rules and dashboards are written in: https://prometheus.io/docs/prometheus/latest/querying/basics/ */
export interface Selected {
  readonly metric: string;
  /** Label names that it is asked for by, with the values where they are given as they are. */
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
  readonly isRange: boolean;
}

export interface Query {
  readonly selected: readonly Selected[];
  /** Labels of by (…) and without (…). */
  readonly grouped: readonly string[];
}

/** What each takes: a range, or values of one moment. */
const FUNCTIONS: Readonly<Record<string, 'range' | 'instant'>> = {
  ...{
    rate: 'range',
    irate: 'range',
    increase: 'range',
    delta: 'range',
    min_over_time: 'range',
    max_over_time: 'range',
  },
  ...{
    avg_over_time: 'range',
    sum_over_time: 'range',
    histogram_quantile: 'instant',
    absent: 'instant',
    abs: 'instant',
  },
  clamp_min: 'instant',
  clamp_max: 'instant',
  vector: 'instant',
  scalar: 'instant',
  time: 'instant',
};
const AGGREGATIONS = ['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk', 'quantile', 'stddev', 'group'];
const OPERATORS = [['or'], ['and', 'unless'], ['==', '!=', '<=', '<', '>=', '>'], ['+', '-'], ['*', '/', '%'], ['^']];

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([a-zA-Z_:][\w:]*)|(\[(?:\d+(?:ms|s|m|h|d|w|y))+\]|\[\$__rate_interval\])|(\d+(?:\.\d+)?(?:e-?\d+)?)|(==|!=|<=|>=|=~|!~|[-+*/%^<>=(){},]))/y;

/** Throws an Error that says where it is wrong. */
export function parseQuery(text: string): Query {
  const tokens = tokensOf(text);
  const selected: Selected[] = [];
  const grouped: string[] = [];
  let at = 0;

  const fail = (what: string): never => {
    throw new Error(`${text}: expected ${what}, not ${tokens[at] ?? 'the end'} (token ${at + 1})`);
  };
  const take = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at += 1;
    return true;
  };
  const need = (token: string) => take(token) || fail(token);
  const word = (what: string): string => (/^[a-zA-Z_:]/.test(tokens[at] ?? '') ? (tokens[at++] as string) : fail(what));

  function expression(level = 0): boolean {
    if (level === OPERATORS.length) return unary();
    let isRange = expression(level + 1);
    while (OPERATORS[level]?.includes(tokens[at] ?? '')) {
      at += 1;
      if (isRange || expression(level + 1)) fail('values of one moment on both sides');
      isRange = false;
    }
    return isRange;
  }

  function unary(): boolean {
    if (take('-') || take('+')) return unary();
    if (take('(')) {
      const isRange = expression();
      need(')');
      return isRange;
    }
    if (/^[\d"']/.test(tokens[at] ?? '')) {
      at += 1;
      return false;
    }
    const name = word('a metric, a function or a number');
    if (AGGREGATIONS.includes(name)) return aggregation();
    if (tokens[at] === '(') return call(name);
    return selector(name);
  }

  function call(name: string): boolean {
    const takes = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : fail(`a known function, which ${name} is not`);
    const given = list();
    if (name !== 'time' && given.at(-1) !== (takes === 'range')) fail(`another argument for ${name}`);
    return false;
  }

  function aggregation(): boolean {
    const before = grouping();
    if (list().includes(true)) fail('values of one moment');
    if (!before) grouping();
    return false;
  }

  function grouping(): boolean {
    if (!take('by') && !take('without')) return false;
    need('(');
    while (!take(')')) {
      grouped.push(word('a label'));
      if (tokens[at] !== ')') need(',');
    }
    return true;
  }

  /** Of each argument, whether it is a range. */
  function list(): boolean[] {
    const given: boolean[] = [];
    need('(');
    while (!take(')')) {
      given.push(expression());
      if (tokens[at] !== ')') need(',');
    }
    return given;
  }

  function selector(metric: string): boolean {
    const matchers: { label: string; operator: string; value: string }[] = [];
    if (take('{')) {
      while (!take('}')) {
        const label = word('a label');
        const operator = ['=', '!=', '=~', '!~'].find(take) ?? fail('a comparison');
        const quoted = tokens[at++] ?? '';
        if (!/^["']/.test(quoted)) fail('a text');
        matchers.push({ label, operator, value: quoted.slice(1, -1) });
        if (tokens[at] !== '}') need(',');
      }
    }
    const isRange = /^\[/.test(tokens[at] ?? '');
    if (isRange) at += 1;
    selected.push({ metric, matchers, isRange });
    return isRange;
  }

  if (expression()) fail('values of one moment');
  if (at < tokens.length) fail('the end');
  return { selected, grouped };
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) throw new Error(`${text}: what is ${JSON.stringify(text.slice(from, from + 20))}?`);
    tokens.push(found[0].trim());
  }
  return tokens;
}
