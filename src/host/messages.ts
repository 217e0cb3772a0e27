import type { ConfigSet } from '../envelope/calls.ts';
import { bodyHash, identityOf, type Base, type Envelope } from '../envelope/envelope.ts';
import { formatTimestamp } from '../envelope/fields.ts';
import { UNOPENED_SECONDS } from '../envelope/limits.ts';
import { isRefusalCode, refusal, type Refusal } from '../envelope/refusal.ts';
import type { Decided, Decision, Outgoing, Verdict } from '../protocols/protocol.ts';
import { checkAddress, checkExpiry, shape } from './checks.ts';
import type { Core } from './core.ts';
import type { Memo } from './memory.ts';
import { RefusalQuota } from './quota.ts';
import { fit, isAcceptance, refused, type Answered } from './stamp.ts';

/** How a message came: an update is answered, a signal is not. */
export type Via = 'update' | 'signal';

/** A message that passed the checks of its shape. */
type Parsed<M> =
  { readonly kind: 'message'; readonly message: M } | { readonly kind: 'config'; readonly message: ConfigSet };

/** Digits of a body's hash that an identity keeps. */
const BODY_DIGITS = 24;

/**
 * Handles the messages of one workflow: shape, role, repeat, hops, expiry, address, and then the protocol, in this order.
 * Only what the protocol decided is remembered.
 */
export class Messages<S, M extends Base> {
  readonly #core: Core<S, M>;
  readonly #quota = new RefusalQuota();

  constructor(core: Core<S, M>) {
    this.#core = core;
  }

  /**
   * The replies to one message, as the workflow's state makes true.
   * @param early in its request it stood before the opening of the workflow.
   */
  handle(raw: unknown, via: Via, early = false): Envelope[] {
    const { counters, protocol } = this.#core;
    counters.received += 1;
    const shaped = shape(raw, protocol);
    if (shaped.kind === 'refused')
      return this.#refuse(shaped.refusal, { from: shaped.sender, id: shaped.id }, undefined, via);
    if (shaped.kind === 'unhandled') {
      counters.unhandled += 1;
      return [];
    }
    return this.#check(raw, shaped, via, early);
  }

