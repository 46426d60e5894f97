import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { variablesText } from '../../../control-plane/local/environment.ts';

test('H828: limits and other JSON reach the Worker of npm run dev as they are', () => {
  const variables = {
    BERTH_LIMITS: '{"streams": 5}',
    BERTH_OIDC_OPTIONS: `{"name": "Ann's"}`,
    BERTH_SECRET_KEYS: 'a=,b=',
    BERTH_SHOP: 'C:\\shop $HOME',
  };
  expect(parseEnv(variablesText(variables))).toEqual(variables);
});
