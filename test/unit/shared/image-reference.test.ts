import { expect, test } from 'vitest';
import { problemsOf, withService } from '../../support/fixtures/problems.ts';

const hex = (length: number) => '0123456789abcdef'.repeat(8).slice(0, length);
const problemsOfImage = (image: unknown) => problemsOf(withService({ image }));

test.each(
  [
    'busybox busybox:1.36 a library/busybox team/sub/app:V1_2.3-x a__b a---b a.b_c-d',
    'localhost/x localhost:5000/x reg:5000/x:1 reg.example.org/x Reg.Example.org:5000/a/b:c Team/app',
    '192.0.2.1:5000/x [2001:db8::1]:5000/x [::1]/x docker.io/library/busybox:latest a:_ 0/1:2',
    `busybox@sha256:${hex(64)} a/b:1@sha256:${hex(64)} a@sha512:${hex(128)} a@sha384:${hex(96)}`,
    `sha256:${hex(64)} ${hex(63)} a:${'t'.repeat(128)} ${'n'.repeat(255)} ${'n'.repeat(255)}:1`,
  ].flatMap((line) => line.split(' ')),
)('H737: %s is one that an engine can read', (image) => {
  expect(problemsOfImage(image)).toEqual([]);
});
test.each([
  ...['', ' ', 'two words', ' busybox', 'busybox ', 'busybox\n', '\tbusybox', 'bus\u00a0ybox', 'a\0b'],
  ...['a b:1', 'a: 1'],
  ...[
    'bücher BusyBox berth/BusyBox:1 reg.example.org/Team/app busybox: busybox:1:2 busybox:1/x/ :1',
    'a//b /a a/ //a http://x/y https://x docker://busybox oci:a/b:1 x/y?z a#b a..b a___b a-_b a.-b -a a-',
    '_a a_ .a a. ./a ../a a/../b a/./b . - a:.1 a:-1 a:1+2 a:ä localhost:5000/ reg:port/x reg:/x',
    'reg.:5000/x -r.org/x r-.org/x [::1/x [::g]/x []/x user@reg/x user:pw@reg.org/x $IMAGE {user_name}',
    `a:${'t'.repeat(129)} ${'n'.repeat(256)} ${'n'.repeat(256)}:1 ${hex(64)} ${hex(64)}:1`,
    `r.example.org/${'n'.repeat(242)} a@ a@sha256 a@sha256: a@sha256:${hex(63)} a@sha256:${hex(65)}`,
    `a@md5:${hex(32)} @sha256:${hex(64)} a@sha256:${hex(64).toUpperCase()} a@sha256:${hex(64)}:1`,
    `a@sha256:${hex(64)}@sha256:${hex(64)} a@sha512:${hex(64)}`,
  ].flatMap((line) => line.split(' ')),
])('H737: %j is refused with its pointer', (image) => {
  const pointers = new Set(problemsOfImage(image).map(({ pointer }) => pointer));
  expect([...pointers]).toEqual(['/services/0/image']);
});
test('H737: the message names the forms that there are', () => {
  const message = expect.stringContaining('registry.example.org:5000/team/app');
  expect(problemsOfImage('http://x/y')).toEqual([{ pointer: '/services/0/image', message }]);
});
