import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Somebody who is signed in to the console, as a browser sends it. */
export interface ConsoleSession {
  /** The whole answer: its status, its text and how long it took. */
  ask(path: string, fields?: Readonly<Record<string, string>>): Promise<ConsoleAnswer>;
}
export interface ConsoleAnswer {
  readonly status: number;
  readonly text: string;
  readonly firstMs: number;
  readonly totalMs: number;
}

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** By a one-time link, which the command makes. */
export async function signInTo(web: string, database: string, username: string): Promise<ConsoleSession> {
  const command = ['account', 'sign-in-link', username, '--json', '--database', database];
  const printed = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...command], {
    encoding: 'utf8',
  });
  const [path] = /\/console\/sign-in\/[\w-]{43}/.exec(printed) ?? [];
  if (!path) throw new Error('the command made no link');
  const headers = { 'Sec-Fetch-Site': 'same-origin' };
  const signedIn = await fetch(web + path, { method: 'POST', headers, redirect: 'manual' });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return {
    async ask(path, fields) {
      const startedAt = performance.now();
      const body = fields && new URLSearchParams(fields);
      const sent = {
        headers: { ...headers, cookie },
        redirect: 'manual',
        ...(body && { method: 'POST', body }),
      } as const;
      const reply = await fetch(web + path, sent);
      const firstMs = performance.now() - startedAt;
      const text = await reply.text();
      return { status: reply.status, text, firstMs, totalMs: performance.now() - startedAt };
    },
  };
}
