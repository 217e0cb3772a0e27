import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server on this machine that can be shut. */
export interface Door {
  readonly url: string;
  /** Cuts every connection, and lets no other through. */
  shut(): Promise<void>;
}

export async function startDoor(url: string): Promise<Door> {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect(port, '127.0.0.1');
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer).pipe(inner);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async shut() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
