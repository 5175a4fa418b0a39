import { createServer } from 'node:http';

/**
 * The floor: a server that reads the body and answers fixed bytes, as many as the path says. As
 * text of one character a byte they go out in one write with the head: the cheapest way.
 */
const texts = new Map<string, string>();
const server = createServer((request, response) => {
  const path = request.url as string;
  let text = texts.get(path);
  if (text === undefined) {
    text = 'x'.repeat(Number(path.slice(1)));
    texts.set(path, text);
  }
  const headers = { 'Content-Type': 'text/xml; charset=utf-8', 'Content-Length': text.length };
  request.on('data', () => {});
  request.on('end', () => response.writeHead(200, headers).end(text, 'latin1'));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
