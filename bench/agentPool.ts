import { fork, type ChildProcess } from 'node:child_process';
import { fromProcess, type Order, type Outcome, type ToProcess } from './orders.ts';

/** How much longer than ordered a process may take, in milliseconds, before the bench gives up. */
const PATIENCE_MS = 120_000;

/** One process of agents, with one order at a time. */
class Member {
  readonly #child: ChildProcess;
  #onReady: () => void = () => undefined;
  #onOutcome: (outcome: Outcome) => void = () => undefined;
  #onFault: (error: Error) => void = () => undefined;

  constructor(script: string) {
    this.#child = fork(script, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] });
    this.#child.on('message', (raw) => {
      const message = fromProcess.parse(raw);
      if (message.kind === 'ready') this.#onReady();
      else this.#onOutcome(message);
    });
    this.#child.once('exit', () => this.#onFault(new Error('a process of agents has ended; its output is above')));
  }

  /** Sends the order; `ready` resolves when it can begin, `outcome` when it is done. */
  order(order: Order): { ready: Promise<void>; outcome: Promise<Outcome> } {
    let late: NodeJS.Timeout | undefined;
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.#onOutcome = resolve;
      this.#onFault = reject;
      const fault = new Error(`a process of agents has not finished an order of ${order.seconds} s`);
      late = setTimeout(() => reject(fault), order.seconds * 1000 + PATIENCE_MS);
    });
    const ready = new Promise<void>((resolve) => (this.#onReady = resolve));
    this.#send({ kind: 'order', order });
    return { ready, outcome: outcome.finally(() => clearTimeout(late)) };
  }

  go(): void {
    this.#send({ kind: 'go' });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #send(message: ToProcess): void {
    this.#child.send(message);
  }
}

/** The processes of agents, started when first needed and reused. */
export class AgentPool {
  readonly #script: string;
  readonly #members: Member[] = [];

  constructor(script: string) {
    this.#script = script;
  }

  /** Each order goes to a process of its own; all begin together once all are ready. */
  async run(orders: readonly Order[], meanwhile: () => Promise<void> = async () => undefined): Promise<Outcome[]> {
    const runs = orders.map((order, i) => {
      const member = (this.#members[i] ??= new Member(this.#script));
      return { member, ...member.order(order) };
    });
    const outcomes = Promise.all(runs.map(({ outcome }) => outcome));
    await Promise.race([Promise.all(runs.map(({ ready }) => ready)), outcomes]);
    for (const { member } of runs) member.go();
    await meanwhile();
    return await outcomes;
  }

  end(): void {
    for (const member of this.#members) member.kill();
  }
}
