import type { Random } from '../../test/support/random.ts';
import { ACME } from '../../test/support/service.ts';
import { answersIn, type HttpAnswer } from './http-answers.ts';
import { createWire, type Heard, type Talk } from './http-conversation.ts';
import { framingOf } from './http-framing.ts';
import { talkOf } from './http-grammar.ts';
import { LEAKS } from './oracles.ts';
import { MARKER, openService } from './service.ts';
import { demand, shown, type Target } from './target.ts';

const PROBE_EVERY = 25;

/** HTTP over a real socket: whatever comes, the server stays up, and every request has its one answer. */
export const http: Target<Talk> = {
  name: 'http',
  generate: (random: Random) => talkOf(random),
  async open(engine) {
    const service = await openService(engine);
    const wire = createWire(Number(new URL(await service.app.start()).port));
    let count = 0;
    const loose: unknown[] = [];
    const onLoose = (reason: unknown) => void loose.push(reason);
    process.on('unhandledRejection', onLoose);
    process.on('uncaughtException', onLoose);

    const probe = async () => {
      const path = `/api/inbox.asmx/CountRead?user_id=${ACME}`;
      const pieces = [`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`];
      const { bytes } = await wire.talk({ pieces, ending: 'end' });
      demand(/^HTTP\/1\.1 200 OK\r\n.*<long /s.test(bytes), 'the server does not answer any more', () => shown(bytes));
    };
    return {
      async examine(talk) {
        service.logged.length = 0;
        const heard = await wire.talk(talk);
        const label = judge(talk, heard);
        demand(service.logged.length === 0, 'the service logs an error', () => service.logged.join(''));
        demand(loose.length === 0, 'an error that nobody handles', () => String((loose[0] as Error)?.stack));
        if (++count % PROBE_EVERY === 0) await probe();
        return label;
      },
      finish: probe,
      isChanged: () => false, // to no rule here the data matters
      async close() {
        process.off('unhandledRejection', onLoose);
        process.off('uncaughtException', onLoose);
        wire.close();
        await service.close();
      },
    };
  },
  *without(talk) {
    if (talk.pieces.length > 1) yield { ...talk, pieces: [talk.pieces.join('')] };
    if (talk.ending !== 'end') yield { ...talk, ending: 'end' };
  },
  texts: (talk) =>
    talk.pieces.map((text, index) => ({
      text,
      with: (less) => ({ ...talk, pieces: talk.pieces.with(index, less) }),
    })),
};

const STATUSES = [100, 200, 308, 400, 403, 404, 405, 408, 413, 415, 417, 431, 500, 503];

function judge({ pieces, ending }: Talk, { bytes, methods, isReset }: Heard): string {
  const { whole, rest, headOfRest } = framingOf(pieces.join(''));
  const seen = `the server saw ${methods.length} requests, there are ${whole.length} and then ${rest}`;
  demand(
    rest === 'odd' || methods.length <= whole.length + (headOfRest ? 1 : 0),
    'a request that nobody sent',
    () => seen,
  );
  if (ending === 'break off') return 'broken off';

  const answers = answersIn(bytes, methods);
  for (const answer of answers) judgeOne(answer);
  const finals = answers.filter(({ status }) => status >= 200);
  const got = () => `${seen}; answers: ${answers.map(({ status }) => status).join(' ')}`;
  if (rest !== 'odd') {
    const more = rest === 'open' || rest === 'closed' ? 0 : 1;
    demand(finals.length <= whole.length + more, 'more answers than requests', got);
    demand(finals.length >= whole.length || isReset, 'a request without answer', got);
  }
  // To a client that has said all at once that it is done, the end of the connection is refusal enough.
  if (rest === 'refused' && !isReset && ending === 'end') {
    const last = finals.at(-1)?.status ?? 0;
    demand(finals.length > whole.length && last >= 400, 'what is in doubt is not refused', got);
  }
  return `${rest}: ${finals.at(-1)?.status ?? 'nothing'}`;
}

function judgeOne({ status, headers, text }: HttpAnswer): void {
  demand(STATUSES.includes(status), 'an unknown status', () => `${status} ${shown(text)}`);
  demand(!text.includes(MARKER), "another account's data is in the answer", () => shown(text));
  if (status === 500) demand(/<\/\w+:Fault>/.test(text), 'an answer to a mistake of our own', () => shown(text));
  if (status < 400) return;
  const leak = LEAKS.find((pattern) => pattern.test(text));
  demand(!leak, 'a refusal gives away how the service works', () => `${leak} in ${shown(text)}`);
  if (status === 405) demand(headers.has('allow'), '405 without Allow', () => shown(text));
}
