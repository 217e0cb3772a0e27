import { barrierMessages } from '../../envelope/barrier.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { CommonProperty, Observer } from '../observed.fixture.ts';

/** What must hold of a barrier, whatever comes in whatever order. */
export type Property =
  | CommonProperty
  | 'it never opens early'
  | 'it never opens before its roster is complete'
  | 'only its roster counts'
  | 'who is in and who is missing is named'
  | 'no early time-out'
  | 'it never fails early'
  | 'it opens as soon as all are in';

/** What an observer knows who only reads what is logged. Rosters of up to 32 members are logged whole. */
export interface Seen {
  readonly terms: {
    readonly opener: string;
    readonly fallback: string;
    readonly quorum: number | null;
    readonly timeout: number;
  } | null;
  readonly roster: readonly string[];
  readonly complete: boolean;
  readonly arrived: readonly string[];
  readonly left: readonly string[];
  /** Null while it is escalated. */
  readonly deadline: number | null;
  readonly resolved: string | null;
  readonly outcome: string | null;
}

function missingOf({ roster, arrived, left }: Seen): string[] {
  return roster.filter((member) => !arrived.includes(member) && !left.includes(member));
}

/** Whether what is named is what was seen. */
function names(seen: Seen, envelope: Envelope, released: boolean): boolean {
  const missing = missingOf(seen);
  const lists: { [list: string]: readonly string[] } = {
    arrived: seen.arrived,
    missing: released ? [] : missing,
    dropped: released ? [...seen.left, ...missing] : seen.left,
  };
  return Object.entries(lists).every(
    ([list, wanted]) =>
      (envelope[list] === undefined || JSON.stringify(envelope[list]) === JSON.stringify(wanted)) &&
      envelope[`${list}_count`] === wanted.length,
  );
}

function readMove(seen: Seen, { type, from }: Envelope): [Seen, Property[]] {
  const { roster, arrived, left } = seen;
  const broken: Property[] = seen.outcome === null ? [] : ['at most one outcome'];
  if (!roster.includes(from) || left.includes(from)) return [seen, [...broken, 'only its roster counts']];
  if (type === 'barrier.leave')
    return [{ ...seen, arrived: arrived.filter((member) => member !== from), left: [...left, from] }, broken];
  if (arrived.includes(from)) return [seen, [...broken, 'only its roster counts']];
  return [{ ...seen, arrived: [...arrived, from] }, broken];
}

function readEnd(seen: Seen, envelope: Envelope, now: number): [Seen, Property[]] {
  const { terms, complete, arrived, deadline, resolved, outcome } = seen;
  const released = envelope.type === 'barrier.released';
  const broken: Property[] = outcome === null ? [] : ['at most one outcome'];
  if (!names(seen, envelope, released)) broken.push('who is in and who is missing is named');
  const late = deadline !== null && now >= deadline;
  const all = complete && missingOf(seen).length === 0;
  if (released) {
    const enough =
      late && terms?.fallback === 'proceed' && terms.quorum !== null && arrived.length >= (terms.quorum ?? 0);
    if (!complete) broken.push('it never opens before its roster is complete');
    else if (!(all && arrived.length > 0) && !enough && resolved !== 'proceed') broken.push('it never opens early');
  } else if (!(all && arrived.length === 0) && !(late && terms?.fallback === 'fail') && resolved !== 'fail')
    broken.push('it never fails early');
  return [{ ...seen, outcome: envelope.type }, broken];
}

export const observer: Observer<Seen, Property> = {
  nothing: {
    terms: null,
    roster: [],
    complete: false,
    arrived: [],
    left: [],
    deadline: null,
    resolved: null,
    outcome: null,
  },

  read(seen, envelope, now) {
    switch (envelope.type) {
      case 'barrier.open': {
        const { roster, more, fallback, quorum, timeout_seconds, from } =
          barrierMessages['barrier.open'].parse(envelope);
        const timeout = timeout_seconds * 1000;
        const terms = { opener: from, fallback, quorum: quorum ?? null, timeout };
        return [{ ...seen, terms, roster, complete: !more, deadline: now + timeout }, []];
      }
      case 'barrier.roster': {
        const { roster, more, from } = barrierMessages['barrier.roster'].parse(envelope);
        const next = { ...seen, roster: [...seen.roster, ...roster], complete: !more };
        return [next, from === seen.terms?.opener && !seen.complete ? [] : ['only its roster counts']];
      }
      case 'barrier.checkin':
      case 'barrier.leave':
        return readMove(seen, envelope);
      case 'barrier.resolve': {
        const { action, extend_seconds: seconds } = barrierMessages['barrier.resolve'].parse(envelope);
        if (action !== 'extend') return [{ ...seen, resolved: action }, []];
        const extended = seconds === undefined ? (seen.terms?.timeout ?? 0) : seconds * 1000;
        return [{ ...seen, deadline: now + extended }, []];
      }
      case 'barrier.waiting':
        return [seen, names(seen, envelope, false) ? [] : ['who is in and who is missing is named']];
      case 'barrier.escalated': {
        const broken: Property[] = names(seen, envelope, false) ? [] : ['who is in and who is missing is named'];
        if (seen.deadline === null || now < seen.deadline || seen.terms?.fallback === 'fail')
          broken.push('no early time-out');
        return [{ ...seen, deadline: null }, broken];
      }
      case 'barrier.released':
      case 'barrier.failed':
        return readEnd(seen, envelope, now);
      default:
        return [seen, []];
    }
  },

  rest(seen) {
    const { complete, arrived, outcome } = seen;
    return outcome === null && complete && arrived.length > 0 && missingOf(seen).length === 0
      ? ['it opens as soon as all are in']
      : [];
  },
};
