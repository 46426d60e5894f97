import { expect, test } from 'vitest';
import { foreignEnv } from '../../../agent/system-programs.ts';

test('P73: programs that are not part of Berth receive none of its settings', () => {
  const env = { PATH: '/bin', HOME: '/root', BERTH_JOIN_TOKEN: 'secret', BERTH_URL: 'http://berth' };
  expect(foreignEnv(env)).toEqual({ PATH: '/bin', HOME: '/root' });
});
