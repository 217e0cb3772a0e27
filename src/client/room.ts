import { BARRIER_KEYS, Meeting, type BarrierOptions, type BarrierResult } from './barriers/barrier.ts';
import { Rounds, ROUNDS_KEYS, type RoundsOptions } from './barriers/rounds.ts';
import { decide, PROPOSAL_KEYS, type DecisionResult, type ProposalOptions } from './decisions/decide.ts';
import {
  coordinate,
  COORDINATE_KEYS,
  DIRECTIVE_KEYS,
  onDirective,
  type CoordinateOptions,
  type Directive,
  type DirectiveOptions,
  type Leadership,
} from './elections/coordinate.ts';
import type { SharedConnection } from './connection/sharedConnection.ts';
import { known, needed } from '../envelope/options.ts';
import { configureLocks, LOCK_CONFIG_KEYS, type ConfiguredLocks, type LockConfig } from './locks/configure.ts';
import { lock, LOCK_KEYS, type Lock, type LockOptions } from './locks/lock.ts';
import { SynodError } from '../envelope/refusal.ts';
import { roomTarget } from '../envelope/targets.ts';
import { checkedNamespace, StateStore } from './state/store.ts';
import { ON_PROPOSAL_KEYS, Voter, type OnProposalOptions, type VoteHandler } from './decisions/vote.ts';

/** A room as one agent sees it: `agent.room('lab')`. What several agents decide together is done here. */
export class Room {
  readonly name: string;
  /** The agent that sends. */
  readonly agent: string;
  readonly #connection: SharedConnection;

  /** @internal */
  constructor(connection: SharedConnection, agent: string, name: string) {
    this.#connection = connection;
    this.agent = agent;
    this.name = name;
  }

  /** The room's public state: how it is configured, what it has counted; undefined where nobody has opened it. */
  async view(): ReturnType<SharedConnection['view']> {
    return await this.#connection.view(roomTarget(this.name).workflowId);
  }

