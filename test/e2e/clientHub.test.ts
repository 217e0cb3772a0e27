import { connect, disconnect } from '../../src/client/index.ts';
import { describeClient } from '../support/clientSuite.ts';
import { startGateway } from '../support/gateway.ts';
import { startDoor } from '../support/door.ts';

describeClient('through a hub', async ({ server }) => {
  const own = await connect({ address: server.address });
  const gateway = await startGateway(own);
  const token = await gateway.token({ agent: 'crew', rooms: ['*'], hub: true });
  return {
    async connect() {
      // A door of its own in front of the hub, to be shut.
      const door = await startDoor(gateway.url);
      const client = await connect({ hub: door.url, token });
      return { client, cut: async () => await door.shut() };
    },
    async stop() {
      await gateway.close();
      await disconnect(own);
    },
  };
});
