import { describe, expect, test } from 'vitest';
import { sharedHost } from '../../../../agent/host/shared-host.ts';

const textOf = (url: string, address: string, bind: string | null, publicUrl?: string) =>
  sharedHost({ urls: [new URL(url)], address, bind }, publicUrl);

describe('P317: the condition shared-host', () => {
  test.each([
    ['http://127.0.0.1:5001', '127.0.0.1', '127.0.0.1'],
    ['http://localhost:5001', '127.0.0.1', '127.0.0.1'],
    ['http://127.0.0.1:5001', 'localhost', '127.0.0.1'],
    ['http://[::1]:5001', '127.0.0.1', '::1'],
    ['http://127.0.0.1:5001', '127.0.0.2', '0.0.0.0'],
    ['http://127.0.0.1:5001', '127.0.0.2', '::'],
    ['http://127.0.0.1:5001', 'host1.example.org', null],
    ['http://192.168.1.5:5001', '192.168.1.5', '192.168.1.5'],
    ['http://berth.example.org:5001', 'Berth.Example.org.', null],
    ['http://[fd00::5]:5001', 'FD00:0:0::5', 'fd00::5'],
  ])('is there for Berth at %s, and ports advertised at %s that listen on %s', (url, address, bind) => {
    expect(textOf(url, address, bind)).toContain(`Berth's own address, ${new URL(url).origin}`);
  });

  test.each([
    ['http://127.0.0.1:5001', '127.0.0.2', '127.0.0.2'],
    ['https://berth.example.org', 'berth.example.org', null],
    ['http://192.168.1.5:5001', '192.168.1.6', '192.168.1.6'],
    ['http://berth.example.org:5001', 'ports.example.org', '192.168.1.6'],
  ])('is not there for Berth at %s, and ports advertised at %s that listen on %s', (url, address, bind) => {
    expect(textOf(url, address, bind)).toBeUndefined();
  });

  test('follows the address at which people reach the control plane, where it states one', () => {
    const berth = 'http://berth.example.org:5001';
    expect(textOf('http://127.0.0.1:5001', 'berth.example.org', null, berth)).toContain(berth);
    expect(textOf('http://127.0.0.1:5001', '127.0.0.1', null, 'https://berth.example.org')).toBeUndefined();
    const wrong = 'http://berth.example.org:99999';
    expect(textOf('http://127.0.0.1:5001', '127.0.0.1', null, wrong)).toBeDefined();
  });

  test('fits into a message', () => {
    const long = `${'a'.repeat(63)}.example.org`;
    expect(textOf(`http://${long}`, long, null)?.length).toBeLessThan(500);
  });
});
