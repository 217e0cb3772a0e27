import * as wf from '@temporalio/workflow';
import { workflowIdOf } from '../src/envelope/address.ts';
import { receiveArgs, startArgs, type Received, type StartArgs } from '../src/envelope/calls.ts';
import type { Base, Envelope } from '../src/envelope/envelope.ts';
import type { Json } from '../src/envelope/fields.ts';
import { fitsBytes, MAX_REQUEST_BYTES, MAX_REQUEST_ENVELOPES } from '../src/envelope/limits.ts';
import { explain, parseErrors, type RefusalCode } from '../src/envelope/refusal.ts';
import { publication } from '../src/envelope/room.ts';
import { parseShard } from '../src/envelope/shards.ts';
import { Host, type HostResult } from '../src/host/host.ts';
import { REVISION } from '../src/host/revision.ts';
import { snapshotSchema } from '../src/host/snapshot.ts';
import type { Protocol } from '../src/protocols/protocol.ts';
import { DeadlineTimer } from './deadlineTimer.ts';
import { Dispatcher } from './dispatcher.ts';

/** Past so many events a run hands over, before the server suggests it: a storm of signals goes on while it drains. */
const MAX_HISTORY_EVENTS = 3_000;
/**
 * A run that should hand over serves on until nothing is under way, for so many milliseconds and events at most: what ends during its
 * last workflow task makes the server refuse that task, and the whole history is replayed while everyone waits.
 */
const QUIESCENCE_MS = 2_000;
const QUIESCENCE_EVENTS = 200;
/**
 * What is written where a workflow task has nothing to do. One that leaves no event is taken together with the next at a
 * replay, and what came with it is then handled after the next one's update and at its time (temporalio/sdk-rust#1146).
 */
const NOTHING_DONE = 'synod_nothing_done_at_event';
/** What a reader whose wait was ended by draining pauses, in seconds. */
const DRAIN_PAUSE_SECONDS = 0.1;
/** How long a run of revision 1 delivers what it owes once it has ended, in milliseconds. */
const DRAIN_MS = 60_000;

export const envelopeSignal = wf.defineSignal<[unknown]>('envelope');
export const requestUpdate = wf.defineUpdate<Envelope[][], [unknown]>('request');
export const receiveUpdate = wf.defineUpdate<Received, [unknown]>('receive');
export const viewQuery = wf.defineQuery<{ [field: string]: Json }, [unknown?]>('view');
export const publishSignal = wf.defineSignal<[unknown]>('publish');

/** Turns a protocol into a durable workflow: connects the host's rules to Temporal, and decides nothing itself. */
export async function runHost<S, M extends Base>(protocol: Protocol<S, M>, rawStart: unknown): Promise<HostResult> {
  const start = parse(startArgs, rawStart, 'start argument');
  const { workflowId } = wf.workflowInfo();
  checkWorkflowId(protocol, start.room, workflowId);
  const snapshot = start.state === undefined ? undefined : parse(snapshotSchema(protocol.state), start.state, 'state');
  const revision = revisionOfRun();
  const host = new Host(protocol, {
    workflowId,
    room: start.room,
    config: start.config ?? {},
    now: Date.now(),
    snapshot,
    revision,
  });
  if (!snapshot && revision >= 2 && host.configFault !== undefined) throw failure('over_limit', host.configFault, true);
  const run: Run = { revision, dirty: false, answered: false, draining: false };
  const dispatcher = new Dispatcher(host, start.room, workflowId, () => (run.dirty = true));
  register(host, protocol, run);
  // Everything up to here is synchronous: no message can come before its handler.
  do {
    await serve(host, dispatcher, run);
    host.drain(DRAIN_PAUSE_SECONDS);
    await wf.condition(wf.allHandlersFinished);
    // Otherwise a signal has come meanwhile, whose answer is still to be delivered.
  } while (!isOver(host, dispatcher, run));
  return await leave(host, dispatcher, protocol, start, run);
}

