import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy to a server on this machine whose connections can be cut. */
export interface CutProxy {
  readonly url: string;
  /** Connections that were asked for since it was last cut or opened, let through or not. */
  readonly attempts: number;
  /** Cuts every connection, and refuses the next ones, until it is opened again. */
  cut(): Promise<void>;
  open(): void;
}

export async function startCutProxy(url: string): Promise<CutProxy> {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  let isCut = false;
  let attempts = 0;
  const server = createServer((inner) => {
    attempts += 1;
    if (isCut) return void inner.resetAndDestroy();
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
  server.unref();
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get attempts() {
      return attempts;
    },
    async cut() {
      [isCut, attempts] = [true, 0];
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => setImmediate(resolve));
    },
    open() {
      [isCut, attempts] = [false, 0];
    },
  };
}
