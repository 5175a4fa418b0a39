import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Engine, engines } from '../../support/engines.ts';
import { type Service, startService } from '../../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../../support/socket.ts';

let service: Service;
let address: string;
before(async () => {
  service = await startService(engines[0] as Engine);
  address = await service.app.start();
});
after(() => service.stop());

for (const host of ['a:99999', '256.256.256.256', '1.2.3.4.5', '99999999999', '[1]']) {
  test(`a Host that cannot be part of a URL gets a page with our own address, not an internal error: ${host}`, async () => {
    const head = [`Host: ${host}`, 'Connection: close'];
    const answer = await exchangeMessage(address, requestBytes('GET /api/inbox.asmx?op=Unread HTTP/1.1', head));
    assert.ok([200, 400].includes(statusOf(answer)), textOf(answer));
    if (statusOf(answer) === 200) assert.ok(textOf(answer).includes(new URL(address).host));
  });
}