/** Whether the run has nothing left to do, or hands it over. An ended workflow serves until all that it owes is delivered, however long that takes. */
function isOver<S, M extends Base>(host: Host<S, M>, dispatcher: Dispatcher, run: Run): boolean {
  return run.revision < 2 || dispatcher.handingOver || dispatcher.idle || host.phase(Date.now()) !== 'ended';
}

/** The rules that this run follows: the latest, but where it began with earlier ones. */
function revisionOfRun(): number {
  return wf.patched('synod-revision-2') ? REVISION : 1;
}

/** What the handlers and the main loop share. */
interface Run {
  /** The rules that it follows. */
  readonly revision: number;
  /** Something has happened since the loop last looked. */
  dirty: boolean;
  /** An update was accepted or answered since then: the workflow task leaves an event. */
  answered: boolean;
  /** The run is about to end: no update is accepted any more, signals still are. */
  draining: boolean;
}

function register<S, M extends Base>(host: Host<S, M>, protocol: Protocol<S, M>, run: Run): void {
  wf.setHandler(
    envelopeSignal,
    (raw) => {
      host.signal(raw, Date.now());
      run.dirty = true;
    },
    { description: 'One message, fire and forget. Answers go to the log.' },
  );
  wf.setHandler(
    requestUpdate,
    (raw) => {
      run.dirty = true;
      run.answered = true;
      return host.request(Array.isArray(raw) ? raw : [], Date.now());
    },
    {
      description: 'A list of messages; returns the replies to each, in order.',
      validator: (raw) => {
        refuseDraining(run);
        checkRequest(raw);
      },
    },
  );
  wf.setHandler(
    receiveUpdate,
    async (raw) => {
      run.dirty = true;
      run.answered = true;
      const args = parse(receiveArgs, raw, 'receive');
      return await new Promise<Received>((resolve) =>
        host.receive(args, Date.now(), (received) => {
          run.answered = true;
          resolve(received);
        }),
      );
    },
    {
      description: 'The log after a sequence number, for some agents; waits up to 20 seconds for something to come.',
      validator: (raw) => {
        refuseDraining(run);
        parse(receiveArgs, raw, 'receive');
      },
    },
  );
  wf.setHandler(viewQuery, (query) => host.view(query, Date.now()), { description: 'The whole public state.' });
  if (protocol.kind === 'room') registerPublish(host, run);
}

/** What only a room takes: the events of its primitives. */
function registerPublish<S, M extends Base>(host: Host<S, M>, run: Run): void {
  wf.setHandler(
    publishSignal,
    (raw) => {
      run.dirty = true;
      for (const one of Array.isArray(raw) ? raw : [raw]) {
        const parsed = publication.safeParse(one, parseErrors);
        if (parsed.success) host.publish(parsed.data, Date.now());
        else wf.log.warn('synod: a publication was dropped', { fault: explain(parsed.error, 'publication') });
      }
    },
    { description: 'What a primitive of this room has logged.' },
  );
}

/** Serves until the workflow has ended and owes nothing any more, or its history has grown enough. */
async function serve<S, M extends Base>(host: Host<S, M>, dispatcher: Dispatcher, run: Run): Promise<void> {
  run.draining = false;
  const timer = new DeadlineTimer(() => (run.dirty = true));
  let last: { readonly at: number; readonly events: number } | undefined;
  for (;;) {
    run.dirty = false;
    const now = Date.now();
    host.tick(now);
    const { continueAsNewSuggested, historyLength } = wf.workflowInfo();
    dispatcher.handingOver = continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS;
    const dispatched = dispatcher.dispatch();
    wf.setCurrentDetails(host.details());
    const phase = host.phase(now);
    if (phase === 'unopened' || (phase === 'ended' && (dispatcher.idle || run.revision < 2))) break;
    if (dispatcher.handingOver) {
      last ??= { at: now + QUIESCENCE_MS, events: historyLength + QUIESCENCE_EVENTS };
      if (dispatcher.quiescent(now) || now >= last.at || historyLength >= last.events) break;
    }
    const acted = [dispatched, timer.set(host.nextDeadline(), now), run.answered].includes(true);
    if (!acted) wf.upsertMemo({ [NOTHING_DONE]: historyLength });
    run.answered = false;
    await wf.condition(() => run.dirty);
  }
  run.draining = true;
  timer.cancel();
}

