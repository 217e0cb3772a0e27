/** The worker's side of Synod: what a backend service that runs Temporal workers needs. */
export { createActivities, type UserActivities } from '../activities/index.ts';
export { SynodPlugin, type SynodPluginOptions } from './plugin.ts';
export { createWorker, type SynodWorkerOptions } from './worker.ts';
export type { EffectInput, PublishInput, SynodActivities } from './envelope/activities.ts';
export { DEFAULT_TASK_QUEUE, workflowIdOf, type AddressKind } from './envelope/address.ts';
