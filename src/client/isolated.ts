/**
 * A callback of the user's that cannot end what calls it: what it throws, or the promise that it returns rejects with, becomes a
 * warning of the process that names it. Nobody waits for it.
 * @param name what the user knows it by, such as `onEvent`.
 */
export function isolated<Args extends readonly unknown[]>(
  name: string,
  callback: ((...args: Args) => unknown) | undefined,
): (...args: Args) => void {
  const warn = (error: unknown) => process.emitWarning(`synod: ${name} failed: ${String(error)}`);
  return (...args) => {
    try {
      // An async callback is given where a plain one is asked for, too.
      Promise.resolve(callback?.(...args)).catch(warn);
    } catch (error) {
      warn(error);
    }
  };
}
