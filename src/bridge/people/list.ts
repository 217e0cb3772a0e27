import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import { OPERATOR_PREFIX, SYNOD } from '../../envelope/envelope.ts';
import { agentId } from '../../envelope/fields.ts';
import { explain, parseErrors } from '../../envelope/refusal.ts';

/** What can be allowed to a person one by one; looking (`!tasks`, `!locks`, `!who`, `!help`) is allowed to all who are listed. */
const ACTS = ['post', 'vote', 'resolve', 'release', 'cancel', 'pause', 'resume'] as const;
export type Act = (typeof ACTS)[number];

const agent = agentId.refine(
  (id) => id !== SYNOD && !id.startsWith(OPERATOR_PREFIX),
  `must not be ${SYNOD} and not start with "${OPERATOR_PREFIX}"`,
);
const operator = agentId.refine((id) => id.startsWith(OPERATOR_PREFIX), `must start with "${OPERATOR_PREFIX}"`);

const person = z.strictObject({
  /** Who the person is in the room. */
  agent,
  /** As whom the person sends what is for operators; without it, nothing of that. */
  operator: operator.optional(),
  /** Default: everything. */
  may: z.array(z.enum(ACTS, `must be one of ${ACTS.join(', ')}`)).optional(),
});
export type Person = z.infer<typeof person>;

const list = z.strictObject({
  people: byName(person),
  /** The agent as which the texts of all others are posted; without it they are not. */
  guests: agent.optional(),
});

/** Who may do what from one chat, by the service's own id of each person, byte for byte. */
export class People {
  readonly #people: ReadonlyMap<string, Person>;
  /** As whom the texts of people who are not listed are posted; undefined: they are not. */
  readonly guests: string | undefined;

  private constructor({ people, guests }: z.infer<typeof list>) {
    this.#people = new Map(Object.entries(people));
    this.guests = guests;
  }

  /**
   * Reads a list: `{ "people": { "<id in the chat>": { "agent", "operator"?, "may"? } }, "guests"? }`.
   * @throws Error that names the field.
   */
  static read(raw: unknown): People {
    const parsed = list.safeParse(raw, parseErrors);
    if (parsed.success) return new People(parsed.data);
    throw new Error(`the list of people: ${explain(parsed.error, 'it')}`);
  }

  /** Somebody who is listed. */
  of(author: string): Person | undefined {
    return this.#people.get(author);
  }

  /** Whether somebody here posts as this agent: one of the people, or the guests. */
  postsAs(agentOf: string): boolean {
    return agentOf === this.guests || [...this.#people.values()].some((one) => one.agent === agentOf);
  }
}

export function mayDo({ may }: Person, act: Act): boolean {
  return may === undefined || may.includes(act);
}
