import { connect, createServer } from 'node:net';

/**
 * Finds TCP ports that are free at this moment, all different. Another process may take one before it is used: whoever
 * binds it must be ready to choose again.
 */
export async function freePorts(count: number, ip: string): Promise<number[]> {
  // All are held until the last one is known, so that no port is given twice.
  const held = await Promise.all(Array.from({ length: count }, () => hold(ip)));
  await Promise.all(held.map(({ release }) => release()));
  return held.map(({ port }) => port);
}

function hold(ip: string): Promise<{ port: number; release: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host: ip, exclusive: true }, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no TCP port'));
      resolve({ port: address.port, release: () => new Promise((done) => server.close(() => done())) });
    });
  });
}

/** Whether something accepts TCP connections there. */
export function accepts(ip: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port });
    const end = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, end(false)).once('connect', end(true)).once('error', end(false));
  });
}