  #check(raw: unknown, parsed: Parsed<M>, via: Via, early: boolean): Envelope[] {
    const core = this.#core;
    const message: Base = parsed.message;
    const { from, key } = identityOf(message);
    const body = bodyHash(message);
    const memo = core.memory.recall(from, key) ?? this.#known(parsed, body);
    if (memo === 'other') return this.#conflict(message, key, via);
    if (memo)
      return memo.body === body.slice(0, BODY_DIGITS)
        ? this.#repeat(parsed, memo, via)
        : this.#conflict(message, key, via);
    if (message.max_hops === 0) {
      core.counters.hops_exhausted += 1;
      return [];
    }
    const fault =
      checkExpiry(message, core.now) ?? checkAddress(raw, message, core.protocol, core.room, core.workflowId);
    if (fault) return this.#refuse(fault, message, message.reply_to, via);
    if (early && core.opened) return this.#refuse(tooEarly(core.workflowId), message, message.reply_to, via);
    const opens = core.completes && message.type === core.protocol.opening;
    if (opens && core.opened) return this.#conflict(message, key, via);
    const decision = this.#unopened(opens) ?? this.#decide(parsed);
    if ('refuse' in decision) {
      const { code, reason } = decision.refuse;
      // Over the budget nothing changed: the same message may succeed later.
      if (code !== 'over_limit') this.#remember(message, body, ['refused', code, reason], 0, false);
      return this.#refuse(decision.refuse, message, message.reply_to, via, code === 'over_limit' ? undefined : 0);
    }
    if (opens) core.opened = { from, idempotency_key: key, body_hash: body };
    core.counters.accepted += 1;
    if (message.reply_to !== undefined) core.subscribers.subscribe(from, message.reply_to);
    const { verdict = ['accepted'], transient = false, note = {}, pin = false } = decision;
    const quiet = transient || (decision.quiet ?? false);
    const outgoing = this.#answers(parsed, verdict, decision.state);
    const seq = core.log.nextSeq;
    if (!quiet) core.append(fit({ ...asLogged(message, note), seq }));
    if (!transient) this.#remember(message, body, verdict, quiet ? 0 : seq + 1, pin);
    const replies = outgoing.map((reply, i) =>
      quiet ? core.stamp.unlogged(reply, i, core.now, message) : core.reply(reply, seq, message),
    );
    if (quiet) for (const reply of replies) core.subscribers.send(reply);
    core.commit(decision);
    return replies;
  }

  /** What the state still shows of a message whose identity was evicted; `other` where the same identity had another body. */
  #known(parsed: Parsed<M>, body: string): Memo | 'other' | undefined {
    const { protocol, state, context, revision, now } = this.#core;
    if (parsed.kind !== 'message' || revision < 2) return undefined;
    const verdict = protocol.known?.(state, parsed.message, context);
    if (verdict === undefined || verdict === 'other') return verdict;
    this.#remember(parsed.message, body, verdict, 0, false);
    return { body: body.slice(0, BODY_DIGITS), verdict, seq: 0, at: now };
  }

  #decide(parsed: Parsed<M>): Decision<S> {
    const core = this.#core;
    if (parsed.kind === 'message') return core.decide({ kind: 'message', message: parsed.message });
    const fault = core.config.merge(parsed.message.config);
    if (fault !== undefined) return { refuse: refusal('over_limit', fault) };
    core.log.retain = core.config.retain;
    return { ...core.decide({ kind: 'config' }), verdict: ['configured'] };
  }

  /** What everything but a first opening gets while nobody has opened the workflow. */
  #unopened(opens: boolean): { refuse: Refusal } | undefined {
    const core = this.#core;
    if (!core.completes || core.opened || (opens && !core.spoiled)) return undefined;
    const free = formatTimestamp(core.started + UNOPENED_SECONDS * 1000);
    return {
      refuse: refusal(
        'closed',
        `${core.workflowId} was not opened by its first request; its name is free again at ${free}`,
      ),
    };
  }

  /** The replies that a verdict stands for, now or for a repeat. */
  #answers(parsed: Parsed<M>, verdict: Verdict, state: S): readonly Outgoing[] {
    const { protocol } = this.#core;
    const to = parsed.message.from;
    const [kind, code, reason] = verdict;
    if (kind === 'refused' && isRefusalCode(code)) return [refused({ code, reason: String(reason) }, to)];
    if (parsed.kind === 'config') return [{ type: 'config.accepted', to, config: parsed.message.config }];
    const replies = protocol.answer(parsed.message, verdict, state);
    return replies.length > 0 ? replies : [{ type: `${protocol.area}.accepted`, to }];
  }

  /** The first reply again, and then what became of it. */
  #repeat(parsed: Parsed<M>, memo: Memo, via: Via): Envelope[] {
    const { stamp, counters, state, protocol, subscribers, now } = this.#core;
    counters.repeated += 1;
    const { message } = parsed;
    const first = this.#answers(parsed, memo.verdict, state);
    const since =
      parsed.kind === 'message' && memo.verdict[0] !== 'refused'
        ? protocol.since(state, parsed.message, memo.verdict)
        : [];
    const again =
      memo.seq > 0
        ? this.#core.replied(first, memo.seq - 1, memo.at, message)
        : first.map((reply, i) => stamp.unlogged(reply, i, memo.at, message));
    const replies = [
      ...again,
      ...since.map((reply, i) => stamp.unlogged(reply, `since ${counters.received} ${i}`, now, message)),
    ];
    const { reply_to: replyTo } = message;
    if (replyTo !== undefined) {
      subscribers.subscribe(message.from, replyTo);
      for (const envelope of replies) subscribers.deliver({ to: replyTo, envelope });
    } else if (via === 'signal' && (memo.verdict[0] !== 'refused' || this.#quota.allows(message.from, now))) {
      // Its sender has no other way to be answered than the log, where an accepted message stands already.
      for (const [i, reply] of [...first, ...since].entries())
        if (this.#core.revision < 2 || !isAcceptance(reply))
          this.#core.emit(reply, i < first.length ? memo.at : now, message);
    }
    return replies;
  }

  #conflict(message: Base, key: string, via: Via): Envelope[] {
    const { opened, protocol, workflowId } = this.#core;
    const reason =
      message.type === protocol.opening && opened && opened.idempotency_key !== key
        ? `${workflowId} was opened by another message, of ${opened.from}`
        : `idempotency_key "${key}" of ${message.from} was used for another message`;
    return this.#refuse(refusal('idempotency_conflict', reason), message, message.reply_to, via);
  }

  /** `index` marks the reply: a remembered refusal is the same when it is repeated, any other is one of its own. */
  #refuse(why: Refusal, answers: Answered, replyTo: string | undefined, via: Via, index?: number): Envelope[] {
    const core = this.#core;
    core.counters.refused += 1;
    const outgoing = refused(why, answers.from);
    const reply = core.stamp.unlogged(outgoing, index ?? `refused ${core.counters.received}`, core.now, answers);
    if (replyTo !== undefined) core.subscribers.deliver({ to: replyTo, envelope: reply });
    if (via === 'signal' && answers.from !== undefined && this.#quota.allows(answers.from, core.now)) {
      core.append(core.stamp.logged(outgoing, core.log.nextSeq, core.now, answers));
    }
    return [reply];
  }

  #remember(message: Base, body: string, verdict: Verdict, seq: number, pin: boolean): void {
    const { from, key } = identityOf(message);
    this.#core.memory.remember(from, key, { body: body.slice(0, BODY_DIGITS), verdict, seq, at: this.#core.now }, pin);
  }
}

/** Not remembered: the same message is decided anew. */
function tooEarly(workflowId: string): Refusal {
  return refusal(
    'unknown',
    `${workflowId} was not open yet: its opening comes later in the same request; send the same again`,
  );
}

/** A message without what is only between its sender and the workflow, and as the protocol wants it read. */
function asLogged(message: Base, note: NonNullable<Decided<unknown>['note']>): Envelope {
  const logged: { -readonly [Field in keyof Envelope]: Envelope[Field] } = { ...message, ...note };
  delete logged.reply_to;
  for (const [field, value] of Object.entries(note)) if (value === undefined) delete logged[field];
  return logged;
}
