import { z } from 'zod';
import { coordinatorMessages, MISSED_HEARTBEATS, type CoordinatorMessage } from '../../envelope/coordinator.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { isolated } from '../isolated.ts';
import { accepted, isRefusedWith } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { Lease, LeaseLost } from '../leases/lease.ts';
import { termOf } from '../leases/term.ts';
import type { Keys } from '../../envelope/options.ts';
import type { Reader } from '../connection/reader.ts';
import { coordinatorTarget } from '../../envelope/targets.ts';
import { jittered, withGrace, pause, until } from '../timing/timing.ts';

/** As much of a {@link SharedConnection} as an election needs. */
export interface ElectionConnection {
  readonly send: SharedConnection['send'];
  readonly readerOf: (workflowId: string) => Pick<Reader, 'listen'>;
}

/** What a coordinator is given for one epoch. */
export interface Leadership {
  readonly room: string;
  readonly role: string;
  /** The fencing token of its directives: only rises from one coordinator to the next. */
  readonly epoch: number;
  /** Fires when the leadership ends, at the latest when it ends for the others; and when `options.signal` does. Stop then. */
  readonly signal: AbortSignal;
  /**
   * Issues a directive to the room, in this epoch; resolves when it is logged.
   * @throws LeaseLost where the leadership has ended here; SynodError `stale_epoch` or `not_holder` where it has for the others.
   */
  readonly directive: (body: Json) => Promise<void>;
}

/** Options of `room.coordinate`. */
export interface CoordinateOptions {
  /** Ends it: what is led is resigned from, once `run` has ended. */
  readonly signal?: AbortSignal;
  /** Seconds between heartbeats, at most 300; default 10. Only the first join ever of a role fixes them. */
  readonly heartbeatSeconds?: number;
}

/** The keys of {@link CoordinateOptions}. */
export const COORDINATE_KEYS: Keys<CoordinateOptions> = { signal: true, heartbeatSeconds: true };

/** A directive as it is received. */
export interface Directive {
  /** Its place in the election's log: the `after` to go on from. */
  readonly seq: number;
  readonly epoch: number;
  /** The coordinator that issued it. */
  readonly from: string;
  readonly directive: Json;
}

/** Options of `room.onDirective`. */
export interface DirectiveOptions {
  /** The last number already received; 0 from the start, -1 (default) from now on. */
  readonly after?: number;
  /** Directives of an older epoch are dropped: the highest that was received before, by an earlier process. */
  readonly epoch?: number;
  /** Called where directives may have been missed, and when listening from now on begins. */
  readonly onGap?: () => void;
}

/** The keys of {@link DirectiveOptions}. */
export const DIRECTIVE_KEYS: Keys<DirectiveOptions> = { after: true, epoch: true, onGap: true };

const joined = z.object({
  type: z.literal('coordinator.joined'),
  epoch: z.number(),
  coordinator: z.string(),
  heartbeat_seconds: z.number(),
});
type Joined = z.infer<typeof joined>;
const elected = z.object({ type: z.literal('coordinator.elected'), epoch: z.number(), coordinator: z.string() });
const ended = z.object({ type: z.enum(['coordinator.lost', 'coordinator.resigned']), epoch: z.number() });
const directed = z.object({
  type: z.literal('coordinator.directive'),
  from: z.string(),
  epoch: z.number(),
  directive: json,
});

/** Stands for election, and leads whenever it is elected, until `run` has returned by itself or `options.signal` fires. */
export async function coordinate(
  connection: ElectionConnection,
  agent: string,
  room: string,
  role: string,
  run: (leadership: Leadership) => Promise<void>,
  options: CoordinateOptions = {},
): Promise<void> {
  await new Candidate(connection, agent, room, role, run, options).stand();
}

