/** A gateway in a process of its own: `gateway ADDRESS`. Prints "ready URL TOKEN"; the token is a hub's. */
import { connect } from '../../src/client/index.ts';
import { serveGateway } from '../../src/gateway/server.ts';
import { issue, match } from '../../src/gateway/tokens.ts';

const [address] = process.argv.slice(2);
if (address === undefined) throw new Error('usage: gateway ADDRESS');
const { token, stored } = issue({ agent: 'bench', rooms: ['*'], hub: true });
const known = new Map([[stored.id, stored]]);
const tokens = { find: async (given: string) => match(given, known), holds: async () => true };
const { url } = await serveGateway(await connect({ address }), { tokens });
console.log(`ready ${url} ${token}`);
