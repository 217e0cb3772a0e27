// A bridge in a process of its own, to be killed: `tsx bridge.main.ts ADDRESS ROOM SERVICE URL`, at the fake of a service.
// Says what it notes.
import { runBridge } from '../../src/bridge/bridge.ts';
import { connect } from '../../src/client/index.ts';
import { services, type ServiceName } from '../bridge/services.ts';

const [address, room, service, url] = process.argv.slice(2);
if (address === undefined || room === undefined || service === undefined || url === undefined || !isService(service))
  throw new Error('usage: bridge.main.ts ADDRESS ROOM SERVICE URL');
const client = await connect({ address });
const adapter = await services[service].at(url, 700);
const options = { intervalMs: 0, leaseSeconds: 1, onNote: (note: string) => console.log(note) };
await runBridge({ client, room, adapter, ...options }, new AbortController().signal);

function isService(name: string): name is ServiceName {
  return Object.hasOwn(services, name);
}
