import { connect, disconnect } from '../../src/client/index.ts';
import { describeClient } from '../support/clientSuite.ts';
import { startGateway } from '../support/gateway.ts';
import { startCutProxy } from '../support/cutProxy.ts';

describeClient('through a hub', async ({ server }) => {
  const own = await connect({ address: server.address });
  const gateway = await startGateway(own);
  const token = await gateway.token({ agent: 'agents', rooms: ['*'], hub: true });
  return {
    async connect() {
      // A proxy of its own in front of the hub, to be cut.
      const proxy = await startCutProxy(gateway.url);
      const client = await connect({ hub: proxy.url, token });
      return { client, cut: async () => await proxy.cut() };
    },
    async stop() {
      await gateway.close();
      await disconnect(own);
    },
  };
});
