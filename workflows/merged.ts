/** The workflows of Synod and those of the user's own `workflowsPath`, which the plugin puts in the second one's place. */
export * from './index.ts';
// @ts-expect-error -- exists only in a bundle that the plugin configures
export * from '__synod_users_workflows';
