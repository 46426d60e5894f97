import { expect, test } from 'vitest';
import { referencesIn, substitute, unknownVariables, type Variables } from '../../../shared/variables.ts';
import { fc } from '../../support/tools/random-cases.ts';

const variables: Variables = {
  user_name: 'alice',
  execution_id: '7',
  execution_name: '{user_name}',
  deployment_name: 'test',
  dnsName: (instance) => (instance === 'self' ? 'web0-7-test' : undefined),
};

test.each([
  ['{user_name}', 'alice'],
  ['{execution_id}-{deployment_name}', '7-test'],
  ['{dns_name#self}:80', 'web0-7-test:80'],
  ['a{user_name}b{user_name}c', 'aalicebalicec'],
  ['{{user_name}}', '{user_name}'],
  ['{{anything}} at {{all#x}}', '{anything} at {all#x}'],
  [`\${user_name} $HOME`, `\${user_name} $HOME`],
  ['{"json": {}} {A} {1}', '{"json": {}} {A} {1}'],
  ['no variables', 'no variables'],
  ['', ''],
  // The value of a variable is not searched for references.
  ['{execution_name}', '{user_name}'],
])('C24: %j becomes %j', (text, result) => {
  expect(substitute(text, variables)).toBe(result);
});

test('C24: unknown references are returned with their part, instances are recognised by name, and what passed validation throws', () => {
  const text = `{nope} {dns_name#web0} {dns_name#db0} {dns_name#self} {{also}} \${this}`;
  expect(unknownVariables([text], new Set(['web0']))).toEqual(['nope', 'dns_name#db0']);
  // Properties that every object has.
  const names = ['constructor', 'to_string', 'dns_name#constructor'];
  expect(unknownVariables([names.map((name) => `{${name}}`).join()], new Set())).toEqual(names);
  expect(() => substitute('{nope}', variables)).toThrow('unknown variable {nope}');
});

test('C24, H306: references are found exactly where the expression of their syntax finds them', () => {
  const syntax = /\{\{([a-z_]+(?:#[A-Za-z0-9-]+)?)\}\}|(?<!\$)\{([a-z_]+(?:#[A-Za-z0-9-]+)?)\}/g;
  const pieces = fc.constantFrom(
    ...['{', '{{', '}', '}}', '$', '#', 'a', 'b_c', 'user_name', 'A-1', ' ', '🚢'],
    ...['{a}', '{{a}}', '{b#A}'],
  );
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 12 }).map((all) => all.join('')),
      (text) => {
        const known = new Set(['user_name']);
        const found = [...text.matchAll(syntax)];
        const expected = found.flatMap(([, , name]) => name ?? []);
        expect(referencesIn([text])).toBe(found.length);
        expect(unknownVariables([text], new Set())).toEqual([
          ...new Set(expected.filter((name) => !known.has(name))),
        ]);
        const replaced = text.replace(syntax, (_, literal) => (literal === undefined ? '' : `{${literal}}`));
        if (expected.every((name) => known.has(name)))
          expect(substitute(text, { ...variables, user_name: '' })).toBe(replaced);
      },
    ),
  );
});

test('C24: a reference is one wherever it is repeated, but not after a dollar', () => {
  const text = `{user_name}{user_name} \${user_name}{{user_name}}{{user_name}}{{user_name}{user_name}`;
  expect(substitute(text, variables)).toBe(`alicealice \${user_name}{user_name}{user_name}{alicealice`);
  expect(unknownVariables(['{a}{b}{a}', `{a}\${a}`], new Set())).toEqual(['a', 'b']);
});