/** Calls back with the directives of a role; returns a function that ends it. More on `Room.onDirective`. */
export function onDirective(
  connection: ElectionConnection,
  agent: string,
  room: string,
  role: string,
  handler: (directive: Directive) => void,
  { after, epoch = 0, onGap = () => undefined }: DirectiveOptions = {},
): () => void {
  const issued = isolated('the handler of onDirective', handler);
  let highest = epoch;
  return connection.readerOf(coordinatorTarget(room, role).workflowId).listen(
    {
      agent,
      onGap,
      onEvent: ({ seq, envelope }) => {
        const news = z.union([elected, directed]).safeParse(envelope);
        if (!news.success || news.data.epoch < highest) return;
        highest = news.data.epoch;
        if (news.data.type !== 'coordinator.directive') return;
        const { type: _type, ...directive } = news.data;
        issued({ seq, ...directive });
      },
    },
    after,
  );
}

/** One agent that stands for one role. */
class Candidate {
  readonly #connection: ElectionConnection;
  readonly #agent: string;
  readonly #room: string;
  readonly #role: string;
  readonly #run: (leadership: Leadership) => Promise<void>;
  readonly #heartbeatSeconds: number | undefined;
  readonly #signal: AbortSignal;
  /** The latest election in the log. */
  #latest: { readonly epoch: number; readonly coordinator: string } = { epoch: 0, coordinator: '' };
  /** It is no candidate any more, and need not leave. */
  #resigned = false;
  #leading: { readonly epoch: number; readonly lease: Lease } | undefined;
  /** Fires when there is news of the election. */
  #news = new AbortController();

  constructor(
    connection: ElectionConnection,
    agent: string,
    room: string,
    role: string,
    run: (leadership: Leadership) => Promise<void>,
    { signal = new AbortController().signal, heartbeatSeconds }: CoordinateOptions,
  ) {
    this.#connection = connection;
    this.#agent = agent;
    this.#room = room;
    this.#role = role;
    this.#run = run;
    this.#heartbeatSeconds = heartbeatSeconds;
    this.#signal = signal;
  }

