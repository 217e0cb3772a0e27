import { MAX_EFFECT_BYTES, utf8Bytes } from '../envelope/limits.ts';
import type { Effect } from '../protocols/protocol.ts';
import type { PendingEffect } from './snapshot.ts';

export interface EffectsSnapshot {
  readonly effects: readonly PendingEffect[];
  /** How many were ever started; absent in what revision 1 left. */
  readonly effects_issued?: number | undefined;
}

/** The effects that are to be run, each under an idempotency key that it keeps over tries and runs. */
export class Effects {
  readonly #prefix: string;
  #issued: number;
  #pending: PendingEffect[] = [];
  #escalationBytes = 0;

  /** @param prefix begins every key: the workflow's id, and when it was started, since its name may be taken anew. */
  constructor(prefix: string, snapshot: EffectsSnapshot = { effects: [] }) {
    this.#prefix = prefix;
    this.#issued = snapshot.effects_issued ?? 0;
    const keys = new Set<string>();
    for (const effect of snapshot.effects) {
      // Revision 1 gave several effects one key: the first keeps it, as it may have been tried under it.
      this.#add(keys.has(effect.key) ? { ...effect, key: this.#nextKey() } : effect);
      keys.add(effect.key);
    }
  }

  get pending(): readonly PendingEffect[] {
    return this.#pending;
  }

  get snapshot(): Required<EffectsSnapshot> {
    return { effects: this.#pending, effects_issued: this.#issued };
  }

  /** Starts one. An escalation past {@link MAX_EFFECT_BYTES} of them is not: the log has it. */
  start({ name, input }: Effect): void {
    const effect = { key: this.#nextKey(), name, input: { ...input } };
    if (name === 'escalate' && this.#escalationBytes + bytesOf(effect) > MAX_EFFECT_BYTES) return;
    this.#add(effect);
  }

  /** As {@link start}, under a key of revision 1. */
  startAs(key: string, { name, input }: Effect): void {
    this.#add({ key, name, input: { ...input } });
  }

  /** Takes out one that has ended. */
  end(key: string): PendingEffect | undefined {
    const ended = this.#pending.find((effect) => effect.key === key);
    if (!ended) return undefined;
    this.#pending = this.#pending.filter((effect) => effect !== ended);
    if (ended.name === 'escalate') this.#escalationBytes -= bytesOf(ended);
    return ended;
  }

  #nextKey(): string {
    this.#issued += 1;
    return `${this.#prefix}-${this.#issued}`;
  }

  #add(effect: PendingEffect): void {
    this.#pending = [...this.#pending, effect];
    if (effect.name === 'escalate') this.#escalationBytes += bytesOf(effect);
  }
}

function bytesOf(effect: PendingEffect): number {
  return utf8Bytes(JSON.stringify(effect)) + 1;
}
