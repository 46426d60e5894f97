import { expect, test } from 'vitest';
import { isCommonLoopback, isSameHost } from '../../../shared/same-host.ts';

test('P317: a name or address leads to the loopback address that browsers use, or not', () => {
  const names = ['LOCALHOST', 'a.apps.localhost', 'localhost.', '127.0.0.1', '127.1', '2130706433'];
  for (const name of [...names, '::1', '[::1]', '::ffff:127.0.0.1', '0.0.0.0', '::'])
    expect([name, isCommonLoopback(name), isSameHost(name, 'localhost')]).toEqual([name, true, true]);
  for (const name of ['127.0.0.2', '127.2', 'localhost.example.org', 'notlocalhost', '::2', '', ':::'])
    expect([name, isCommonLoopback(name)]).toEqual([name, false]);
});

test('P317: one host has one spelling only', () => {
  expect(isSameHost('Berth.Example.org.', 'berth.example.org')).toBe(true);
  expect(isSameHost('fd00:0::5', '[FD00::5]')).toBe(true);
  expect(isSameHost('192.168.1.5', '192.168.1.6')).toBe(false);
});
