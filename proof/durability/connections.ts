import assert from 'node:assert/strict';
import type { Program } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';
import { openConnection, requestBytes, statusOf } from '../../test/support/socket.ts';

/** Connections in the states in which a process that ends finds them. */
export const COUNT = requestBytes(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`, ['Host: sms.example']);
const BODY = `user_id=${ACME}&message=slow`;

/** A connection on which the head of a call and half of its body have arrived. */
export async function halfCall(program: Program) {
  const connection = await openConnection(program.address);
  const fields = ['Host: sms.example', 'Content-Type: application/x-www-form-urlencoded', 'Expect: 100-continue'];
  const length = `Content-Length: ${BODY.length}`;
  await connection.send(requestBytes('POST /api/account.asmx/SaveMessageTemplate HTTP/1.1', [...fields, length]));
  assert.equal(statusOf(await connection.receive()), 100); // so the server has it
  await connection.send(BODY.slice(0, 20));
  return { ...connection, finish: () => connection.send(BODY.slice(20)) };
}

/** A connection that has been used and is kept. */
export async function keptConnection(program: Program) {
  const connection = await openConnection(program.address);
  await connection.send(COUNT);
  const answer = await connection.receive();
  assert.deepEqual([statusOf(answer), answer.headers.connection], [200, 'keep-alive']);
  return connection;
}
