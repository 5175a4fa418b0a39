import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import { isUnavailable } from '../../base/problem.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import { unavailable } from '../unavailable.ts';
import { type AskVersions, createVersionQuestions, type VersionOf } from './version-questions.ts';

/**
 * The versions of accounts that are spread over several nodes. While all nodes answer, one question
 * is about accounts of all of them, which takes the least CPU. It waits for every node that it
 * needs, so a node whose network is silent would hold up all accounts until the time-out.
 * Therefore, a question that fails, or is not answered soon, begins a time in which each node has
 * questions of its own: then a node holds up its own accounts only.
 *
 * An account that waited for such a question is asked about again, by one that is sent later. So an
 * answer is never older than the call.
 */
export interface NodeQuestions {
  readonly ask: AskVersions;
  /** The numbers of the nodes that have the accounts. No other node is asked for them. */
  readonly askNodes: AskVersions;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
}

// A question takes some milliseconds. A busy database takes longer; then it gets one question for
// each node at a time, and no more.
const SOON_MS = 100;
// How long nodes are asked apart after the last question that failed or was late.
const APART_MS = 30_000;
// How many questions to nodes that did not answer the last one may be under way. Each of them holds
// a connection of the pool until the time-out, and healthy accounts need the others.
const DOUBTED_MAX = 2;
/** Accounts whose node is known. */
const ACCOUNTS_MAX = 10_000;
/** An account of which no node is known. It does not exist, unless it was added a moment ago. */
const NO_NODE = -1;

export function createVersionsByNode({ ask, askNodes, clock }: NodeQuestions): VersionOf {
  let late = 0;
  let apartUntil = Number.NEGATIVE_INFINITY;
  const nodes = new BoundedMap<string, number>(ACCOUNTS_MAX);
  const questionsOf = new Map<number, VersionOf>();
  const whenDoubted = createSemaphore(DOUBTED_MAX);

  const isApart = (): boolean => late > 0 || clock.monotonic() < apartUntil;

  function noticeTrouble(): void {
    if (!isApart()) nodes.clear(); // shards may have moved since the last time
    apartUntil = clock.monotonic() + APART_MS;
  }

  /** Resolves to undefined if the answer takes longer. */
  async function soon(answer: ReturnType<AskVersions>): Promise<ReadonlyMap<string, number> | undefined> {
    try {
      const versions = await within(clock, SOON_MS, answer, undefined);
      if (versions) return versions;
    } catch (thrown) {
      if (isUnavailable(thrown)) noticeTrouble();
      throw thrown;
    }
    noticeTrouble();
    late += 1;
    const ended = () => {
      late -= 1;
      noticeTrouble();
    };
    answer.then(ended, ended);
    return undefined;
  }

  const together = createVersionQuestions(async (accountIds) => {
    const versions = isApart() ? undefined : await soon(ask(accountIds));
    if (!versions) throw unavailable(new Error('a node of Citus does not answer soon'));
    return versions;
  });

  function createQuestionsOfNode(): VersionOf {
    let isDoubted = false;
    return createVersionQuestions(async (accountIds) => {
      const asked = () => ask(accountIds);
      const answer = isDoubted ? whenDoubted.run(asked) : asked();
      try {
        const versions = (await soon(answer)) ?? (await answer);
        isDoubted = false;
        return versions;
      } catch (thrown) {
        isDoubted = true;
        for (const id of accountIds) nodes.delete(id); // another node may have them
        throw thrown;
      }
    });
  }

  const askNode = createVersionQuestions(askNodes);

  async function nodeOf(account: bigint): Promise<number> {
    const key = String(account);
    const known = nodes.get(key);
    if (known !== undefined) return known;
    const node = (await askNode(account)) ?? NO_NODE;
    nodes.set(key, node);
    return node;
  }

  async function apart(account: bigint): Promise<number | undefined> {
    const node = await nodeOf(account);
    let questions = questionsOf.get(node);
    if (!questions) {
      questions = createQuestionsOfNode();
      questionsOf.set(node, questions);
    }
    return questions(account);
  }

  return (account) =>
    isApart()
      ? apart(account)
      : together(account).catch((thrown) => {
          if (!isUnavailable(thrown)) throw thrown;
          return apart(account);
        });
}
