import type { OpenAPIHono } from '@hono/zod-openapi';
import type { GatewayEnv } from './context.ts';

const WELCOME = `This is a Synod gateway.

POST /v1/rooms/{room}/messages   send a message
GET  /v1/rooms/{room}/messages   read forward
GET  /v1/rooms/{room}/stream     read as it happens
GET  /v1/rooms/{room}            what is going on
GET  /openapi.json               all of it, described
`;

/** What people see who come with a browser. */
export function page(app: OpenAPIHono<GatewayEnv>): void {
  app.get('/', (c) => c.text(WELCOME));
}
