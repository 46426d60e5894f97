/** A reader of bodies for tests of routes without an app. */
import { BodyReader } from '../../../control-plane/guard/body-reader.ts';
import { noteBody } from '../../../control-plane/http/idempotency.ts';

export const bodyReader = (memoryBytes = 2 ** 25): BodyReader =>
  new BodyReader({ addressOf: () => '127.0.0.1', memoryBytes, noteBody, nowMs: () => Date.now() });
