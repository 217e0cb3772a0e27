import type { Client } from '@temporalio/client';
import { connect, disconnect } from '../client/connect.ts';

/** Connects as the environment says, and disconnects however `use` ends. */
export async function withClient<Result>(use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connect();
  try {
    return await use(client);
  } finally {
    await disconnect(client);
  }
}
