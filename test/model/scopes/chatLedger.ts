import { bridgeMessages, type BridgeMessage, type BridgePlace } from '../../../src/envelope/bridge.ts';
import { canonicalJson } from '../../../src/envelope/canonical.ts';
import { json, type Json } from '../../../src/envelope/fields.ts';
import { chatLedger, type LedgerState } from '../../../src/protocols/bridge/protocol.ts';
import type { Protocol } from '../../../src/protocols/protocol.ts';
import type { Move, Scope } from '../explore.ts';

export type LedgerProperty =
  | 'nothing is lost'
  | 'in order, without a gap'
  | 'a repeat is marked'
  | 'no repeat where the chat can be asked'
  | 'one poster at a time'
  | 'the poster is understood';

export interface LedgerScopeOptions {
  /** Into how many parts each entry is split. */
  readonly parts: readonly number[];
  /** How often a bridge is killed, and how often the outcome of a post stays unknown. */
  readonly kills: number;
  readonly unknowns: number;
  /** Whether the chat can be asked what became of a post. */
  readonly asked: boolean;
  /** A bridge that does not look before it posts what may be there. */
  readonly blind?: boolean;
  readonly protocol?: Protocol<LedgerState, BridgeMessage>;
}

interface Post {
  readonly entry: number;
  readonly part: number;
  readonly marked: boolean;
}

/** A bridge that posts, as it sees itself. */
interface Poster {
  readonly epoch: number;
  readonly place: Omit<BridgePlace, 'doubt'>;
  /** What it has written down and not settled. */
  readonly post?: Post | undefined;
  /** It may be there already; it is there. */
  readonly doubted: boolean;
  readonly posted: boolean;
  /** Until when nobody else can have taken over. */
  readonly validUntil: number;
}

interface Node {
  readonly ledger: LedgerState;
  readonly now: number;
  readonly bridges: readonly (Poster | null)[];
  readonly chat: readonly Post[];
  readonly kills: number;
  readonly unknowns: number;
}

const TICK_MS = 1_000;
const chat = 'matrix:!lab';
const keyOf = ({ entry, part }: { entry: number; part: number }): string => `k${entry}.${part}`;

/**
 * Two bridges of one chat, as `runBridge` drives them: take, write down, look, mark, post, settle. Either may be killed
 * between any two steps, or be slow while its lease runs out; a post may arrive or not without an answer. One thing is taken
 * for granted: between a bridge's look at its lease and its post no time passes (the docs say what follows where some does).
 */
