import { workflowIdOf, type Target } from './address.ts';
import type { Json } from './fields.ts';
import { lockManagerId } from './shards.ts';

type Config = { readonly [key: string]: Json };

/** Where the messages of each primitive go, and which workflow that is. */
export function taskTarget(room: string, taskId: string, config?: Config): Target {
  return {
    room,
    workflowType: 'taskLease',
    workflowId: workflowIdOf(room, 'task', taskId),
    opening: 'task.announce',
    config,
  };
}

export function coordinatorTarget(room: string, role: string): Target {
  return { room, workflowType: 'coordinatorElection', workflowId: workflowIdOf(room, 'coordinator', role) };
}

export function proposalTarget(room: string, proposalId: string, config?: Config): Target {
  return {
    room,
    workflowType: 'quorumProposal',
    workflowId: workflowIdOf(room, 'proposal', proposalId),
    opening: 'decision.propose',
    config,
  };
}

export function barrierTarget(room: string, phase: string, config?: Config): Target {
  return {
    room,
    workflowType: 'barrier',
    workflowId: workflowIdOf(room, 'barrier', phase),
    opening: 'barrier.open',
    config,
  };
}

/** A room's lock manager, or one of its shards. */
export function locksTarget(room: string, shard?: number, config?: Config): Target {
  return { room, workflowType: 'lockManager', workflowId: lockManagerId(room, shard), config };
}

/** The shared state of a room under one namespace. */
export function stateTarget(room: string, namespace: string): Target {
  return { room, workflowType: 'stateStore', workflowId: workflowIdOf(room, 'state', namespace) };
}

export function roomTarget(room: string): Target {
  return { room, workflowType: 'room', workflowId: workflowIdOf(room, 'room') };
}

/** The ledger of a chat that a room is mirrored to. */
export function ledgerTarget(room: string, chat: string): Target {
  return { room, workflowType: 'chatLedger', workflowId: workflowIdOf(room, 'bridge', chat) };
}
