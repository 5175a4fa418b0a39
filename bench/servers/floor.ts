import { createServer } from 'node:http';

/** The floor: a server that reads the body and answers fixed bytes, as many as the path says. */
const server = createServer((request, response) => {
  const bytes = Buffer.alloc(Number(request.url?.slice(1)), 'x');
  request.on('data', () => {});
  request.on('end', () => {
    response.writeHead(200, { 'Content-Type': 'text/xml; charset=utf-8', 'Content-Length': bytes.length });
    response.end(bytes);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
