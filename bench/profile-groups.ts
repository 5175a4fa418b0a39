/** A profile of V8's, by what the functions belong to. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds on the machine's own clock, and from each sample to the next. */
  readonly startTime: number;
  readonly timeDeltas: readonly number[];
}
interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

const SOCKETS = 'sockets, streams, the event loop';
const SQLITE = 'SQLite';
const XML = 'reading XML';
const ENCODING = 'encoding';
const ROUTING = 'routing and forms';
const DOMAIN = 'operations and domain';
const GC = 'garbage collection';
const REST = 'the rest';
export const GROUPS = [SOCKETS, SQLITE, XML, ENCODING, ROUTING, DOMAIN, GC, REST] as const;
export type Group = (typeof GROUPS)[number];

/** The first that fits. What fits none, such as a buffer or a hash, belongs to whoever has called it. */
const PLACES: readonly (readonly [RegExp, Group])[] = [
  [/^node:(_?http|net|internal\/(http|net|stream|streams|server)|stream|_stream)/, SOCKETS],
  [/\/src\/store\//, SQLITE],
  [/\/src\/asmx\/xml\/(?!escape)/, XML],
  [/\/src\/asmx\/(xml\/escape|results\/|contract\/|dialect\/)/, ENCODING],
  [/\/src\/(asmx\/operations|domain|sms)\//, DOMAIN],
  [/\/src\/|\/node_modules\//, ROUTING],
];

export interface SelfTimes {
  readonly groups: ReadonlyMap<Group, number>;
  /** Longest first. */
  readonly functions: readonly { readonly label: string; readonly group: Group; readonly us: number }[];
}

/** In microseconds, from one time to another, without the time in which there was nothing to do. */
export function selfTimes({ nodes, samples, startTime, timeDeltas }: CpuProfile, from: number, to: number): SelfTimes {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const groups = new Map<Group, number>();
  const functions = new Map<string, { label: string; group: Group; us: number }>();
  let at = startTime;
  for (const [index, sample] of samples.entries()) {
    const node = byId.get(sample);
    const us = timeDeltas[index] ?? 0;
    at += us;
    if (!node || node.callFrame.functionName === '(idle)' || at < from || at > to) continue;
    const group = groupOf(node);
    groups.set(group, (groups.get(group) ?? 0) + us);
    const label = labelOf(node);
    const known = functions.get(`${label} ${group}`) ?? { label, group, us: 0 };
    known.us += us;
    functions.set(`${label} ${group}`, known);
  }
  return { groups, functions: [...functions.values()].sort((a, b) => b.us - a.us) };

  function groupOf(node: ProfileNode): Group {
    const { functionName, url } = node.callFrame;
    if (functionName === '(garbage collector)') return GC;
    // Outside of JavaScript and called by nobody in it: the event loop, which reads, writes and polls.
    if (functionName === '(program)') return SOCKETS;
    const place = PLACES.find(([pattern]) => pattern.test(url));
    if (place) return place[1];
    const parent = byId.get(parents.get(node.id) ?? -1);
    return parent ? groupOf(parent) : REST;
  }
}

const labelOf = ({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string => {
  const file = url.replace(/^.*\/(src|node_modules)\//, '$1/');
  return `${functionName || '(anonymous)'}${file ? ` ${file}:${lineNumber + 1}` : ''}`;
};
