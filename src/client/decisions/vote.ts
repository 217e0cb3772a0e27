import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import { decisionMessages } from '../../envelope/decision.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { boardPage } from '../../envelope/room.ts';
import { isolated } from '../isolated.ts';
import { accepted } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import type { Keys } from '../../envelope/options.ts';
import { proposalTarget, roomTarget } from '../../envelope/targets.ts';

/** A question that this agent may vote on. */
export interface Question {
  readonly proposalId: string;
  readonly question: string;
  readonly options: readonly string[];
  readonly voters: readonly string[];
  readonly quorum: number;
  /** Who asks. */
  readonly proposer: string;
}

/** What a voter says. */
export interface Vote {
  /** One of the question's options. */
  readonly choice: string;
  readonly reason?: string;
}

/** Answers a question; undefined abstains. */
export type VoteHandler = (question: Question) => Vote | undefined | Promise<Vote | undefined>;

/** Options of `room.onProposal`. */
export interface OnProposalOptions {
  /** Called with what a handler throws and why a vote was refused; default: a warning of the process. */
  readonly onError?: (error: unknown, question: Question) => void;
}

/** The keys of {@link OnProposalOptions}. */
export const ON_PROPOSAL_KEYS: Keys<OnProposalOptions> = { onError: true };

const standing = z.object({
  status: z.string(),
  proposal_id: z.string(),
  question: z.string(),
  options: z.array(z.string()),
  voters: z.array(z.string()),
  quorum: z.number(),
  proposer: z.string(),
  votes: byName(z.string()),
});
/** A vote that came too late is nobody's fault. */
const TOO_LATE: ReadonlySet<unknown> = new Set(['closed', 'already_decided']);

/** Behind `room.onProposal`: finds proposals by the room's log, and those before or in a gap by its board. */
export class Voter {
  readonly #connection: SharedConnection;
  readonly #agent: string;
  readonly #room: string;
  readonly #handler: VoteHandler;
  readonly #onError: NonNullable<OnProposalOptions['onError']>;
  readonly #stopped = new AbortController();
  /** Being asked about, or answered: no question is asked twice. */
  readonly #asked = new Set<string>();

  constructor(
    connection: SharedConnection,
    agent: string,
    room: string,
    handler: VoteHandler,
    options: OnProposalOptions,
  ) {
    this.#connection = connection;
    this.#agent = agent;
    this.#room = room;
    this.#handler = handler;
    this.#onError = isolated('onError', options.onError ?? warn);
  }

  /** Begins to listen; returns what ends it. */
  start(): () => void {
    const stop = this.#connection.readerOf(roomTarget(this.#room).workflowId).listen({
      agent: this.#agent,
      onEvent: ({ envelope }) => this.#onEvent(envelope),
      onGap: () => void this.#lookUp().catch((error: unknown) => this.#warn(error)),
    });
    return () => {
      this.#stopped.abort();
      stop();
    };
  }

  #onEvent(envelope: Envelope): void {
    const { proposal_id: id, type, voters } = envelope;
    if (typeof id !== 'string') return;
    if (type === 'decision.commit' || type === 'decision.failed') this.#asked.delete(id);
    // A list that was left out for size may name this agent.
    const concerned = !Array.isArray(voters) || voters.includes(this.#agent);
    if (type === 'decision.propose' && concerned) void this.#ask(id).catch((error: unknown) => this.#warn(error));
  }

  async #lookUp(): Promise<void> {
    let after: string | undefined;
    do {
      const query = { board: true, kind: 'proposal', status: 'open', ...(after === undefined ? {} : { after }) };
      const seen = await this.#view(roomTarget(this.#room).workflowId, query);
      // No room yet. A page that cannot be read is no empty one: it throws.
      if (!seen) return;
      const page = boardPage.parse(seen);
      // One that cannot be asked about keeps nobody from the others.
      await Promise.all(page.rows.map(async ({ id }) => await this.#ask(id).catch((error) => this.#warn(error))));
      after = page.next;
    } while (after !== undefined);
  }

  async #ask(id: string): Promise<void> {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    const data = await this.#standing(id);
    // Its name may be taken anew.
    if (!data) this.#asked.delete(id);
    if (this.#stopped.signal.aborted || !data?.voters.includes(this.#agent)) return;
    if (Object.hasOwn(data.votes, this.#agent)) return;
    const { status: _s, votes: _v, proposal_id: proposalId, ...asked } = data;
    const question = { proposalId, ...asked };
    try {
      await this.#vote(question);
    } catch (error) {
      this.#onError(error, question);
    }
  }

  /** An open proposal; undefined where it is not open, or not there. One that could not be looked at is asked about again. */
  async #standing(id: string): Promise<z.infer<typeof standing> | undefined> {
    try {
      const view = await this.#view(proposalTarget(this.#room, id).workflowId);
      return view?.['status'] === 'open' ? standing.parse(view) : undefined;
    } catch (error) {
      this.#asked.delete(id);
      throw error;
    }
  }

  async #vote(question: Question): Promise<void> {
    const { proposalId } = question;
    const vote = await this.#handler(question);
    if (!vote || this.#stopped.signal.aborted) return;
    const message = compose(decisionMessages['decision.vote'], this.#agent, {
      type: 'decision.vote',
      proposal_id: proposalId,
      choice: vote.choice,
      reason: vote.reason,
    });
    const replies = await this.#connection.send(proposalTarget(this.#room, proposalId), message);
    if (!TOO_LATE.has(replies[0]?.['code'])) accepted(replies);
  }

  /** Nothing is reported any more after the stop. */
  #warn(error: unknown): void {
    if (!this.#stopped.signal.aborted) warn(error);
  }

  async #view(workflowId: string, query?: { [field: string]: Json }): ReturnType<SharedConnection['view']> {
    return await this.#connection.view(workflowId, query, this.#stopped.signal);
  }
}

function warn(error: unknown): void {
  process.emitWarning(`synod: ${String(error)}`);
}
