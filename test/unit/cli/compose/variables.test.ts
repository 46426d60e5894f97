import { expect, test } from 'vitest';
import { readVariables } from '../../../../cli/compose/variables/env-file.ts';
import { interpolate } from '../../../../cli/compose/variables/interpolation.ts';
import { fc } from '../../../support/tools/random-cases.ts';
import { FOLDER, mainFile, mainOf, problemsOf, remarksOf } from './translated.ts';

const lookUp = (name: string): string | undefined => ({ A: 'a', EMPTY: '', 'B.C': 'no' })[name];

test.each([
  ['$A ${A}', 'a a'],
  ['$Ab$A.', 'a.'],
  ['$$A $${A}', '$A ${A}'],
  ['${A:-d} ${N:-d} ${EMPTY:-d}', 'a d d'],
  ['${A-d} ${N-d} ${EMPTY-d}', 'a d '],
  ['${A:+o} ${N:+o} ${EMPTY:+o}', 'o  '],
  ['${A+o} ${N+o} ${EMPTY+o}', 'o  o'],
  ['${A:?no} ${EMPTY?no}', 'a '],
  ['${N:-x${A}y${N:-z}}', 'xayz'],
  ['${A:-${N:?never}}', 'a'],
  ['{a} } ${N:-a b}', '{a} } a b'],
  ['$? $1 $(A) $- $"$A" $', '$? $1 $(A) $- $"a" $'],
  ['${N:-$1 $?}', '$1 $?'],
  ['${A:+{}}|${N:+{}}|${N:-{}}', '{}||{}'],
  ['${N:-{"x": {"y": "${A}"}}}}', '{"x": {"y": "a"}}}'],
  ['${N:-{}', '{'],
])('L73: the variables in %j are filled in as Compose does', (text, filled) => {
  expect(interpolate(text, lookUp).text).toBe(filled);
});
test.each([
  ['${N:?give it}', 'needs N, which is not set: give it'],
  ['${N?}', 'needs N, which is not set'],
  ['${EMPTY:?x $A}', 'needs EMPTY, which is not set: x a'],
  ['${}', 'has ${ without the name of a variable: write $$ for a $'],
  ['${A', 'has ${A without its closing }, or with something else after the name'],
  ['${A:x}', 'has ${A without its closing }, or with something else after the name'],
  ['${B.C}', 'has ${B without its closing }, or with something else after the name'],
  ['${N:-'.repeat(11), 'has more than 10 defaults within each other'],
])('L73: %j is a problem', (text, problem) => {
  expect(() => interpolate(text, lookUp)).toThrow(new Error(problem));
});
test('L73: a text without $ stays as it is, and $$ gives any text back', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(interpolate(text.replaceAll('$', '$$$$'), lookUp).text).toBe(text);
    }),
  );
});
test('L73: variables that are not set are named once, and those in unused defaults are not', () => {
  expect(interpolate('$N $N ${M} ${A:-$X} ${Y:-}', lookUp).unset).toEqual(['N', 'M']);
});

test('L73: the environment wins over .env, and a value that is neither is listed', () => {
  const files = { [`${FOLDER}/.env`]: 'A=file\nB=${A}-file\nC=c\n' };
  const around = { env: { A: 'env' }, files };
  expect(mainOf('command: $A $B $C', around).command).toBe('env env-file c');
  expect(remarksOf(mainFile('command: a $N'), around).notes).toEqual(['4:5 services.main.command']);
  expect(mainOf('command: a ${N}b', around).command).toBe('a b');
});

test('L73: keys and x-berth are not filled in', () => {
  const fields = 'environment: {$A: 1}\nx-berth: {labels: [$A]}';
  const { environment, labels } = mainOf(fields, { env: { A: 'a' } });
  expect([environment, labels]).toEqual([[['$A', '1']], ['$A']]);
});

