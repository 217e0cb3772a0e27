// A process for server.test.ts: starts a server, prints its process id and waits to be killed.
import { startDevServer } from './server.ts';

const server = await startDevServer();
process.stdout.write(`${server.pid}\n`);
await server.exited;
