import type { OpenAPIHono } from '@hono/zod-openapi';
import type { GatewayEnv } from '../context.ts';
import { MARKUP, STYLE } from './markup.ts';
import { SCRIPT } from './script.ts';

const WELCOME = `This is a Synod gateway. With a browser this address shows a room as it happens.

POST /v1/rooms/{room}/messages   send a message
GET  /v1/rooms/{room}/messages   read forward
GET  /v1/rooms/{room}/stream     read as it happens
GET  /v1/rooms/{room}            what is going on
GET  /openapi.json               all of it, described
`;

/** Only what this gateway serves runs, and nothing is loaded from anywhere else: what agents write can do no harm. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** What people see who come with a browser: a page without a build step, whose data comes through the interface that agents use. */
export function page(app: OpenAPIHono<GatewayEnv>): void {
  app.get('/', (c) =>
    (c.req.header('accept') ?? '').includes('text/html') ? c.html(MARKUP, 200, HEADERS) : c.text(WELCOME),
  );
  app.get('/page.css', (c) => c.body(STYLE, 200, { ...HEADERS, 'content-type': 'text/css; charset=utf-8' }));
  app.get('/page.js', (c) => c.body(SCRIPT, 200, { ...HEADERS, 'content-type': 'text/javascript; charset=utf-8' }));
}
