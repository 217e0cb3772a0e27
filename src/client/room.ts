import type { Hub } from './hub.ts';
import { roomTarget } from './targets.ts';

/** A room as one agent sees it: `agent.room('lab')`. What several agents decide together is done here. */
export class Room {
  readonly name: string;
  /** The agent that speaks. */
  readonly agent: string;
  readonly #hub: Hub;

  /** @internal */
  constructor(hub: Hub, agent: string, name: string) {
    this.#hub = hub;
    this.agent = agent;
    this.name = name;
  }

  /** The room's public state: how it is configured, what it has counted; undefined where nobody has opened it. */
  async view(): ReturnType<Hub['view']> {
    return await this.#hub.view(roomTarget(this.name).workflowId);
  }
}
