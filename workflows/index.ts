/** The workflow types of Synod. In a workflows file of your own: `export * from 'synod/workflows'`. */
import './preload.ts';

export { barrier } from './barrier.ts';
export { chatLedger } from './chatLedger.ts';
export { coordinatorElection } from './coordinatorElection.ts';
export { quorumProposal } from './quorumProposal.ts';
export { lockManager } from './lockManager.ts';
export { room } from './room.ts';
export { stateStore } from './stateStore.ts';
export { taskLease } from './taskLease.ts';
