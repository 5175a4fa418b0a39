import { connect } from 'node:net';

/** Sends bytes as they are and gives what comes back, until an answer has a body or the connection ends. */
export function exchange(address: string, request: string): Promise<string> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(request));
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece;
      if (/\r\n\r\n/.test(text)) end();
    });
    socket.on('error', end).on('close', end);
  });
}
