import { connect, createServer } from 'node:net';

/**
 * Below those that systems give by themselves, to connections as well (Linux from 32768, others from 49152): nobody is given such a
 * port by chance between its choice and its use, nor while the server that uses it is started again.
 */
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 20;

/**
 * Finds TCP ports that are free at this moment, all different. Another process may take one before it is used: whoever
 * binds it must be ready to choose again.
 */
export async function freePorts(count: number, ip: string): Promise<number[]> {
  // All are held until the last one is known, so that no port is given twice.
  const held = await Promise.all(Array.from({ length: count }, () => choose(ip)));
  await Promise.all(held.map(({ release }) => release()));
  return held.map(({ port }) => port);
}

interface Held {
  readonly port: number;
  readonly release: () => Promise<void>;
}

async function choose(ip: string): Promise<Held> {
  for (let i = 0; i < TRIES; i++) {
    const held = await hold(ip, FIRST + Math.floor(Math.random() * (LAST - FIRST))).catch(() => undefined);
    if (held) return held;
  }
  // A machine that has none there, or lets nobody use them: whatever the system gives.
  return await hold(ip, 0);
}

function hold(ip: string, wanted: number): Promise<Held> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: wanted, host: ip, exclusive: true }, () => {
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
