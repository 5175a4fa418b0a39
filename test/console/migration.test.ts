import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { addClients, addFigures } from '../support/migration-counts.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** The operator's screen of a migration. */

onOneEngine('the screen of a migration', (engine) => {
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

  test('the screen of a migration shows the verdict by its rules, the counts of each operation, differences and known differences', async (t) => {
    const { api, client } = await opened(t);
    assert.match((await client.get(HERE)).text, /Not safe yet.*No call was seen yet.*No answer differs/s);
    await addFigures(api);
    const { text } = await client.get(HERE);
    assert.match(text, /No different answer<\/th><td><span class="chip bad">.*?No</);
    assert.match(text, /inbox\.Unread.*soap11.*1,234.*32 ms.*2\.0 ms/s);
    assert.match(text, /sent\.FetchSentDS.*data-l="Different"><span class="bad">2</s);
    assert.match(text, /column status: old DELIVRD, ours DELIVERED/);
    assert.match(text, /header-date<\/code><\/th><td class="num" data-l="Times">102/);
    const part = await client.get(`${HERE}?part=counts`);
    assert.match(part.headers.get('etag') ?? '', /^"/);
    assert.doesNotMatch(part.text, /<html|<select/);
    const printed = await client.get(`${HERE}/report?days=30`);
    assert.match(printed.text, /Migration report.*by the last 30 days.*FetchSentDS/s);
  });

  test('a stage changes after a question that names both stages, and the question before leaving alone says what is lost', async (t) => {
    const { api, client } = await opened(t);
    const move = (stage: string, fields: Record<string, string> = {}) =>
      client.post(`${HERE}/stage`, { username: 'acme', stage, ...fields });
    assert.match((await move('lead')).text, /Move acme from record to lead\?.*way back loses nothing/s);
    assert.equal(await stageOf(api, 'acme'), undefined);
    assert.equal((await move('lead', { confirmed: 'yes' })).location, `${HERE}?notice=staged`);
    assert.equal(await stageOf(api, 'acme'), 'lead');
    assert.match((await move('alone')).text, /no way back from the stage alone without loss/);
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
    await createMigrationCounts(database, now).add([{ operation, protocol: 'get', name: 'unknown', total: 3 }], []);
    const { text } = await client.get(HERE);
    assert.match(text, /Operations that only the old server has are accepted<\/th><td><span class="chip bad">.*?No</);
    assert.match(
      text,
      /value="compose\.SendMessage"><span><code>compose\.SendMessage<\/code> <span class="quiet">3 calls/,
    );
    await client.post(`${HERE}/accept`, { operation, confirmed: 'yes' });
    assert.match((await client.get(HERE)).text, /No client called such an operation, or all are accepted/);
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
    const why = 'They send <no> groups.';
    const done = await client.post(`${HERE}/accept`, { operation, confirmed: 'yes', reason: why });
    assert.equal(done.location, `${HERE}?notice=accepted&count=2`);
    const { text } = await client.get(HERE);
    assert.match(text, /account\.FetchGroups<\/code><\/th><td data-l="By"><bdi>ann/);
    assert.match(text, /data-l="Reason">They send &#60;no&#62; groups\./);
    assert.doesNotMatch(text, /name="operation" value="account\.FetchGroups"><span><code>/);
    await client.post(`${HERE}/withdraw`, { operation: 'account.FetchGroups' });
    assert.match((await client.get(HERE)).text, /name="operation" value="account\.FetchGroups"><span><code>/);
  });

  test('the screen of a migration is for operators only', async (t) => {
    const { api } = await opened(t);
    const customer = await signedIn(api, { username: 'acme' });
    for (const path of [HERE, `${HERE}/report`]) assert.equal((await customer.get(path)).status, 404);
    assert.equal((await customer.post(`${HERE}/stage`, { username: 'acme', stage: 'lead' })).status, 404);
  });

  test('the screen of a migration begins with the next step, what blocks it, and its commands', async (t) => {
    const { api, client } = await opened(t);
    const first = await client.get(HERE);
    assert.match(
      first.text,
      /Next step.*Not yet.*Stage 1: record a normal week.*No proxy has seen a call.*columba migrate proxy --old/s,
    );
    await addClients(api);
    const { text } = await client.get(HERE);
    assert.match(text, /Stage 2: copy the accounts.*A user_id of a client has no account/s);
    assert.match(text, /3 clients of the old server, 1 not seen for 7 days/);
    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'lead' } });
    assert.match((await client.get(HERE)).text, /data-l="Days">0<.*In this stage for 0 of 14 days/s);
  });

  test('the clients of the old server are listed with what they call, and filtered by account and silence', async (t) => {
    const { api, client } = await opened(t);
    assert.match((await client.get(`${HERE}/clients`)).text, /No client was seen yet/);
    await addClients(api);
    const { text } = await client.get(`${HERE}/clients`);
    assert.match(text, /MS Web Services Client Protocol.*10\.0\.0\.17.*acme.*inbox\.Unread soap11: 2,880</s);
    assert.match(text, /account-00000000000000bb<\/code> <small class="bad">no account of Columba has this user_id/);
    assert.match(text, /not seen for 9 days/);
    const silent = (await client.get(`${HERE}/clients?silent=7`)).text;
    assert.match(silent, /Invoices\/1\.0/);
    assert.doesNotMatch(silent, /MS Web Services/);
    assert.equal((await client.get(`${HERE}/clients?silent=no`)).status, 200);
    assert.doesNotMatch((await client.get(`${HERE}/clients?username=acme`)).text, /PHP-SOAP/);
  });

  test('a rule of a client is set and removed on its screen, and a mistake is shown at its field', async (t) => {
    const { client } = await opened(t);
    const wrong = await client.post(`${HERE}/clients`, { name: 'invoices', stage: 'lead', address: '10.0.0.300' });
    assert.deepEqual([wrong.status, /Address or network: expected an address/.test(wrong.text)], [400, true]);
    const set = await client.post(`${HERE}/clients`, { name: 'invoices', stage: 'lead', address: '10.0.0.17' });
    assert.equal(set.location, `${HERE}/clients?notice=set`);
    assert.match(
      (await client.get(`${HERE}/clients`)).text,
      /invoices.*10\.0\.0\.17.*every account.*lead: Columba answers/s,
    );
    await client.post(`${HERE}/clients/remove`, { name: 'invoices' });
    assert.match((await client.get(`${HERE}/clients`)).text, /There is no rule/);
  });

  test('the report to print begins with the stage and the days of each account, what blocks, and who accepted what', async (t) => {
    const { api } = await opened(t);
    await addClients(api);
    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'compare' } });
    const why = { reason: 'No program of ours has groups.' };
    await act(api, 'migrate accept', { params: { operation: 'account.FetchGroups' }, body: why });
    api.clock.now += 3 * 86_400_000;
    const client = await signedIn(api, { operator: 'bob' });
    const { text } = await client.get(`${HERE}/report`);
    assert.match(text, /What is next.*Accounts.*<strong>1<\/strong> in compare.*Days in each stage/s);
    assert.match(
      text,
      /<th scope="row">acme<\/th><td class="whole">compare<\/td><td class="whole">2026-11-15<\/td><td>compare 3<\/td>/,
    );
    assert.match(text, /In this stage for 3 of 7 days/);
    assert.match(
      text,
      /Accepted by a person.*2026-11-15, because: No program of ours has groups\.: <code>account\.FetchGroups<\/code>/s,
    );
    assert.match(text, /acme to compare by /);
    assert.match(text, /<h2 class="details">Rules/);
  });
});
