/** Owns what the API's document says of the operations on hosts. */
import { joinTokenFields } from '../hosts.ts';
import { joinTokenShape } from '../shapes.ts';
import type { Operation, Scheme } from './operations.ts';

export const hostOperations = (access: readonly Scheme[]): Operation[] => [
  {
    method: 'post',
    path: '/host/token',
    tag: 'Hosts',
    summary: 'Make a token with which one agent can join as one host, within an hour',
    access,
    body: joinTokenFields,
    answer: joinTokenShape,
    errors: [400, 413],
  },
];