export function ledgerScope(name: string, options: LedgerScopeOptions): Scope<Node> {
  const { protocol = chatLedger, parts, asked, blind = false } = options;
  const entries = parts.length;

  /** A message to the ledger: its next state, or why it refuses. */
  function decide(
    node: Node,
    bridge: number,
    fields: { readonly type: keyof typeof bridgeMessages; [field: string]: Json },
  ) {
    const from = `bridge:${bridge}`;
    const message = bridgeMessages[fields.type].parse({ id: 'm', from, ts: '', chat, ...fields });
    const context = { now: node.now, room: 'lab', workflowId: 'w', config: {}, revision: 2, decided: () => false };
    const decision = protocol.decide(node.ledger, { kind: 'message', message }, context);
    return 'refuse' in decision ? { refused: decision.refuse.code } : { ledger: decision.state };
  }

  function move(
    label: string,
    node: Node,
    bridge: number,
    poster: Poster | null,
    changes: Partial<Node> = {},
  ): Move<Node> {
    const bridges = node.bridges.map((one, i) => (i === bridge ? poster : one));
    const next = { ...node, ...changes, bridges };
    const valid = bridges.filter((one) => one && one.validUntil > next.now);
    return { label: `bridge ${bridge} ${label}`, next, broken: valid.length > 1 ? ['one poster at a time'] : [] };
  }

  /** A message of a poster to the ledger; refused, it is no poster any more. */
  function send(
    label: string,
    node: Node,
    bridge: number,
    poster: Poster,
    fields: Parameters<typeof decide>[2],
    then: (ledger: LedgerState) => Partial<Poster>,
  ): Move<Node> {
    const answer = decide(node, bridge, { ...fields, epoch: poster.epoch });
    if (!answer.ledger) {
      const lost = answer.refused === 'stale_epoch' || answer.refused === 'not_holder';
      const refused = move(`${label}, and is answered ${answer.refused}`, node, bridge, null);
      return lost ? refused : { ...refused, broken: ['the poster is understood'] };
    }
    const { ledger } = answer;
    const next = { ...poster, validUntil: node.now + TICK_MS, ...then(ledger) };
    const moved = move(label, node, bridge, next, { ledger });
    const whole = Array.from({ length: ledger.place.after }, (_, i) => i + 1).every((entry) =>
      Array.from({ length: parts[entry - 1] ?? 0 }, (_, part) => keyOf({ entry, part })).every((key) =>
        node.chat.some((post) => keyOf(post) === key),
      ),
    );
    return whole ? moved : { ...moved, broken: [...moved.broken, 'nothing is lost'] };
  }

  function take(node: Node, bridge: number): Move<Node> | undefined {
    const { ledger } = decide(node, bridge, { type: 'bridge.take', lease_seconds: TICK_MS / 1_000, cursor: 0 });
    if (!ledger) return undefined;
    const { doubt, ...place } = ledger.place;
    const post = doubt && { entry: doubt.last, part: doubt.part, marked: doubt.text.startsWith('marked') };
    const validUntil = node.now + TICK_MS;
    const poster = { epoch: ledger.epoch, place, post, doubted: post !== undefined, posted: false, validUntil };
    return move('takes over', node, bridge, poster, { ledger });
  }

  function write(
    label: string,
    node: Node,
    bridge: number,
    poster: Poster,
    post: Post,
    then: Partial<Poster>,
  ): Move<Node> {
    const { entry, part, marked } = post;
    const text = `${marked ? 'marked ' : ''}${keyOf(post)}`;
    const whole = `w${entry}`;
    const count = parts[entry - 1] ?? 0;
    const fields = { after: poster.place.after, part, key: keyOf(post), text, last: entry, parts: count, whole };
    return send(label, node, bridge, poster, { type: 'bridge.send', ...fields }, () => ({ post, ...then }));
  }

  /** The post arrives, or not; the bridge gets an answer, or not. */
  function* attempts(node: Node, bridge: number, poster: Poster, post: Post): Iterable<Move<Node>> {
    const before = node.chat.map(keyOf);
    const broken: LedgerProperty[] = [];
    if (before.includes(keyOf(post))) {
      if (asked) broken.push('no repeat where the chat can be asked');
      if (!post.marked) broken.push('a repeat is marked');
    } else {
      const order = parts.flatMap((count, i) =>
        Array.from({ length: count }, (_, part) => keyOf({ entry: i + 1, part })),
      );
      if (order[new Set(before).size] !== keyOf(post)) broken.push('in order, without a gap');
    }
    // Of a repeat nothing more is read.
    const arrived = { chat: before.includes(keyOf(post)) ? node.chat : [...node.chat, post] };
    const answer = move(`posts ${keyOf(post)}`, node, bridge, { ...poster, posted: true, doubted: false }, arrived);
    yield { ...answer, broken: [...answer.broken, ...broken] };
    if (node.unknowns === 0) return;
    const unknown = { unknowns: node.unknowns - 1 };
    const unsure = { ...poster, doubted: true };
    const taken = move(`posts ${keyOf(post)}, no answer`, node, bridge, unsure, { ...arrived, ...unknown });
    yield { ...taken, broken: [...taken.broken, ...broken] };
    yield move(`posts ${keyOf(post)} in vain, no answer`, node, bridge, unsure, unknown);
  }

  function* steps(node: Node, bridge: number, poster: Poster): Iterable<Move<Node>> {
    const { post, place } = poster;
    if (!post) {
      const next = { entry: place.after + 1, part: place.part, marked: false };
      if (place.after < entries)
        yield write(`writes ${keyOf(next)} down`, node, bridge, poster, next, { doubted: false });
      return;
    }
    if (poster.posted) {
      const settle = { key: keyOf(post), outcome: 'posted', post_id: '$1' };
      yield send(`settles ${keyOf(post)}`, node, bridge, poster, { type: 'bridge.settle', ...settle }, (ledger) => ({
        place: ledger.place,
        post: undefined,
        posted: false,
      }));
      return;
    }
    if (poster.validUntil <= node.now) {
      yield send('renews', node, bridge, poster, { type: 'bridge.renew' }, () => ({}));
    } else if (!poster.doubted || blind) {
      yield* attempts(node, bridge, poster, post);
    } else if (asked) {
      const posted = node.chat.some((one) => keyOf(one) === keyOf(post));
      yield move(posted ? 'finds it' : 'finds nothing', node, bridge, { ...poster, posted, doubted: false });
    } else {
      yield write('marks it', node, bridge, poster, { ...post, marked: true }, { doubted: false });
    }
  }

  return {
    name,
    start: () => ({
      label: 'start',
      next: {
        ledger: protocol.initial(),
        now: 0,
        bridges: [null, null],
        chat: [],
        kills: options.kills,
        unknowns: options.unknowns,
      },
      broken: [],
    }),
    *moves(node) {
      const { poster } = node.ledger;
      if (poster && poster.until > node.now)
        yield { label: 'a tick passes', next: { ...node, now: node.now + TICK_MS }, broken: [] };
      for (const [i, bridge] of node.bridges.entries()) {
        if (bridge) yield* steps(node, i, bridge);
        else {
          const taken = take(node, i);
          if (taken) yield taken;
        }
        if (bridge && node.kills > 0) yield move('is killed', node, i, null, { kills: node.kills - 1 });
      }
    },
    // Times and epochs as they are from now.
    key({ ledger, now, bridges, ...rest }) {
      const { epoch, poster, place } = ledger;
      const left = (at: number) => Math.max(0, at - now);
      const faces = [0, 1].map((first) => [first, 1 - first]);
      const face = (order: readonly number[]) =>
        canonicalJson(
          json.parse({
            ...rest,
            place,
            poster: poster ? [order.indexOf(Number(poster.id.slice(-1))), left(poster.until)] : [],
            bridges: order.map((i) => {
              const one = bridges[i];
              if (!one) return null;
              return { ...one, post: one.post ?? null, epoch: one.epoch === epoch, validUntil: left(one.validUntil) };
            }),
          }),
        );
      return faces.map(face).toSorted()[0] ?? '';
    },
  };
}
