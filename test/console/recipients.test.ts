import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

const params = { username: 'practice' };

onOneEngine('recipients by name', (engine) => {
  test('a message is written to names of contacts; a name of several people is answered with who they are', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    for (const [mobile, name, surname] of [
      ['0825550201', 'Thandi', 'Mokoena'],
      ['0825550202', 'Thandi', 'Nkosi'],
      ['0825550203', 'Ingrid', 'Müller'],
    ])
      await act(api, 'contact add', { params, body: { mobile, name, surname } });
    const client = await signedIn(api, params);
    const key = 'a'.repeat(32);
    const checked = async (to: string) => {
      const answer = await client.post('/console/compose/check', { key, to, text: 'Hello' });
      return answer.location === null ? answer : client.get(answer.location);
    };
    const several = await checked('Thandi');
    assert.equal(several.status, 400);
    assert.match(several.text, /Thandi fits more than one contact: Thandi Mokoena 0825550201, Thandi Nkosi 0825550202/);
    const one = await checked('thandi mokoena\nmuller, 082 555 0203');
    assert.match(one.text, /2 messages will go/);
    assert.match(one.text, /1 number more than once/);
    const nobody = await checked('Ingrid\nPeter');
    assert.match(nobody.text, /line 2.*Peter.*1 message will go/s);
  });
});
