import { decodeXml } from '../../src/asmx/protocols/encoding.ts';
import { parseMediaType } from '../../src/asmx/protocols/media-type.ts';
import { readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import { Problem } from '../../src/base/problem.ts';
import { LIMITS } from '../../test/support/limits.ts';
import type { Random } from '../../test/support/random.ts';
import { readWithSaxes, saxesTrims } from '../../test/support/saxes.ts';
import { envelope } from './envelope-grammar.ts';
import { createExaminer, demandSame } from './oracles.ts';
import { requestParts } from './request-parts.ts';
import { type FuzzedRequest, openService } from './service.ts';
import { demand, shown, type Target } from './target.ts';
import { rewritten } from './xml-rewriting.ts';

/** An envelope, and what else is sent that must have the same answer: the same again, or the same in other bytes. */
interface Envelope extends FuzzedRequest {
  readonly variant: 'none' | 'encoding' | 'spelling';
}
const VARIANTS = ['none', 'encoding', 'spelling'] as const;

/** SOAP 1.1 and SOAP 1.2, from bytes to the answer, in process. */
export const envelopes: Target<Envelope> = {
  name: 'envelopes',
  generate: (random: Random) => ({ variant: random.pick(VARIANTS), ...envelope(random) }),
  async open(engine) {
    const service = await openService(engine);
    const examiner = await createExaminer(service);
    return {
      async examine({ variant, ...request }) {
        const first = await examiner.send(request);
        const text = textOf(request);
        const tree = text === null ? null : agreedTree(text);
        const base = first.changed || variant === 'none' ? await examiner.repeat(request, first) : first;
        if (base && text !== null && variant === 'encoding') {
          const wide = await examiner.send(inUtf16(request, text));
          demandSame(base, wide, 'the encoding of a request changes its answer', 'UTF-16 with a byte order mark');
        }
        const other = base && tree && variant === 'spelling' && rewritten(tree);
        if (other) {
          const again = await examiner.send(inUtf8(request, other));
          demandSame(base, again, 'another spelling of the same XML has another answer', shown(other));
        }
        return first.label;
      },
      finish: examiner.finish,
      isChanged: examiner.isChanged,
      close: service.close,
    };
  },
  ...requestParts(),
};

/** What the service reads, where its bytes are text. */
function textOf({ headers, body }: FuzzedRequest): string | null {
  try {
    return decodeXml(Buffer.from(body, 'latin1'), parseMediaType(headers['content-type']).parameters.charset);
  } catch {
    return null;
  }
}

/** What our reader takes, saxes takes too, and as the same tree. What saxes takes and we refuse is for test/asmx/xml. */
function agreedTree(text: string): XmlElement | null {
  let ours: XmlElement;
  try {
    ours = readXml(text, LIMITS);
  } catch (thrown) {
    demand(thrown instanceof Problem, 'the XML reader throws', () => String(thrown));
    return null;
  }
  let theirs: XmlElement | null = null;
  try {
    theirs = readWithSaxes(text);
  } catch (thrown) {
    demand(false, 'XML is read that saxes refuses', () => `${(thrown as Error).message} ${shown(text)}`);
  }
  const [one, other] = [ours, theirs as XmlElement].map((tree) => JSON.stringify(comparable(tree)));
  demand(one === other || saxesTrims(text), 'XML is read otherwise than by saxes', () => `\n  ${one}\n  ${other}`);
  return ours;
}

const comparable = ({ uri, local, text, commented, attributes, children }: XmlElement): unknown => [
  ...[uri, local, text, commented, attributes.map((each) => [each.uri, each.local, each.value]).sort()],
  children.map(comparable),
];

/** A byte order mark says it, whatever the Content-Type does. */
function inUtf16(request: FuzzedRequest, text: string): FuzzedRequest {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return withBody(request, '', text.length % 2 === 0 ? bytes : bytes.swap16());
}

const inUtf8 = (request: FuzzedRequest, text: string): FuzzedRequest =>
  withBody(request, '; charset=utf-8', Buffer.from(text));

function withBody({ headers, ...request }: FuzzedRequest, charset: string, bytes: Buffer): FuzzedRequest {
  const { type, parameters } = parseMediaType(headers['content-type']);
  const action = parameters.action === undefined ? '' : `; action="${parameters.action.replace(/["\\]/g, '\\$&')}"`;
  return {
    ...request,
    headers: { ...headers, 'content-type': type + charset + action },
    body: bytes.toString('latin1'),
  };
}
