import { expect, test } from 'vitest';
import { acceptOffer, applyOffer } from '../../../../control-plane/core/hosts/agreement.ts';
import { type HostOffer, newHost } from '../../../../control-plane/core/model/host.ts';

const GIB = 2 ** 30;
const small: HostOffer = { labels: ['ssd'], memoryBytes: 8 * GIB, cores: 4 };

function agreedHost() {
  const host = newHost(1, 'host1', 0);
  applyOffer(host, small);
  return host;
}

test('C208: the first offer after an enrolment is agreed', () => {
  expect(agreedHost()).toMatchObject({
    ...small,
    agentLabels: ['ssd'],
    agreed: small,
    pending: null,
  });
});

test.each<[string, Partial<HostOffer>]>([
  ['a further label', { labels: ['ssd', 'gpu'] }],
  ['another label', { labels: ['gpu'] }],
  ['more memory', { memoryBytes: 80 * GIB }],
  ['more cores', { cores: 4.5 }],
])('C208: %s is pending and does not count', (_, more) => {
  const host = agreedHost();
  const offer = { ...small, ...more };
  applyOffer(host, offer);
  expect(host).toMatchObject({ memoryBytes: 8 * GIB, cores: 4, agreed: small, pending: offer });
  expect(host.labels).not.toContain('gpu');
});

test('C209: a lower offer counts at once, the agreed one counts again later, and memory slightly above it is neither used nor pending', () => {
  const host = agreedHost();
  applyOffer(host, { labels: [], memoryBytes: 4 * GIB, cores: 2 });
  expect(host).toMatchObject({ labels: [], memoryBytes: 4 * GIB, cores: 2, pending: null });
  applyOffer(host, small);
  expect(host).toMatchObject({ ...small, pending: null });
  applyOffer(host, { ...small, memoryBytes: 8.1 * GIB });
  expect(host).toMatchObject({ memoryBytes: 8 * GIB, pending: null });
});

test('H366: only the very offer that is pending can be accepted', () => {
  const host = agreedHost();
  const offer = { ...small, labels: ['gpu', 'ssd'] };
  expect(() => acceptOffer(host, offer)).toThrow('no longer more than was agreed');
  applyOffer(host, { ...offer, cores: 64 });
  expect(() => acceptOffer(host, offer)).toThrow('now labels gpu ssd, 8589934592 bytes of memory, 64 cores');
  applyOffer(host, offer);
  acceptOffer(host, { ...offer, labels: ['ssd', 'gpu'] });
  expect(host).toMatchObject({ agreed: offer, pending: null });
  expect([...host.labels].sort()).toEqual(['gpu', 'ssd']);
});
