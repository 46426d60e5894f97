/** Owns the error of an agent that must not come back. */

/** The control plane said not to come back; `revoked`: because the host was removed. */
export class RefusedError extends Error {
  override name = 'RefusedError';
  readonly revoked: boolean;

  constructor(message: string, options: ErrorOptions & { revoked?: boolean } = {}) {
    super(message, options);
    this.revoked = options.revoked ?? false;
  }
}
