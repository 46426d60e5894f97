/** Requests with bodies of up to 1 MiB that are made to cost much, to every endpoint that parses a body. */
import { REGISTER_PATH } from '../../shared/protocol/enrolment.ts';
import {
  hostileEncodings,
  hostileForms,
  hostileKeys,
  hostileObjects,
} from '../../test/support/fixtures/hostile/bodies.ts';
import { hostileDescriptions, hostilePlaces } from '../../test/support/fixtures/hostile/descriptions.ts';
import type { HostileBody } from '../../test/support/fixtures/hostile/values.ts';

/** `path` is that of a page if it begins with `/`, else that of an API endpoint. */
export interface HostileRequest extends HostileBody {
  path: string;
}

const BYTES = 2 ** 20;
/** Endpoints but the first one get every fifth shape. */
const SAMPLE = 5;

/** Endpoints with flat fields, of objects that do not exist: a valid body must change nothing. */
const objects: Readonly<Record<string, readonly string[]>> = {
  'host/token': ['name', 'labels'],
  user: ['username', 'email', 'role_id'],
  'user/999': ['password', 'email'],
  role: ['name', 'can_see_status'],
  quota: ['name', 'memory'],
  'host/999': ['labels', 'force'],
  [REGISTER_PATH]: ['name', 'publicKey'],
};

/** Forms of pages other than the start page, which refuse or ignore such a field. */
const pages: Readonly<Record<string, readonly string[]>> = {
  '/account/email': ['email'],
  '/account/password': ['current', 'password'],
  '/admin/users': ['username', 'email'],
  '/admin/roles': ['name'],
  '/admin/quotas': ['name', 'memory'],
  '/cluster/join': ['name', 'labels'],
  '/executions/terminate': ['id'],
};

/** The field of a form with a description, and the longest such form that is accepted. */
const FIELD = 'description=';
const FORM_BYTES = BYTES / 2;

/** All shapes of descriptions to one endpoint, and every fifth to each of the others. */
export function hostileRequests(): HostileRequest[] {
  const encoded = some(hostileDescriptions(FORM_BYTES / 3))
    .map(({ shape, text }) => ({ shape, text: `${FIELD}${encodeURIComponent(text.toWellFormed())}` }))
    .filter(({ text }) => text.length <= FORM_BYTES);
  // A form may have quotes and brackets as they are.
  const plain = hostilePlaces(FORM_BYTES - FIELD.length).map(({ shape, text }) => ({
    shape,
    text: FIELD + text,
  }));
  const forms = [...encoded, ...plain];
  return sendable([
    ...to('app_validate', described()),
    ...to('execution/explain', wrapped()),
    ...to('execution', wrapped()),
    ...toObjects(Object.keys(objects)),
    ...Object.entries(pages).flatMap(([path, fields]) => to(path, hostileForms(fields, BYTES))),
    ...to('/login', hostileEncodings(BYTES)),
    ...to('/start/check', forms),
    ...to('/start?by=description', forms),
  ]);
}

/** Those whose form differs in the API of the earlier platform. */
export const zoeRequests = (): HostileRequest[] =>
  sendable([
    ...to('zapp_validate', some(described())),
    ...to('execution', wrapped()),
    ...toObjects(['user', 'user/999', 'role', 'quota']),
  ]);

const described = (): HostileBody[] => [...hostileDescriptions(BYTES), ...hostileEncodings(BYTES)];

const wrapped = (): HostileBody[] =>
  some(hostileDescriptions(BYTES - 100)).map(({ shape, text }) => ({
    shape,
    text: `{"name":"hostile","application":${text}}`,
  }));

const toObjects = (paths: readonly string[]): HostileRequest[] =>
  paths.flatMap((path) => {
    const fields = objects[path] ?? [];
    const within = path === 'host/999' ? ['accept'] : [];
    return to(path, [...some(hostileObjects(fields, BYTES)), ...hostileKeys(within, BYTES)]);
  });

const to = (path: string, bodies: readonly HostileBody[]): HostileRequest[] =>
  bodies.map((body) => ({ path, ...body }));

const some = <T>(all: readonly T[]): T[] => all.filter((_, at) => at % SAMPLE === 0);

const sendable = (requests: readonly HostileRequest[]): HostileRequest[] =>
  requests.filter(({ text }) => Buffer.byteLength(text) <= BYTES);
