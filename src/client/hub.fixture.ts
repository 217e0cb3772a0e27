import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Client, Connection } from '@temporalio/client';
import { disconnect } from './connect.ts';
import { SharedConnection } from './connection/sharedConnection.ts';

/** A stand-in for a hub, and a client whose agents work through it. */
export interface StandIn {
  readonly client: Client;
  stop(): Promise<void>;
}

/** @param answer what a call to a path is answered; it may be left open. */
export async function standInHub(
  answer: (path: string, call: unknown, response: ServerResponse) => void,
): Promise<StandIn> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => answer(request.url ?? '', JSON.parse(body), response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const client = new Client({ connection: Connection.lazy() });
  SharedConnection.through(client, { url: `http://127.0.0.1:${address.port}`, token: 'any' });
  return {
    client,
    async stop() {
      await disconnect(client);
      server.closeAllConnections();
      server.close();
    },
  };
}
