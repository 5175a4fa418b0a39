import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';
import { startSmsc } from '../support/smsc.ts';

onOneEngine('connector test', (engine) => {
  test('connector test finds no mistake in a right connector, and explains a wrong password in words', async (t) => {
    const smsc = await startSmsc();
    t.after(() => smsc.close());
    const bench = await openActions(engine, t);
    const params = { name: 'carrier' };
    const config = { host: '127.0.0.1', port: smsc.port, systemId: 'esme', password: 'secret', window: 10 };
    const put = await bench.run('connector put', { params, body: { kind: 'smpp', config, submissionsMax: 5 } });
    assert.equal(put.config.password, '…');
    const right = await bench.run('connector test', { params });
    assert.deepEqual([right.works, right.mistakes], [true, []]);
    assert.match(right.notes.join('\n'), /room for 10 submissions, and submissionsMax allows 5\./);
    assert.match(right.notes.join('\n'), /takes us as a transceiver, calls itself smsc/);
    smsc.bindStatus = 0x0e;
    const wrong = await bench.run('connector test', { params });
    assert.equal(wrong.works, false);
    assert.match(wrong.mistakes[0], /the password is wrong\. Compare the password/);
    assert.equal(smsc.submitted.length, 0, 'nothing is submitted');
  });

  test('connector test answers 404 for an unknown connector, and finds no mistake in a loopback', async (t) => {
    const bench = await openActions(engine, t);
    await assert.rejects(bench.run('connector test', { params: { name: 'nobody' } }), { kind: 'not-found' });
    await bench.run('connector put', { params: { name: 'own' }, body: { kind: 'loopback' } });
    const { works, mistakes } = await bench.run('connector test', { params: { name: 'own' } });
    assert.deepEqual([works, mistakes], [true, []]);
  });
});
