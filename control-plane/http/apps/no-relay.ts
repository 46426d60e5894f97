/** Stands where the relay to web applications will: no application can be reached yet. */
import { OperationError } from '../../core/model/errors.ts';
import type { AcceptApp } from './accept-app.ts';

export const noRelay: AcceptApp = () => {
  throw new OperationError('unavailable', 'This release of Berth can not reach applications yet.');
};
