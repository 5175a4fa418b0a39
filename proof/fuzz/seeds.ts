import { exchanges } from '../../test/support/cases.ts';
import type { FuzzedRequest } from './service.ts';

/** Requests that were recorded, to start from. */
export interface Seed extends FuzzedRequest {
  /** As it went over the wire, one character a byte. */
  readonly raw: string;
}

export const seeds: readonly Seed[] = ['ops', 'shapes', 'field'].flatMap(exchanges).map(({ raw, request }) => {
  const [method = '', target = ''] = request.start.split(' ');
  const [path = '', query = ''] = target.split('?');
  const kept = ['content-type', 'soapaction'].filter((name) => request.headers[name] !== undefined);
  return {
    method,
    path,
    query,
    raw: raw.toString('latin1'),
    body: request.body.toString('latin1'),
    headers: Object.fromEntries(kept.map((name) => [name, request.headers[name] as string])),
  };
});

/** Some that read much, as requests. */
export const popular = (among: readonly Seed[]): readonly FuzzedRequest[] =>
  among
    .filter(({ path, body }) =>
      /Unread|FetchContacts|FetchSavedMessages|InboxDS|FetchSentDS|FetchScheduledDS/.test(path + body),
    )
    .filter((_, index) => index % 3 === 0)
    .map(({ raw: _, ...request }) => request);

export const soapSeeds = seeds.filter(({ path, method }) => method === 'POST' && path.endsWith('.asmx'));
export const formSeeds = seeds.filter(({ path }) => !path.endsWith('.asmx'));