/** Ends the run: completes, fails, or goes on in a new one. Nothing that was acknowledged is left behind. */
async function leave<S, M extends Base>(
  host: Host<S, M>,
  dispatcher: Dispatcher,
  protocol: Protocol<S, M>,
  start: StartArgs,
  run: Run,
): Promise<HostResult> {
  const phase = host.phase(Date.now());
  if (phase === 'running' || (phase === 'ended' && run.revision >= 2 && !dispatcher.idle)) {
    await dispatcher.settled();
    // No await from here: the snapshot holds all that was handled.
    return await wf.continueAsNew<(start: StartArgs) => Promise<HostResult>>({
      room: start.room,
      state: host.snapshot(),
    });
  }
  if (phase === 'unopened') {
    throw wf.ApplicationFailure.nonRetryable(
      `${protocol.opening} never came; the name is free again`,
      'closed' satisfies RefusalCode,
    );
  }
  if (run.revision < 2) await drainForAMinute(dispatcher, run);
  if (!host.result) throw wf.ApplicationFailure.nonRetryable(`${protocol.workflowType} ended without an outcome`);
  return host.result;
}

/** What revision 1 did once the workflow had ended: what was not delivered within a minute never was. */
async function drainForAMinute(dispatcher: Dispatcher, run: Run): Promise<void> {
  dispatcher.handingOver = false;
  for (let delivered = false; !delivered;) {
    run.dirty = false;
    dispatcher.dispatch();
    // A message that comes meanwhile is answered, too.
    delivered = !(await wf.condition(() => run.dirty || dispatcher.idle, DRAIN_MS)) || (dispatcher.idle && !run.dirty);
  }
  await wf.condition(wf.allHandlersFinished);
}

function refuseDraining(run: Run): void {
  if (run.draining) throw failure('draining', 'the workflow hands over to its next run: send the same again');
}

function checkRequest(raw: unknown): void {
  if (!Array.isArray(raw)) throw failure('invalid_envelope', 'request must be an array of envelopes');
  if (raw.length > MAX_REQUEST_ENVELOPES)
    throw failure('over_limit', `request holds more than ${MAX_REQUEST_ENVELOPES} envelopes`);
  if (!fitsBytes(JSON.stringify(raw), MAX_REQUEST_BYTES))
    throw failure('over_limit', `request is larger than ${MAX_REQUEST_BYTES} bytes of JSON`);
}

function checkWorkflowId<S, M extends Base>(protocol: Protocol<S, M>, room: string, workflowId: string): void {
  const base = workflowIdOf(room, protocol.kind);
  const { nameField, sharded = false } = protocol;
  const rest = workflowId.startsWith(`${base}:`) ? workflowId.slice(base.length + 1) : '';
  const fits =
    nameField === undefined ? workflowId === base || (sharded && parseShard(rest) !== undefined) : rest !== '';
  if (!fits) {
    const form = nameField === undefined ? base : `${base}:{${nameField}}`;
    throw failure(
      'invalid_envelope',
      `a ${protocol.workflowType} of room ${room} has the workflow id ${form}, not ${workflowId}`,
      true,
    );
  }
}

type Schema<T> = {
  safeParse(
    value: unknown,
    params: typeof parseErrors,
  ): { success: true; data: T } | { success: false; error: Parameters<typeof explain>[0] };
};

function parse<T>(schema: Schema<T>, raw: unknown, what: string): T {
  const parsed = schema.safeParse(raw, parseErrors);
  if (parsed.success) return parsed.data;
  throw failure('invalid_envelope', explain(parsed.error, what), true);
}

function failure(code: RefusalCode, message: string, nonRetryable = false): wf.ApplicationFailure {
  return wf.ApplicationFailure.create({ type: code, message, nonRetryable });
}