  async stand(): Promise<void> {
    let standing = await this.#join();
    if (!standing) return;
    const { heartbeat_seconds: heartbeatSeconds } = standing;
    const stop = this.#connection.readerOf(coordinatorTarget(this.#room, this.#role).workflowId).listen({
      agent: this.#agent,
      onEvent: ({ envelope }) => this.#onEvent(envelope),
      // Elections may have been missed: joining again answers with the present one.
      onGap: () => this.#news.abort(),
    });
    try {
      while (standing && !this.#signal.aborted) {
        if (standing.coordinator !== this.#agent) await this.#wait(heartbeatSeconds);
        else if (await this.#lead(standing.epoch, heartbeatSeconds)) return;
        const { epoch, coordinator } = this.#latest;
        // Whoever has been elected leads at once; everybody else joins again, to stay active.
        const won: boolean = coordinator === this.#agent && epoch > standing.epoch;
        standing = won ? { ...standing, epoch, coordinator } : await this.#join();
      }
    } finally {
      stop();
      if (!this.#resigned) await this.#leave(heartbeatSeconds);
    }
  }

  /** Until there is news, or it is time to join again to stay active: within a heartbeat, and not together with all the others. */
  async #wait(heartbeatSeconds: number): Promise<void> {
    await pause(jittered((heartbeatSeconds * 1000) / 2), AbortSignal.any([this.#signal, this.#news.signal]));
    this.#news = new AbortController();
  }

  #onEvent(envelope: Envelope): void {
    const election = elected.safeParse(envelope);
    const end = ended.safeParse(envelope);
    const leading = this.#leading;
    if (end.success && end.data.epoch === leading?.epoch) leading.lease.lose(`the epoch is over: ${end.data.type}`);
    if (!election.success) return;
    this.#latest = election.data;
    if (leading && election.data.epoch > leading.epoch) {
      leading.lease.lose(`${election.data.coordinator} leads epoch ${election.data.epoch}`);
    }
    this.#news.abort();
  }

  /** Leads one epoch; whether `run` has returned by itself. */
  async #lead(epoch: number, heartbeatSeconds: number): Promise<boolean> {
    const heartbeat = async (end?: AbortSignal) => await this.#send('coordinator.heartbeat', { epoch }, end);
    // The election may have been long ago when its event arrives: the lease is counted from a heartbeat of this agent.
    const askedAt = performance.now();
    const [alive] = (await until(heartbeat(this.#signal), this.#signal)) ?? [];
    if (alive?.type !== 'coordinator.alive') return false;
    const lease = new Lease(termOf(alive, askedAt, MISSED_HEARTBEATS * heartbeatSeconds * 1000), heartbeat);
    if (lease.lost) return false;
    this.#leading = { epoch, lease };
    try {
      await this.#run({
        room: this.#room,
        role: this.#role,
        epoch,
        signal: AbortSignal.any([lease.signal, this.#signal]),
        directive: async (body) => await this.#direct(lease, epoch, body),
      });
      return !lease.lost && (await this.#resign(epoch, lease));
    } catch (error) {
      // An error after the end of the leadership comes from that end.
      if (!lease.lost && !this.#signal.aborted) throw error;
      return false;
    } finally {
      lease.close();
      this.#leading = undefined;
    }
  }

  /** Gives up what was led; whether it was led to the end: the answer may say that it was over before. */
  async #resign(epoch: number, lease: Lease): Promise<boolean> {
    const resign = async (end: AbortSignal) => await this.#send('coordinator.resign', { epoch }, end);
    // Without an answer its silence says the same. Whoever is stopped leaves.
    if (this.#signal.aborted) return true;
    const answered = withGrace(AbortSignal.abort(), resign, lease.leftMs);
    const [answer] = (await until(answered, this.#signal)) ?? [];
    this.#resigned = answer?.type === 'coordinator.resigned';
    return !isRefusedWith(answer, 'not_holder', 'stale_epoch');
  }

  async #direct(lease: Lease, epoch: number, directive: Json): Promise<void> {
    if (lease.lost) throw lostBy(lease);
    const { signal } = lease;
    const answers = await until(this.#send('coordinator.directive', { epoch, directive }, signal), signal);
    if (!answers) throw lostBy(lease);
    const [answer] = answers;
    const code = answer?.type === 'error' ? answer['code'] : undefined;
    if (code === 'stale_epoch' || code === 'not_holder') lease.lose(`a directive was refused: ${code}`);
    accepted(answers);
  }

  /** The present epoch and coordinator; undefined where it is to end before that is known. */
  async #join(): Promise<Joined | undefined> {
    const fields = { heartbeat_seconds: this.#heartbeatSeconds };
    const answers = await until(this.#send('coordinator.join', fields, this.#signal), this.#signal);
    return answers && joined.parse(accepted(answers)[0]);
  }

  /** Leaves the election, and tries no longer than until missing heartbeats have the same effect. */
  async #leave(heartbeatSeconds: number): Promise<void> {
    try {
      const silence = AbortSignal.timeout(Math.ceil(MISSED_HEARTBEATS * heartbeatSeconds * 1000));
      const leave = async (end: AbortSignal) =>
        await until(this.#send('coordinator.leave', {}, AbortSignal.any([end, silence])), silence);
      await withGrace(this.#signal, leave);
    } catch (error) {
      process.emitWarning(`synod: leaving the election of ${this.#role} failed: ${String(error)}`);
    }
  }

  async #send(type: CoordinatorMessage['type'], fields: object, end?: AbortSignal): Promise<readonly Envelope[]> {
    const schema: z.ZodType<CoordinatorMessage> = coordinatorMessages[type];
    const message = compose(schema, this.#agent, { type, role: this.#role, ...fields });
    return await this.#connection.send(coordinatorTarget(this.#room, this.#role), message, end);
  }
}

function lostBy({ signal }: Lease): Error {
  return signal.reason instanceof Error ? signal.reason : new LeaseLost('the leadership has ended');
}
