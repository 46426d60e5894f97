import { expect, test } from 'vitest';
import { lastForwarded } from '../../../control-plane/guard/address.ts';

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['1.2.3.4:5678', '1.2.3.4'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
  ['5.6.7.8:1, unknown,1.2.3.4:5678 ', '1.2.3.4'],
  ['unknown', 'unknown'],
  ['1.2.3.4, ', undefined],
  [undefined, undefined],
])('H132: of the X-Forwarded-For header %j the address is %j, without a port', (header, address) => {
  expect(lastForwarded(header)).toBe(address);
});
