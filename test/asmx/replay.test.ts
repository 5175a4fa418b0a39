import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import { type Exchange, exchanges, type HttpMessage } from '../support/cases.ts';
import { onOneEngine } from '../support/engines.ts';
import { type Service, startService } from '../support/service.ts';
import { exchangeMessage } from '../support/socket.ts';

/**
 * Where Columba answers otherwise than the ASMX server that was recorded, and why. Each is the expected status with the
 * expected body, or the recorded body with what differs in it replaced.
 */
interface Exception {
  readonly cases: RegExp;
  readonly why: string;
  readonly status?: number;
  readonly body?: (recorded: string) => string;
  readonly type?: string;
  readonly cache?: string;
}

const refusal = (status: number, message: string, why: string, cases: RegExp): Exception => ({
  cases,
  why,
  status,
  type: 'text/plain; charset=utf-8',
  cache: 'private',
  body: () => `${message}\n`,
});
const fault = (
  code: string,
  message: string,
  why: string,
  cases: RegExp,
  wrap: (fault: string) => string,
): Exception => ({
  cases,
  why,
  status: 500,
  cache: 'private',
  body: () => wrap(`<error xmlns="http://sms.example/api"><code>${code}</code><message>${message}</message></error>`),
});
const START = (uri: string) =>
  `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${uri}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soap:Body>`;
const END = '</soap:Body></soap:Envelope>';

const NEGATIVE = 'max_count: must not be negative';
const NEGATIVE_WHY = 'a negative max_count is an error, not an empty list';
const EMPTY_WHY = 'an empty template is an error, and so is not saved';
const UNCARRIED_WHY = 'characters that XML 1.0 cannot carry leave as U+FFFD, so that the answer stays well-formed';

const EXCEPTIONS: readonly Exception[] = [
  refusal(400, NEGATIVE, NEGATIVE_WHY, /^negative-cap\.(get|post)$/),
  fault(
    'bad-argument',
    NEGATIVE,
    NEGATIVE_WHY,
    /^negative-cap\.soap11$/,
    (detail) =>
      `${START('http://schemas.xmlsoap.org/soap/envelope/')}<soap:Fault><faultcode>soap:Client</faultcode><faultstring>${NEGATIVE}</faultstring><detail>${detail}</detail></soap:Fault>${END}`,
  ),
  fault(
    'bad-argument',
    NEGATIVE,
    NEGATIVE_WHY,
    /^negative-cap\.soap12$/,
    (detail) =>
      `${START('http://www.w3.org/2003/05/soap-envelope')}<soap:Fault><soap:Code><soap:Value>soap:Sender</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">${NEGATIVE}</soap:Text></soap:Reason><soap:Detail>${detail}</soap:Detail></soap:Fault>${END}`,
  ),
  refusal(400, 'message: a template cannot be empty', EMPTY_WHY, /^text-empty\.1-save$/),
  {
    cases: /^text-empty\.2-list\./,
    why: EMPTY_WHY,
    body: (recorded) => recorded.replace(/>\s*<string \/>\s*<\/(ArrayOfString|FetchSavedMessagesResult)>/, ' />'),
  },
  {
    cases: /^text-(control|u-ffff)/,
    why: UNCARRIED_WHY,
    body: (recorded) => recorded.replace(/&#x[0-9A-F]+;/g, '\uFFFD'),
  },
  {
    cases: /^text-crlf-tab\.2-list/,
    why: 'a carriage return survives the round trip: bare, every parser would read it as a line feed',
    body: (recorded) => recorded.replaceAll('\r', '&#xD;'),
  },
];

function expected(name: string, response: HttpMessage) {
  const recorded = response.body.toString('utf8');
  const exception = EXCEPTIONS.find(({ cases }) => cases.test(name));
  return {
    status: exception?.status ?? Number(response.start.split(' ')[1]),
    type: exception?.type ?? response.headers['content-type'],
    cache: exception?.cache ?? response.headers['cache-control'],
    body: exception?.body?.(recorded) ?? recorded,
  };
}

async function inProcess(service: Service, { request }: Exchange) {
  const [method = '', target = ''] = request.start.split(' ');
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  const { status, headers, text } = await service.send({
    method,
    path,
    query,
    headers: request.headers,
    bytes: request.body,
  });
  return { status, type: headers['Content-Type'], cache: headers['Cache-Control'], body: text };
}

const WAYS = ['in process', 'over a socket'] as const;
type Way = (typeof WAYS)[number];

/** Each service listens from the first time on that somebody asks. */
const addresses = new WeakMap<Service, Promise<string>>();
function addressOf(service: Service): Promise<string> {
  const address = addresses.get(service) ?? service.app.start();
  addresses.set(service, address);
  return address;
}

async function overSocket(address: string, { raw }: Exchange) {
  const { start, headers, body } = await exchangeMessage(address, raw);
  return {
    status: Number(start.split(' ')[1]),
    type: headers['content-type'],
    cache: headers['cache-control'],
    body: body.toString('utf8'),
  };
}

/** A file with a number after the dot goes on with the data of the file before it. */
function stories(folder: string): Exchange[][] {
  const groups = new Map<string, Exchange[]>();
  for (const exchange of exchanges(folder)) {
    const story =
      exchange.name.includes('.1-') || exchange.name.includes('.2-') ? exchange.name.split('.')[0] : exchange.name;
    groups.set(story as string, [...(groups.get(story as string) ?? []), exchange]);
  }
  return [...groups.values()];
}

const CHANGES = Object.values(contract).flatMap((group) =>
  Object.entries(group).flatMap(([name, { changes }]) => (changes ? [name] : [])),
);
const mayChange = (story: Exchange[]): boolean => story.some(({ raw }) => CHANGES.some((name) => raw.includes(name)));

onOneEngine('recorded answers of an ASMX server', (engine) => {
  /** Stories that only read share a service: a start takes longer than a story. */
  let shared: Service;
  before(async () => {
    shared = await startService(engine);
  });
  after(() => shared.stop());

  async function replay(service: Service, story: Exchange[], way: Way): Promise<void> {
    const address = way === 'over a socket' ? await addressOf(service) : '';
    for (const exchange of story) {
      const answer = address ? await overSocket(address, exchange) : await inProcess(service, exchange);
      assert.deepEqual(answer, expected(exchange.name, exchange.response), `${exchange.name} ${way}`);
    }
  }

  for (const folder of ['ops', 'shapes']) {
    for (const story of stories(folder)) {
      test(`${folder}/${story[0]?.name} is answered with the same bytes`, async () => {
        for (const way of WAYS) {
          const service = mayChange(story) ? await startService(engine) : shared;
          try {
            await replay(service, story, way);
          } finally {
            if (service !== shared) await service.stop();
          }
        }
      });
    }
  }

  test('the recordings cover 32 operations in 4 protocols, and every exception names one of them', () => {
    assert.equal(exchanges('ops').length, 128);
    const names = exchanges('shapes').map(({ name }) => name);
    for (const { cases, why } of EXCEPTIONS)
      assert.ok(
        names.some((name) => cases.test(name)),
        why,
      );
  });
});
