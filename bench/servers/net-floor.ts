import { createServer } from 'node:net';

/**
 * The floor of the floor: no HTTP is read but the length of the body. It answers fixed bytes, as
 * many as the path says, in one write with the head.
 */
const answers = new Map<string, Buffer>();
const LENGTH = /content-length: (\d+)/i;

function answerOf(path: string): Buffer {
  let answer = answers.get(path);
  if (!answer) {
    const bytes = Number(path.slice(1));
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: ${bytes}\r\n\r\n`;
    answer = Buffer.from(head + 'x'.repeat(bytes), 'latin1');
    answers.set(path, answer);
  }
  return answer;
}

const server = createServer({ noDelay: true }, (socket) => {
  let path = '';
  let missing = 0;
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    if (missing === 0) {
      const text = chunk.toString('latin1'); // the client sends a head in one piece
      path = text.slice(text.indexOf(' ') + 1, text.indexOf(' HTTP'));
      missing = text.indexOf('\r\n\r\n') + 4 + Number(LENGTH.exec(text)?.[1] ?? 0);
    }
    missing -= chunk.length;
    if (missing <= 0) {
      missing = 0;
      socket.write(answerOf(path));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
