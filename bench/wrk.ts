import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.ts';

/**
 * Drives a load by wrk, with CLIENT=wrk. Our own client takes as long for a call as Columba takes
 * for a cached one. Then the server waits for it, and has fewer calls in each turn of its event
 * loop. wrk takes a fifth of that. It tells no latency of a single call. It runs for a second, so
 * there must be as many requests as a second takes.
 */
export async function runWrk({ server, connections, requests, request }: WrkLoad): Promise<Answered> {
  const ports = [...new Set(Array.from({ length: connections }, () => server.port))];
  const folder = temporaryFolder();
  const script = join(folder, 'wrk.lua');
  writeFileSync(join(folder, 'requests'), requestFile(requests, request));
  writeFileSync(script, scriptOf(join(folder, 'requests'), requests, ports));
  const args = [`-t${ports.length}`, `-c${connections}`, '-d1s', '-s', script, `http://127.0.0.1:${ports[0]}`];
  const output = await outputOf(args);
  const [, count, seconds] = /(\d+) requests in ([\d.]+)s/.exec(output) ?? [];
  if (!Number(count) || /Non-2xx|Socket errors/.test(output)) throw new Error(output);
  // So that no thread has come to the end of its share, whichever was the fastest.
  if ((Number(count) + connections) * ports.length > requests) {
    throw new Error(`REQUESTS: ${requests} are too few for a second of wrk`);
  }
  return { count: Number(count), seconds: Number(seconds) };
}

/** See Load of load.ts. */
export interface WrkLoad {
  readonly server: { readonly port: number };
  readonly connections: number;
  readonly requests: number;
  readonly request: (number: number) => Buffer;
}

export interface Answered {
  readonly count: number;
  readonly seconds: number;
}

/** Each with its length in eight digits before it. */
function requestFile(requests: number, request: WrkLoad['request']): Buffer {
  const parts: Buffer[] = [];
  for (let number = 0; number < requests; number++) {
    const bytes = request(number);
    parts.push(Buffer.from(String(bytes.length).padStart(8, '0')), bytes);
  }
  return Buffer.concat(parts);
}

/** A thread for each port. Each takes its share of the requests, and repeats the last one. */
const scriptOf = (file: string, requests: number, ports: readonly number[]): string => `
local ports = {${ports.join(', ')}}
local count = 0
function setup(thread)
  thread.addr = wrk.lookup("127.0.0.1", tostring(ports[count + 1]))[1]
  thread:set("first", count)
  count = count + 1
end
local all, sent = {}, 0
function init()
  local file = io.open("${file}", "rb")
  for number = 0, ${requests - 1} do
    local bytes = file:read(tonumber(file:read(8)))
    if number % ${ports.length} == first then all[#all + 1] = bytes end
  end
end
function request()
  sent = math.min(sent + 1, #all)
  return all[sent]
end
`;

function outputOf(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('wrk', args);
    let output = '';
    const add = (text: Buffer) => {
      output += text.toString();
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.once('error', reject).once('close', () => resolve(output));
  });
}
