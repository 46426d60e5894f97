import { expect, test } from 'vitest';
import {
  definitionOf,
  endpointPairs,
  endpointsOf,
  isEssential,
  type ServiceView,
  whyEnded,
} from '../../../../control-plane/core/views/execution-views.ts';
import { application, service } from '../../../support/fixtures/applications.ts';

const http = {
  name: 'web page',
  port_number: 80,
  protocol: 'tcp' as const,
  url_template: 'http://{ip_port}/x',
};

function view(changes: Partial<ServiceView> = {}): ServiceView {
  return {
    id: 1,
    executionId: 1,
    userId: 1,
    execution: { status: 'running', timeStartMs: 1 },
    name: 'web0',
    group: 'web',
    status: 'active',
    backendStatus: 'started',
    ipAddress: '10.0.0.2',
    containerId: 'c',
    errorMessage: null,
    exit: null,
    hasDied: false,
    ports: [{ port: 80, protocol: 'tcp', hostPort: 32768 }],
    hostName: 'host1',
    hostId: 1,
    hostAddress: '192.0.2.1',
    starts: 1,
    restartAtMs: null,
    hasEndedExecution: false,
    share: undefined,
    description: service({ ports: [http] }),
    ...changes,
  };
}

/** Where only hosts publish ports. */
const pairsOf = (...services: ServiceView[]) => endpointPairs(endpointsOf(services, {}));

test('C20: an endpoint is the template with the address of the host, in brackets if it is of IPv6, and the published port', () => {
  expect(pairsOf(view())).toEqual([['web page', 'http://192.0.2.1:32768/x']]);
  expect(pairsOf(view({ hostAddress: '2001:db8::1' }))).toEqual([
    ['web page', 'http://[2001:db8::1]:32768/x'],
  ]);
});
test('C20: each port of each active service has an endpoint', () => {
  const udp = { ...http, name: 'udp', protocol: 'udp' as const, url_template: 'udp://{ip_port}' };
  const both = view({
    description: service({ ports: [http, udp] }),
    ports: [
      { port: 80, protocol: 'udp', hostPort: 5 },
      { port: 80, protocol: 'tcp', hostPort: 6 },
    ],
  });
  expect(pairsOf(both, view()).map(([, url]) => url)).toEqual([
    'http://192.0.2.1:6/x',
    'udp://192.0.2.1:5',
    'http://192.0.2.1:32768/x',
  ]);
});
test.each<[string, Partial<ServiceView>]>([
  ['that is not active', { status: 'starting' }],
  ['whose host has no address', { hostAddress: null }],
  ['whose port is not published', { ports: [{ port: 81, protocol: 'tcp', hostPort: 1 }] }],
])('C20: a service %s has no endpoints', (_, changes) => {
  expect(pairsOf(view(changes))).toEqual([]);
});
test('C27: the first instances of a group are essential', () => {
  const description = service({ name: 'web', total_count: 12, essential_count: 2 });
  const essential = ['web0', 'web1', 'web2', 'web11'].filter((name) =>
    isEssential(view({ name, description })),
  );
  expect(essential).toEqual(['web0', 'web1']);
});
test('the description of a group is found by its name, and a missing group is an error', () => {
  const one = application(service({ name: 'web' }), service({ name: 'dbs' }));
  expect(definitionOf(one, 'dbs').name).toBe('dbs');
  expect(() => definitionOf(one, 'nope')).toThrow('no service nope');
});

test('W24: the reason for an end is an error, a monitor that exited with 0, or a termination', () => {
  const clean = { exit: { code: 0, outOfMemory: false } };
  const ended = { status: 'terminated' as const, timeStartMs: 1 };
  expect(whyEnded({ ...ended, status: 'error' }, [view()])).toBe('It ended with an error.');
  expect(whyEnded(ended, [view({ ...clean, hasDied: true })])).toBe(
    'Its service web0 exited with code 0, which ended the execution.',
  );
  // A container that exits with 0 because it was stopped.
  expect(whyEnded(ended, [view(clean)])).toBe('It was terminated.');
  expect(whyEnded({ ...ended, timeStartMs: null }, [view()])).toBe('It was terminated before it ran.');
});
