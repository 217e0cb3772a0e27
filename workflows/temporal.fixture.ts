import { vi } from 'vitest';

type Handler = (argument: unknown) => unknown;

/** A promise that is settled from outside. */
export interface Gate {
  readonly promise: Promise<void>;
  open(): void;
}

function gate(): Gate {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open: () => open() };
}

class Scope {
  cancelled = false;
  constructor(scopes: Scope[]) {
    scopes.push(this);
  }
  run<T>(work: () => T): T {
    return work();
  }
  cancel(): void {
    this.cancelled = true;
  }
}

/** What a run was continued with. */
export class Continued extends Error {
  readonly argument: unknown;
  constructor(argument: unknown) {
    super('continued as new');
    this.argument = argument;
  }
}

/** The least of Temporal that a workflow needs, without a server: nothing ends by itself, and the test says when. */
export class FakeTemporal {
  readonly handlers = new Map<string, Handler>();
  readonly scopes: Scope[] = [];
  /** The signals under way, and the publications. */
  readonly signals: Gate[] = [];
  readonly publications: Gate[] = [];
  historyLength = 10;
  #conditions: { readonly holds: () => boolean; readonly resolve: (held: boolean) => void }[] = [];
  readonly #workflowId: string;

  constructor(workflowId: string) {
    this.#workflowId = workflowId;
  }

  /** Lets everything happen that can. */
  async settle(): Promise<void> {
    for (let i = 0; i < 50; i++) {
      await Promise.resolve();
      const met = this.#conditions.filter(({ holds }) => holds());
      this.#conditions = this.#conditions.filter((each) => !met.includes(each));
      for (const { resolve } of met) resolve(true);
    }
  }

  /** The module `@temporalio/workflow`, as far as it is used. */
  readonly module = {
    CancellationScope: Scope.bind(null, this.scopes),
    ApplicationFailure: { create: (options: object) => Object.assign(new Error('failed'), options) },
    defineSignal: (name: string) => ({ name }),
    defineUpdate: (name: string) => ({ name }),
    defineQuery: (name: string) => ({ name }),
    setHandler: ({ name }: { name: string }, handler: Handler) => void this.handlers.set(name, handler),
    patched: () => true,
    workflowInfo: () => ({
      workflowId: this.#workflowId,
      historyLength: this.historyLength,
      continueAsNewSuggested: false,
    }),
    setCurrentDetails: () => undefined,
    upsertMemo: () => undefined,
    allHandlersFinished: () => true,
    isCancellation: () => false,
    log: { warn: () => undefined },
    sleep: () => new Promise<void>(() => undefined),
    condition: (holds: () => boolean) =>
      holds() ? Promise.resolve(true) : new Promise<boolean>((resolve) => this.#conditions.push({ holds, resolve })),
    proxyActivities: () => ({
      synodPublish: { executeWithOptions: () => this.#under(this.publications) },
      synodEscalate: { executeWithOptions: () => new Promise(() => undefined) },
      synodRollback: { executeWithOptions: () => new Promise(() => undefined) },
    }),
    getExternalWorkflowHandle: () => ({ signal: () => this.#under(this.signals) }),
    continueAsNew: (argument: unknown) => Promise.reject(new Continued(argument)),
  };

  #under(gates: Gate[]): Promise<void> {
    const one = gate();
    gates.push(one);
    return one.promise;
  }
}

/** Loads the workflows on a fake. */
export async function loadHost(temporal: FakeTemporal) {
  vi.resetModules();
  vi.doMock('@temporalio/workflow', () => temporal.module);
  const { runHost } = await import('./host.ts');
  const { lockManager } = await import('../src/protocols/lock/protocol.ts');
  return { runHost, lockManager };
}
