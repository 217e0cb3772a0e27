/** The workflow types of Synod. In a workflows file of your own: `export * from 'synod/workflows'`. */
import './preload.ts';

export { coordinatorElection } from './coordinatorElection.ts';
export { room } from './room.ts';
export { taskLease } from './taskLease.ts';
