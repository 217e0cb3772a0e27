import { Client, Connection } from '@temporalio/client';
import { startChild, type OwnedChild } from '../src/dev/child.ts';
import { RECONNECT } from '../src/dev/connect.ts';
import { startDevServer, type DevServer } from '../src/dev/server.ts';
import type { Built, Bundle } from './build.ts';
import type { BenchGateway } from './gateway.ts';

export type Queue = keyof Built['bundles'];

/** A server with a client, and the workers that it is given. */
export class Site {
  readonly server: DevServer;
  readonly client: Client;
  readonly #built: Built;
  readonly #workers = new Set<OwnedChild>();

  private constructor(server: DevServer, client: Client, built: Built) {
    this.server = server;
    this.client = client;
    this.#built = built;
  }

  /** @param maxInFlightUpdates null for the server's own limit (10). */
  static async open(built: Built, maxInFlightUpdates: number | null): Promise<Site> {
    const server = await startDevServer({ maxInFlightUpdates });
    const connection = await Connection.connect({
      address: server.address,
      // A page of a history may be larger than the 4 MiB that gRPC takes by default.
      channelArgs: { ...RECONNECT, 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
    });
    return new Site(server, new Client({ connection }), built);
  }

  /** Starts a worker in a process of its own; returns what stops it. */
  async work(queue: Queue): Promise<() => Promise<void>> {
    const bundle: Bundle = this.#built.bundles[queue];
    const worker = await startChild(process.execPath, [
      this.#built.worker,
      this.server.address,
      queue,
      bundle.codePath,
    ]);
    this.#workers.add(worker);
    const ended = worker.exited.then(() => Promise.reject(new Error(`the worker has ended:\n${worker.tail()}`)));
    ended.catch(() => undefined);
    await Promise.race([worker.said(/^polling$/), ended]);
    return async () => {
      this.#workers.delete(worker);
      await worker.stop();
    };
  }

  /** Starts a gateway in a process of its own. */
  async gateway(): Promise<BenchGateway> {
    const child = await startChild(process.execPath, [this.#built.gateway, this.server.address]);
    const ended = child.exited.then(() => Promise.reject(new Error(`the gateway has ended:\n${child.tail()}`)));
    ended.catch(() => undefined);
    await Promise.race([child.said(/^ready /), ended]);
    const [, url = '', token = ''] = /^ready (\S+) (\S+)$/m.exec(child.tail()) ?? [];
    this.#workers.add(child);
    return {
      url,
      token,
      stop: async () => {
        this.#workers.delete(child);
        await child.stop();
      },
    };
  }

  async close(): Promise<void> {
    await this.client.connection.close();
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    await this.server.stop();
  }
}
