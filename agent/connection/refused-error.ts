/**
 * The error of an agent that must not reconnect, because the control plane refused it. `revoked`: the host
 * was removed.
 */
export class RefusedError extends Error {
  override name = 'RefusedError';
  readonly revoked: boolean;

  constructor(message: string, options: ErrorOptions & { revoked?: boolean } = {}) {
    super(message, options);
    this.revoked = options.revoked ?? false;
  }
}
