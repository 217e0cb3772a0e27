import { connect } from '../../src/client/index.ts';
import { describeClient } from '../support/clientSuite.ts';

describeClient('straight to Temporal', async ({ server }) => ({
  async connect() {
    // Without the SDK's own repeats.
    const client = await connect({ address: server.address });
    return { client, cut: async () => await client.connection.close() };
  },
  stop: async () => undefined,
}));
