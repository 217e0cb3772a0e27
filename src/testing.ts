/** Temporal servers for development and tests, without set-up. */
export { startDevServer, type DevServer, type DevServerOptions } from './dev/server.ts';
export { createTimeSkippingEnv } from './dev/timeSkipping.ts';