test.each([
  ['A=1\n\n# x\n  B = 2 \r\nexport C=3', { A: '1', B: '2', C: '3' }],
  ['A=x # y\nB=x#y\nC=# z\nD=\nE= # z', { A: 'x', B: 'x#y', C: '# z', D: '', E: '# z' }],
  ['A=x\t# y\nB=\tx\t\n\tC\t=\tx', { A: 'x\t# y', B: 'x', C: 'x' }],
  [`A='$A # "x"' # y\nB="$EMPTY\\n\\"\\$A\\x" # y`, { A: '$A # "x"', B: '\n"$A\\x' }],
  [
    `A='a\\'b'\nB='a\\b\\n'\nC="\\a\\b\\f\\r\\t\\v\\\\ \\0123"`,
    { A: "a'b", B: 'a\\b\\n', C: '\u0007\b\f\r\t\v\\ S' },
  ],
  [
    'K="-----BEGIN\nA+B/=\n-----END"\nL=\'a\n#b\'\nM=1',
    { K: '-----BEGIN\nA+B/=\n-----END', L: 'a\n#b', M: '1' },
  ],
  ['K: a\nL:b=c\nM : d', { K: 'a', L: 'b=c', M: 'd' }],
  ['export \tA=1\nexport=2\n1.a-b[0]=3\nÜ=4', { A: '1', export: '2', '1.a-b[0]': '3', Ü: '4' }],
  ['\ufeffA=$1 $? $(x) ${N:-{}}', { A: '$1 $? $(x) {}' }],
  ['X=1\nY=${X}2', { X: '1', Y: '12' }],
  ['A\nN', { A: 'a' }],
  ['__proto__=x', JSON.parse('{"__proto__": "x"}')],
])('L74: a file of variables is read: %j', (text, variables) => {
  expect([...readVariables(text, lookUp)]).toEqual(Object.entries(variables));
});
test.each([
  ['A=1\nwhat is this', 'line 2 is not NAME=VALUE'],
  ['\n\nA="x\n', 'line 3 has a quote that is not closed'],
  [`A="x\ny"\nB='x' y`, 'line 3 has something else after its closing quote'],
  ['A=${N:?x}', 'line 1 needs N, which is not set: x'],
  [Array.from({ length: 1001 }, (_, n) => `V${n}=`).join('\n'), 'line 1001 is variable 1001: remove some'],
])('L74: a file of variables with %j is a problem', (text, problem) => {
  expect(() => readVariables(text, lookUp)).toThrow(new Error(problem));
});
test('L74: raw values are as they are', () => {
  expect([...readVariables(`A= '$A' # x`, lookUp, 'raw')]).toEqual([['A', ` '$A' # x`]]);
});

test('L74: files come in their order, then the own variables; names alone are of the environment; files refer to earlier ones and to own variables', () => {
  const files = { [`${FOLDER}/a.env`]: 'A=1\nB=1\nC=1', '/etc/b.env': "B='2'\nC=2", '/c.env': 'F=$A$D$C' };
  const env_file =
    'env_file: [a.env, {path: /etc/b.env, format: raw}, {path: none, required: false}, /c.env]';
  const own = 'environment: {C: 3, D: , E: }';
  const { environment } = mainOf(`${env_file}\n${own}`, { env: { D: 'd' }, files });
  expect(environment.map(([name, value]) => `${name}=${value}`)).toEqual(
    "A=1 B='2' C=3 F=1d3 D=d".split(' '),
  );
});

test('L72, L74: a file of variables that is wrong is a problem with its line', () => {
  const files = { [`${FOLDER}/a.env`]: 'A\n=' };
  expect(problemsOf(mainFile('env_file:\n  - a.env'), { files })).toEqual([
    '5:9 services.main.env_file[0] has the file a.env: line 2 is not NAME=VALUE',
  ]);
  expect(problemsOf(mainFile(''), { files: { [`${FOLDER}/.env`]: '\n\n=' } })).toEqual([
    '1:1  has a wrong file .env beside it: line 3 is not NAME=VALUE',
  ]);
});
