/** A call that a hub did not answer as asked. */
export class HubFault extends Error {
  override readonly name = 'HubFault';
  /** The HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  readonly code: string | undefined;
  constructor(message: string, options: { status?: number; code?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.code = options.code;
  }
}
