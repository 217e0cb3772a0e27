/**
 * Loads a package that only some users need.
 * @param load imports it: `() => import('it')`.
 * @param what what needs it, as the message begins.
 * @throws Error that says what to install, where it is not.
 */
export async function needed<T>(name: string, what: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    // Something else that is missing, e.g. a dependency of the package, is not mended by installing the package.
    if (!isMissing(error) || !error.message.includes(`'${name}'`)) throw error;
    throw new Error(`${what} needs the package ${name}, which is not installed: npm install ${name}`, { cause: error });
  }
}

function isMissing(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && MISSING.has(error.code);
}

const MISSING: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);
