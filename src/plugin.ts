import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { createActivities, type UserActivities } from '../activities/index.ts';

/** Options of {@link SynodPlugin}: activities of your own. Each may run more than once, always with the same `key`. */
export type SynodPluginOptions = UserActivities;

/** What the module that merges two sets of workflows imports the user's by. */
const USERS_WORKFLOWS = '__synod_users_workflows';

/**
 * How long one workflow task may take in the sandbox. The SDK's five seconds are less than it takes to replay the ten thousand
 * signals that a run may hold after a storm, and running into it there ends the whole worker.
 */
const TUNING = { isolateExecutionTimeout: '60 seconds' };

type Webpack = NonNullable<BundleOptions['webpackConfigHook']>;

/**
 * Adds Synod to a Temporal worker: its workflows, its activities, and yours for what it asks of you.
 *
 * Give it to the worker, to the connection that the worker uses, or to both: it applies once. Where you bundle the
 * workflows yourself, give it to `bundleWorkflowCode` as well: a bundle that was made without it has no workflows of Synod.
 *
 * Your own `workflowsPath` is kept: the bundle then holds both. `export * from 'synod/workflows'` in your workflows says the
 * same, and may stand beside it.
 *
 * @example
 * const worker = await Worker.create({ connection, taskQueue: 'synod', plugins: [new SynodPlugin()] });
 */
export class SynodPlugin extends SimplePlugin {
  readonly #activities: UserActivities;

  constructor(options: SynodPluginOptions = {}) {
    super({ name: 'synod' });
    this.#activities = options;
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const configured = super.configureWorker(options);
    return {
      ...TUNING,
      ...configured,
      // What is there already stays: a second application changes nothing.
      activities: { ...createActivities(this.#activities), ...configured.activities },
      ...(configured.workflowsPath === undefined && configured.workflowBundle === undefined
        ? { workflowsPath: moduleAt('workflows') }
        : {}),
    };
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    const configured = super.configureBundler(options);
    const own = moduleAt('workflows');
    const merged = moduleAt('merged');
    const { workflowsPath, webpackConfigHook: hook = (config) => config, preloadModules = [] } = configured;
    if (workflowsPath === merged) return configured;
    const withAliases: Webpack = (config) => {
      const alias = { [`${USERS_WORKFLOWS}$`]: workflowsPath, 'synod/workflows$': own };
      const { resolve = {} } = config;
      return hook({
        ...config,
        resolve: { ...resolve, alias: Array.isArray(resolve.alias) ? resolve.alias : { ...resolve.alias, ...alias } },
      });
    };
    return {
      ...configured,
      workflowsPath: workflowsPath === own ? own : merged,
      // Loaded once for all workflows: the schemas' library holds no state of any of them.
      preloadModules: [...preloadModules, moduleAt('preload')],
      webpackConfigHook: withAliases,
    };
  }
}

/** One of the modules for the sandbox: among the sources, or beside this file as built. */
function moduleAt(name: 'workflows' | 'merged' | 'preload'): string {
  const here = import.meta.url;
  const extension = here.slice(here.lastIndexOf('.'));
  const source = { workflows: 'index', merged: 'merged', preload: 'preload' }[name];
  const path = fileURLToPath(
    new URL(extension === '.ts' ? `../workflows/${source}.ts` : `./${name}${extension}`, here),
  );
  if (!existsSync(path)) throw new Error(`synod: ${path} is missing; the package is incomplete, install it again`);
  return path;
}
