import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMigrationFigures } from '../../src/domain/migration-figures.ts';
import { type OperatorApi, startOperatorApi } from '../operator/operator-api.ts';
import { onEveryEngine } from '../support/engines.ts';
import { act, type ConsoleClient, signedIn } from './console-client.ts';
import { addFigures } from './migration-figures.ts';

/** The operator's screen of a migration. */

onEveryEngine('the screen of a migration', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return { api, client: await signedIn(api, { operator: 'ann' }) };
  }
  const HERE = '/console/migration';
  const stageOf = async (api: OperatorApi, username: string) =>
    (await act<{ items: { username: string; stage: string }[] }>(api, 'migrate stages', {})).items.find(
      (each) => each.username === username,
    )?.stage;

  test('the screen of a migration shows the verdict by its rules, the counts of each operation, differences and masks', async (t) => {
    const { api, client } = await opened(t);
    assert.match((await client.get(HERE)).text, /Not safe yet.*No call was seen yet.*No answer differs/s);
    await addFigures(api);
    const { text } = await client.get(HERE);
    assert.match(text, /No different answer<\/td><td data-label="Met"><span class="bad">no/);
    assert.match(text, /inbox\.Unread.*soap11.*1,234.*32 ms.*2\.0 ms/s);
    assert.match(text, /sent\.FetchSentDS.*data-label="Different"><span class="bad">2</s);
    assert.match(text, /column status: old DELIVRD, ours DELIVERED/);
    assert.match(text, /header-date<\/code><\/td><td data-label="Times">102/);
    const part = await client.get(`${HERE}?part=counts`);
    assert.match(part.headers.get('etag') ?? '', /^"/);
    assert.doesNotMatch(part.text, /<html|<select/);
    const printed = await client.get(`${HERE}/report?days=30`);
    assert.match(printed.text, /Migration report.*by the last 30 days.*FetchSentDS/s);
  });

  test('a stage changes after a question that names both; back from alone it says what is lost', async (t) => {
    const { api, client } = await opened(t);
    const move = (stage: string, fields: Record<string, string> = {}) =>
      client.post(`${HERE}/stage`, { username: 'acme', stage, ...fields });
    assert.match((await move('lead')).text, /Move acme from record to lead\?.*way back loses nothing/s);
    assert.equal(await stageOf(api, 'acme'), undefined);
    assert.equal((await move('lead', { confirmed: 'yes' })).location, `${HERE}?notice=staged`);
    assert.equal(await stageOf(api, 'acme'), 'lead');
    assert.match((await move('alone')).text, /no way leads back without loss/);
    await move('alone', { confirmed: 'yes' });
    const back = await move('compare');
    assert.match(back.text, /Move acme from alone to compare\?.*would be missing there/s);
    assert.match(back.text, /name="force" value="yes"/);
    assert.equal((await move('compare', { confirmed: 'yes' })).status, 400);
    assert.equal(await stageOf(api, 'acme'), 'alone');
    await move('compare', { confirmed: 'yes', force: 'yes' });
    assert.equal(await stageOf(api, 'acme'), 'compare');
    assert.match((await client.get(HERE)).text, /compare: the old server answers, and Columba is compared/);
    assert.match((await client.post(`${HERE}/stage`, { username: 'nobody', stage: 'lead' })).text, /role="alert"/);
    assert.equal((await move('sideways')).status, 400);
    const everybody = await client.post(`${HERE}/stage`, { isDefault: 'yes', stage: 'compare' });
    assert.match(everybody.text, /Move all accounts without a stage of their own from record to compare\?/);
  });

  test('operations that clients call and Columba lacks are shown with their calls, and accepted by name', async (t) => {
    const { api, client } = await opened(t);
    const operation = 'compose.SendMessage';
    const { database, now } = api.services;
    await createMigrationFigures(database, now).add([{ operation, protocol: 'get', name: 'unknown', total: 3 }], []);
    const { text } = await client.get(HERE);
    assert.match(
      text,
      /Operations that only the old server has are accepted<\/td><td data-label="Met"><span class="bad">no/,
    );
    assert.match(text, /value="compose\.SendMessage"> <code>compose\.SendMessage<\/code> <span class="quiet">3 calls/);
    await client.post(`${HERE}/accept`, { operation, confirmed: 'yes' });
    assert.match((await client.get(HERE)).text, /No client called one, or all are accepted/);
  });

  test('operations that nobody called are accepted by name, with who did it, and withdrawn', async (t) => {
    const { api, client } = await opened(t);
    await addFigures(api);
    const operation = ['account.FetchGroups', 'compose.FetchScheduledDS'];
    assert.equal((await client.post(`${HERE}/accept`)).location, `${HERE}?notice=nothing`);
    assert.match(
      (await client.post(`${HERE}/accept`, { operation })).text,
      /Accept that 2 operations were not compared/,
    );
    const done = await client.post(`${HERE}/accept`, { operation, confirmed: 'yes' });
    assert.equal(done.location, `${HERE}?notice=accepted&count=2`);
    const { text } = await client.get(HERE);
    assert.match(text, /account\.FetchGroups<\/code><\/td><td data-label="By"><bdi>ann/);
    assert.doesNotMatch(text, /name="operation" value="account\.FetchGroups"> <code>/);
    await client.post(`${HERE}/withdraw`, { operation: 'account.FetchGroups' });
    assert.match((await client.get(HERE)).text, /name="operation" value="account\.FetchGroups"> <code>/);
  });

  test('the screen of a migration is for operators only', async (t) => {
    const { api } = await opened(t);
    const holder = await signedIn(api, { username: 'acme' });
    for (const path of [HERE, `${HERE}/report`]) assert.equal((await holder.get(path)).status, 404);
    assert.equal((await holder.post(`${HERE}/stage`, { username: 'acme', stage: 'lead' })).status, 404);
  });
});
