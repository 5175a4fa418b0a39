import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Call, FaultParts, Outcome, SoapClient, Target } from './stories.ts';

/**
 * Clients in other languages: a program beside this file reads the calls as JSON, makes them, and prints as JSON what its
 * client returned. What JSON cannot say, or not exactly, is an object with one name: {"$integer": "9007199254740993"},
 * {"$dateTime": "2026-10-01T08:00:00+00:00"}, and {"$xml": "<detail/>"} for an element that the client left as it was.
 */
interface Made {
  /** What the client returned. */
  readonly answer?: unknown;
  readonly fault?: { readonly code: unknown; readonly text: unknown; readonly detail: unknown };
  /** The client sent nothing, for this reason. */
  readonly refused?: string;
  readonly status?: number;
  readonly xml?: string;
}

/** How to understand what the program's client returned. */
export interface Understanding {
  /** The Response element, with the Result in it. */
  responseOf(call: Call, answer: unknown): Readonly<Record<string, unknown>>;
  /** The error in a fault's detail. */
  errorOf(detail: unknown): FaultParts['error'];
}

/**
 * With these, and nothing of the machine's settings: a proxy, say, would be asked for our address. The zone is one in which
 * a time that was read as local would be another.
 */
const SURROUNDINGS = { PATH: process.env.PATH, HOME: tmpdir(), LANG: 'C.UTF-8', TZ: 'Africa/Johannesburg' };
const TIMEOUT_MS = 60_000;

export async function makeWith(
  program: string,
  calls: readonly Call[],
  { command, address, version }: Target,
  understanding: Understanding,
): Promise<Outcome[]> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(command, [path], { env: SURROUNDINGS, timeout: TIMEOUT_MS });
  const ended = new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  child.stdin.on('error', () => {}); // it ended before it read everything: its status says so
  child.stdin.end(JSON.stringify({ address, version, calls }));
  const [printed, complaints, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  assert.equal(status, 0, `${program} ended with ${status}: ${printed}${complaints}`);
  assert.equal(complaints, '', `${program} complained`);
  const made = JSON.parse(printed, untagged) as Made[];
  assert.equal(made.length, calls.length, 'there is an outcome for each call');
  return made.map((each, index) => outcomeOf(each, calls[index] as Call, understanding));
}

function outcomeOf(made: Made, call: Call, { responseOf, errorOf }: Understanding): Outcome {
  if (made.refused !== undefined) return { kind: 'refused', reason: made.refused };
  const { status = 0, xml = '' } = made;
  if (!made.fault) {
    assert.equal(status, 200);
    return { kind: 'answer', response: responseOf(call, made.answer), xml };
  }
  const { code, text: reason, detail } = made.fault;
  return { kind: 'fault', fault: { code, text: reason, error: errorOf(detail) }, status, xml };
}

/** Values as these programs read them. */
export const tagged: SoapClient['argument'] = ({ name }, value) => {
  if (name === 'int' || name === 'long') return { $integer: String(value) };
  return name === 'dateTime' ? { $dateTime: value } : value;
};

function untagged(_: string, value: unknown): unknown {
  const { $integer, $dateTime } = (value ?? {}) as { $integer?: string; $dateTime?: string };
  if ($integer !== undefined) return BigInt($integer);
  if ($dateTime === undefined) return value;
  assert.match($dateTime, /(Z|[+-]\d\d:\d\d)$/, 'the client sees a time without zone');
  return new Date($dateTime);
}
