import http2, { type ClientHttp2Session, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** What becomes of a call. `answered` resolves when the server has answered; the answer is held back until `pass` is called. */
export interface Call {
  /** The gRPC method, e.g. `RespondWorkflowTaskCompleted`. */
  readonly method: string;
  /** Sends the call on and resolves with the server's gRPC status when it has answered. */
  forward(): Promise<void>;
  /** Gives the caller the server's answer. */
  pass(): void;
}

export interface Proxy {
  readonly address: string;
  stop(): Promise<void>;
}

/** A gRPC proxy on 127.0.0.1 that lets a test decide, call by call, what gets through: the place to kill a worker exactly. */
export async function startProxy(upstream: string, decide: (call: Call) => Promise<void>): Promise<Proxy> {
  const sessions = new Set<ServerHttp2Session | ClientHttp2Session>();
  const server = http2.createServer();
  server.on('session', (session) => {
    const target = http2.connect(`http://${upstream}`);
    for (const one of [session, target]) {
      sessions.add(one);
      one.on('error', () => {});
      one.once('close', () => sessions.delete(one));
    }
    session.once('close', () => target.destroy());
    target.once('close', () => session.destroy());
    session.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => {
        const call = callOf(stream, headers, Buffer.concat(chunks), target);
        // A caller that is gone gets no answer: that is what these tests are about.
        decide(call).catch(() => stream.destroy());
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function callOf(
  stream: ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  body: Buffer,
  target: ClientHttp2Session,
): Call {
  let answer: { headers: http2.IncomingHttpHeaders; body: Buffer; trailers: http2.IncomingHttpHeaders } | undefined;
  return {
    method: String(headers[':path']).split('/').at(-1) ?? '',
    async forward() {
      const out = target.request(headers);
      const chunks: Buffer[] = [];
      let head: http2.IncomingHttpHeaders = {};
      let trailers: http2.IncomingHttpHeaders = {};
      stream.once('close', () => out.close(http2.constants.NGHTTP2_CANCEL));
      out.on('response', (received) => void (head = received));
      out.on('trailers', (received: http2.IncomingHttpHeaders) => void (trailers = received));
      out.on('data', (chunk: Buffer) => chunks.push(chunk));
      out.end(body);
      await new Promise((resolve, reject) => out.once('end', resolve).once('error', reject));
      answer = { headers: head, body: Buffer.concat(chunks), trailers };
    },
    pass() {
      if (!answer || stream.destroyed) return;
      const { headers: head, body: data, trailers } = answer;
      // An answer without a body may come as trailers only, in its head.
      stream.respond(head, { waitForTrailers: Object.keys(trailers).length > 0 });
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      stream.end(data);
    },
  };
}
