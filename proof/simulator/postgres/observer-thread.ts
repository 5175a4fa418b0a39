import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';

/** Answers the questions of observer.ts, which waits for each without giving way. */
export interface Question {
  readonly url: string;
  readonly text: string;
  readonly values: readonly unknown[];
}
export type Answer = { readonly rows: Record<string, unknown>[] } | { readonly error: string };

const { port, signal } = workerData as { port: MessagePort; signal: Int32Array };
const TRIES = 100;
const PAUSE_MS = 100;
/** Whole numbers as BigInt, as the observer of SQLite gives them. */
const WHOLE = new Set([20, 21, 23, 1_700]);
const types = {
  getTypeParser: (oid: number, format?: 'text') => (WHOLE.has(oid) ? BigInt : pg.types.getTypeParser(oid, format)),
} as typeof pg.types;
let session: { readonly url: string; readonly client: pg.Client } | undefined;

/** A server that starts again is asked again until it answers. */
async function answerTo({ url, text, values }: Question): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      if (session?.url !== url) {
        session?.client.end().catch(() => {});
        const client = new pg.Client({ connectionString: url, types });
        client.on('error', () => {
          session = undefined;
        });
        await client.connect();
        session = { url, client };
      }
      return { rows: (await session.client.query(text, [...values])).rows };
    } catch (thrown) {
      const isOfStatement = /^(?:22|42)/.test((thrown as { code?: string }).code ?? '');
      if (isOfStatement || tries === TRIES) return { error: `${thrown} in ${text}` };
      session = undefined;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

port.on('message', async (question: Question) => {
  port.postMessage(await answerTo(question));
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
});