  /**
   * Puts a question to the vote and waits for how it ends: committed as soon as one choice has the quorum, or failed.
   * @param signal ends the wait, not the proposal.
   * @throws SynodError `invalid_envelope` naming the field; `idempotency_conflict` where the id was proposed differently.
   */
  async decide(proposal: ProposalOptions, signal?: AbortSignal): Promise<DecisionResult> {
    known('proposal', proposal, PROPOSAL_KEYS);
    return await decide(this.#connection, this.agent, this.name, proposal, signal);
  }

  /**
   * Votes what the handler returns on every proposal of the room of which this agent is a voter, once each, also on
   * those that are open already, and over lost connections.
   * @returns a function that ends it.
   */
  onProposal(handler: VoteHandler, options: OnProposalOptions = {}): () => void {
    needed({ handler });
    known('options', options, ON_PROPOSAL_KEYS);
    return new Voter(this.#connection, this.agent, this.name, handler, options).start();
  }

  /**
   * Meets the others of a phase: opens it where a roster is given (that another has opened it alike is no conflict),
   * checks in, and waits for how it ends. Without a roster it waits for somebody to open it. An agent that is not in the
   * roster that it gives opens the phase and waits, and does not check in.
   *
   * A phase is met once: where it has ended already nobody is waited for, and the result says `repeated: true`. For a loop take
   * {@link rounds}, or a name of its own for each round.
   * @param signal ends the wait; the check-in stands.
   * @throws SynodError `invalid_envelope` naming the field; `not_eligible` where it is no member; `closed` where it ended
   *   without this agent; `idempotency_conflict` where it was opened differently.
   */
  async barrier(phase: string, options: BarrierOptions = {}, signal?: AbortSignal): Promise<BarrierResult> {
    known('options', options, BARRIER_KEYS);
    return await new Meeting(this.#connection, this.agent, this.name, phase, signal).meet(options);
  }

  /**
   * The barriers of a loop: each `next()` meets the others in the phase `name:1`, `name:2`, and so on.
   * @throws SynodError `invalid_envelope` naming the option.
   * @example
   * const rounds = room.rounds('study', { roster: ['ann', 'bob'], timeoutSeconds: 600, fallback: 'proceed' });
   * for (;;) {
   *   await study(await rounds.current());
   *   await rounds.next();
   * }
   */
  rounds(name: string, options: RoundsOptions = {}): Rounds {
    known('options', options, ROUNDS_KEYS);
    return new Rounds(this.#connection, this.agent, this.name, name, options);
  }

  /**
   * Leaves a phase for good: the others do not wait for this agent any more.
   * @throws SynodError `not_eligible` where it is no member; `closed` where the phase has ended; `unknown` where nobody opened it.
   */
  async leaveBarrier(phase: string): Promise<void> {
    await new Meeting(this.#connection, this.agent, this.name, phase).leave();
  }

  /**
   * Holds locks on some resources while `body` runs, and releases them however it ends. They are renewed beside it; its
   * `signal` fires when they are lost, and what it then returns is not taken for done. The owner is the agent: inside
   * `body` its own locks do not stand in its way, and two calls for the same set at once share one lock.
   *
   * Who waits in vain for `waitSeconds` loses all locks of this agent here (rule 3.4 of "Multi-Agent Enterprise Protocol"): after
   * a pause it asks again for all of them together, at most three times, and a body that held some of them runs again from
   * its beginning.
   * @throws LockDenied where they were not granted, at last. SynodError `invalid_envelope` naming the field.
   */
  async lock<const Resource extends string, Result>(
    resources: readonly Resource[],
    options: LockOptions,
    body: (lock: Lock<Resource>) => Promise<Result>,
  ): Promise<Result> {
    known('options', options, LOCK_KEYS);
    needed({ body });
    if (!Array.isArray(resources)) throw new SynodError('invalid_envelope', 'resources must be a list of names');
    return await lock(this.#connection, this.agent, this.name, resources, options, body);
  }

  /**
   * Shared state of the room under one namespace, e.g. `room.state('cfg')`: compare-and-set, transactions, expiry, watching.
   * @throws SynodError `invalid_envelope` where the namespace is no name.
   */
  state(namespace: string): StateStore {
    return new StateStore(this.#connection, this.agent, this.name, checkedNamespace(namespace));
  }

  /**
   * Configures the room's locks, and starts their workflows where they do not run: permits, the time for a rollback, shards.
   * For operators: `new Agent(client, 'operator:setup').room('lab')`. Not through a hub.
   * @returns how they are configured now.
   * @throws SynodError `invalid_envelope` naming the key, also where other `shards` were fixed by the first start;
   *   `unauthorized` where the agent is no operator.
   */
  async configureLocks(config: LockConfig): Promise<ConfiguredLocks> {
    known('config', config, LOCK_CONFIG_KEYS);
    return await configureLocks(this.#connection, this.agent, this.name, config);
  }

  /**
   * Stands for election as the coordinator of a role, and leads whenever it is elected: `run` is given the epoch, a signal and
   * a way to issue directives, while heartbeats are sent beside it. A `run` that ends because its signal has fired is called
   * again with the next epoch that is won; one that returns by itself has resigned, and this resolves; what else it throws is thrown here.
   * @throws SynodError `invalid_envelope` naming the field.
   */
  async coordinate(
    role: string,
    run: (leadership: Leadership) => Promise<void>,
    options: CoordinateOptions = {},
  ): Promise<void> {
    needed({ run });
    known('options', options, COORDINATE_KEYS);
    await coordinate(this.#connection, this.agent, this.name, role, run, options);
  }

  /**
   * Calls back with the directives of a role's coordinators in order, each once, over lost connections; those of an epoch older
   * than the highest that was received are dropped.
   * @returns a function that ends it.
   */
  onDirective(role: string, handler: (directive: Directive) => void, options: DirectiveOptions = {}): () => void {
    needed({ handler });
    known('options', options, DIRECTIVE_KEYS);
    return onDirective(this.#connection, this.agent, this.name, role, handler, options);
  }
}
