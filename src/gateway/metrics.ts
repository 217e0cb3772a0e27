import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { StreamEnd } from './stream.ts';

/** What `/metrics` shows. Neither rooms nor agents are labels: they would be too many, and are not for everybody. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Counter({
    name: 'synod_gateway_requests_total',
    help: 'Requests answered, by method, route and status.',
    labelNames: ['method', 'route', 'status'] as const,
    registers: [this.registry],
  });
  readonly seconds = new Histogram({
    name: 'synod_gateway_request_seconds',
    help: 'Seconds from a request to its answer; of streams, to the answer’s head.',
    labelNames: ['method', 'route'] as const,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30],
    registers: [this.registry],
  });
  readonly messages = new Counter({
    name: 'synod_gateway_messages_total',
    help: 'Messages sent on to a workflow, by what came back: accepted, refused, or unknown in time.',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });
  readonly events = new Counter({
    name: 'synod_gateway_stream_events_total',
    help: 'Events sent on streams.',
    registers: [this.registry],
  });
  readonly streams = new Gauge({
    name: 'synod_gateway_streams',
    help: 'Streams that are open.',
    registers: [this.registry],
  });
  readonly waits = new Gauge({
    name: 'synod_gateway_waits',
    help: 'Long polls that wait for something to come.',
    registers: [this.registry],
  });
  readonly ended = new Counter({
    name: 'synod_gateway_streams_ended_total',
    help: 'Streams that have ended, by why: closed by the client, slow, revoked, closing.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly retries = new Counter({
    name: 'synod_gateway_retries_total',
    help: 'Calls to Temporal that had to be repeated.',
    registers: [this.registry],
  });

  /** @param feeds how many logs are followed at the moment. */
  constructor(feeds: () => number) {
    collectDefaultMetrics({ register: this.registry });
    const { registry } = this;
    new Gauge({
      name: 'synod_gateway_logs',
      help: 'Logs of workflows that are followed, with one receive each.',
      registers: [registry],
      collect() {
        this.set(feeds());
      },
    });
  }

  streamEnded(reason: StreamEnd): void {
    this.streams.dec();
    this.ended.inc({ reason });
  }
}
