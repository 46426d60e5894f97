import { expect, test } from 'vitest';
import { LOGIN_PAGES, OTHER_ROUTES, PAGES } from '../../support/browser/pages.ts';
import { webRoutesOf } from '../../support/tools/routes.ts';

test('W10: every route of the web interface is among the pages that the tests look at, or has a reason why not', () => {
  const listed = [LOGIN_PAGES, PAGES, OTHER_ROUTES].flatMap((table) => Object.keys(table)).filter(Boolean);
  expect(listed.sort()).toEqual(
    webRoutesOf()
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  );
});
