import type { Envelope } from '../../envelope/envelope.ts';
import { decisionMessages } from '../../envelope/decision.ts';
import type { CommonProperty, Observer } from '../observed.fixture.ts';

/** What must hold of a decision, whatever comes in whatever order. */
export type Property =
  | CommonProperty
  | 'no commit without a quorum'
  | 'only voters count'
  | 'one vote each'
  | 'no vote at or after the deadline'
  | 'the tally is what was voted'
  | 'no failure before it is certain'
  | 'it ends as soon as it is certain';

/** What an observer knows who only reads what is logged. */
export interface Seen {
  readonly terms: {
    readonly options: readonly string[];
    readonly voters: readonly string[];
    readonly quorum: number;
    readonly deadline: number;
  } | null;
  readonly votes: { readonly [voter: string]: string };
  readonly outcome: string | null;
}

function countOf({ votes }: Seen, choice: unknown): number {
  return Object.values(votes).filter((voted) => voted === choice).length;
}

function tallyOf(seen: Seen): string {
  return JSON.stringify(
    Object.fromEntries((seen.terms?.options ?? []).map((option) => [option, countOf(seen, option)])),
  );
}

/** Whether some option can still win. */
function canBeWon(seen: Seen): boolean {
  const { terms, votes } = seen;
  if (!terms) return true;
  const open = terms.voters.length - Object.keys(votes).length;
  return terms.options.some((option) => countOf(seen, option) + open >= terms.quorum);
}

function sorted(votes: unknown): string {
  return JSON.stringify(Object.entries(votes ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function readVote(seen: Seen, { from, choice }: Envelope, now: number): [Seen, Property[]] {
  const { terms, votes, outcome } = seen;
  const broken: Property[] = [];
  if (outcome !== null) broken.push('at most one outcome');
  if (!terms?.voters.includes(from) || typeof choice !== 'string' || !terms.options.includes(choice))
    return [seen, [...broken, 'only voters count']];
  if (Object.hasOwn(votes, from)) return [seen, [...broken, 'one vote each']];
  if (now >= terms.deadline) broken.push('no vote at or after the deadline');
  return [{ ...seen, votes: { ...votes, [from]: choice } }, broken];
}

export const observer: Observer<Seen, Property> = {
  nothing: { terms: null, votes: {}, outcome: null },

  read(seen, envelope, now) {
    const broken: Property[] = [];
    const { terms, outcome } = seen;
    switch (envelope.type) {
      case 'decision.propose': {
        const { options, voters, quorum, deadline_seconds } = decisionMessages['decision.propose'].parse(envelope);
        return [{ ...seen, terms: { options, voters, quorum, deadline: now + deadline_seconds * 1000 } }, broken];
      }
      case 'decision.vote':
        return readVote(seen, envelope, now);
      case 'decision.voted':
        if (JSON.stringify(envelope['tally']) !== tallyOf(seen)) broken.push('the tally is what was voted');
        return [seen, broken];
      case 'decision.commit':
        if (outcome !== null) broken.push('at most one outcome');
        if (!terms || countOf(seen, envelope['choice']) < terms.quorum) broken.push('no commit without a quorum');
        if (JSON.stringify(envelope['tally']) !== tallyOf(seen) || sorted(envelope['votes']) !== sorted(seen.votes))
          broken.push('the tally is what was voted');
        return [{ ...seen, outcome: envelope.type }, broken];
      case 'decision.failed': {
        if (outcome !== null) broken.push('at most one outcome');
        const { reason } = envelope;
        const early =
          (reason === 'deadline' && now < (terms?.deadline ?? 0)) || (reason === 'unreachable' && canBeWon(seen));
        if (early) broken.push('no failure before it is certain');
        return [{ ...seen, outcome: envelope.type }, broken];
      }
      default:
        return [seen, broken];
    }
  },

  rest(seen) {
    const { terms, outcome } = seen;
    if (!terms || outcome !== null) return [];
    const won = terms.options.some((option) => countOf(seen, option) >= terms.quorum);
    return won || !canBeWon(seen) ? ['it ends as soon as it is certain'] : [];
  },
};
