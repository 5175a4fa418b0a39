import { randomUuid } from '../../base/random.ts';
import { openBoxLink } from './box-link.ts';
import { ACK, type BoxFrame, octetsOf, SMS_TYPE, smsFrame } from './box-protocol.ts';
import { adminOf, type KannelBoxConfig, type KannelDependencies } from './config.ts';
import { RECEIPT_MASK } from './receipts.ts';
import { askStatus, faultsOfRoute, type KannelStatus } from './status.ts';

/** Finds the usual mistakes in the setup of the box port. It sends no message to a phone. */

const LOOKS = 50;
const LOOK_EVERY_MS = 100;

export async function probeBox(config: KannelBoxConfig, deps: KannelDependencies): Promise<string[]> {
  const admin = adminOf(config);
  const status = admin && (await askStatus(deps, admin));
  return [
    ...(await faultsOfLink(config, deps)),
    ...(typeof status === 'string' ? [status] : status ? faultsOfStatus(status, config) : []),
  ];
}

/**
 * Connects as a box of another name and submits a message whose validity is over. bearerbox refuses
 * the message before it looks for a carrier, and the refusal shows that both sides understand each
 * other.
 */
async function faultsOfLink(config: KannelBoxConfig, { now, sleep }: KannelDependencies): Promise<string[]> {
  const peer = `bearerbox at ${config.host}:${config.port}`;
  const frames: BoxFrame[] = [];
  const boxId = octetsOf(`${config.boxId}-check`);
  try {
    const link = await openBoxLink(config, `${config.boxId}-check`, (frame) => frames.push(frame), sleep);
    const seconds = Math.floor(now() / 1000);
    link.send(
      smsFrame({
        sender: octetsOf('check'),
        receiver: octetsOf('+0'),
        body: octetsOf('check'),
        time: seconds,
        id: octetsOf(randomUuid()),
        smsType: SMS_TYPE.outgoing,
        coding: 0,
        validity: 1,
        receiptMask: RECEIPT_MASK,
        receiptUrl: octetsOf('check'),
        boxId,
      }),
    );
    let end: string | undefined;
    link.ended.then((reason) => {
      end = reason;
    });
    const receipt = () => frames.find((frame) => frame.type === 'sms' && frame.smsType === SMS_TYPE.receipt);
    for (let look = 0; look < LOOKS && end === undefined && !receipt(); look++) await sleep(LOOK_EVERY_MS);
    // A receipt that is not acknowledged would stay in Kannel's store.
    for (const frame of frames) {
      if (frame.type === 'sms' && frame.id) link.send({ type: 'ack', nack: ACK.success, time: seconds, id: frame.id });
    }
    const isAnswered = frames.some((frame) => frame.type === 'ack');
    link.close();
    if (end !== undefined) return [`${peer} ends the connection of our box (${end}).`];
    if (!isAnswered) return [`${peer} does not answer as a box port does; is it another port, or TLS on one side?`];
    return receipt() ? [] : [`${peer} answers, but gives our box no receipts.`];
  } catch (error) {
    return [`${peer} cannot be used: ${error instanceof Error ? error.message : 'unknown'}.`];
  }
}

function faultsOfStatus(status: KannelStatus, { boxId, smscId }: KannelBoxConfig): string[] {
  const ids = status.boxes.map(({ id }) => id);
  const isThere = ids.includes(boxId);
  return [
    ...(isThere ? [] : [`No box with the id ${boxId} is connected to bearerbox: is the service running?`]),
    ...faultsOfRoute(status, smscId),
  ];
}
