import assert from 'node:assert/strict';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Scalar } from '../../src/asmx/contract/types.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { type Peer, testWith } from '../../test/support/peers.ts';
import { ENVELOPES } from '../../test/support/protocols.ts';
import { startService } from '../../test/support/service.ts';
import { answerOf, type ClientReply, operationOf, type Reading } from './answers.ts';
import { Fault, type Step, stories } from './expectations.ts';

/** Lets a client go through all stories, over a socket, with nothing but the address of our WSDL. */
export type Version = 'soap11' | 'soap12';
export const VERSIONS: readonly Version[] = ['soap11', 'soap12'];

export interface SoapClient extends Reading {
  readonly name: string;
  readonly peer: Peer;
  /** A value as a program passes it to this client. */
  argument(type: Scalar, value: string | number): unknown;
  /** Makes the calls one after the other. Their number and order are those of the outcomes. */
  make(calls: readonly Call[], target: Target): Promise<readonly Outcome[]>;
}
export interface Call {
  readonly group: string;
  readonly operation: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}
export interface Target {
  readonly command: string;
  readonly address: string;
  readonly version: Version;
}
export type Outcome =
  | (ClientReply & { readonly kind: 'answer' })
  | { readonly kind: 'fault'; readonly fault: FaultParts; readonly status: number; readonly xml: string }
  /** The client did not send the call; it says why. */
  | { readonly kind: 'refused'; readonly reason: string };

/** A fault as the client understood it. */
export interface FaultParts {
  readonly code: unknown;
  readonly text: unknown;
  readonly error: unknown;
}

export function runStories(client: SoapClient): void {
  onEveryEngine(client.name, (engine) => {
    for (const version of VERSIONS) {
      const called = new Set<string>();

      for (const { name, steps } of stories) {
        testWith(client.peer, `${name} (${version})`, async (command) => {
          const service = await startService(engine);
          try {
            const address = await service.app.start();
            const calls = steps.map((step) => callOf(client, step));
            const outcomes = await client.make(calls, { command, address, version });
            for (const [index, step] of steps.entries()) {
              const told = `${step.group}.${step.operation} ${JSON.stringify(step.arguments)}`;
              assertOutcome(client, outcomes[index], step, version, told);
              if (outcomes[index]?.kind !== 'refused') called.add(`${step.group}.${step.operation}`);
            }
            assert.equal(outcomes.length, steps.length);
          } finally {
            await service.stop();
          }
        });
      }

      testWith(client.peer, `all operations of the contract were called (${version})`, async () => {
        const all = Object.entries(contract).flatMap(([group, operations]) =>
          Object.keys(operations).map((operation) => `${group}.${operation}`),
        );
        assert.equal(all.length, 32);
        assert.deepEqual([...called].sort(), all.sort());
      });
    }
  });
}

function callOf(client: SoapClient, { group, operation, arguments: given }: Step): Call {
  const { parameters } = operationOf(group, operation);
  const entries = Object.entries(given).map(([name, value]) => {
    const type = parameters[name] ?? assert.fail(`${operation} has no parameter ${name}`);
    if (type.kind === 'list') return [name, { [type.item.name]: value }];
    return [name, client.argument(type, value as string | number)];
  });
  return { group, operation, arguments: Object.fromEntries(entries) };
}

const SENDER = { soap11: 'soap:Client', soap12: 'soap:Sender' } as const;

function assertOutcome(
  client: SoapClient,
  outcome: Outcome | undefined,
  step: Step,
  version: Version,
  told: string,
): void {
  assert.ok(outcome, `no outcome of ${told}`);
  const missing = missingIn(step);
  if (missing && client.quirks.includes('refuses incomplete calls')) {
    assert.equal(outcome.kind, 'refused', told);
    assert.ok(outcome.reason.includes(missing), `${told}: ${outcome.reason}`);
    return;
  }
  const { expected } = step;
  if (outcome.kind === 'refused') assert.fail(`${told}: ${outcome.reason}`);
  assert.equal(outcome.kind, expected instanceof Fault ? 'fault' : 'answer', `${told}: ${outcome.xml}`);
  assert.ok(outcome.xml.includes(`"${ENVELOPES[version]}"`), told);
  if (outcome.kind === 'answer')
    assert.deepEqual(answerOf(client, step.group, step.operation, outcome), expected, told);
  else if (expected instanceof Fault) {
    assert.equal(outcome.status, 500, told);
    const { kind, text } = expected;
    assert.deepEqual(outcome.fault, { code: SENDER[version], text, error: { code: kind, message: text } }, told);
  }
}

/** A parameter that the WSDL requires and the call does not have: those that ASMX could not set to null. */
const missingIn = ({ group, operation, arguments: given }: Step): string | undefined =>
  Object.entries(operationOf(group, operation).parameters).find(
    ([name, type]) => type.kind === 'scalar' && type.name !== 'string' && !(name in given),
  )?.[0];
