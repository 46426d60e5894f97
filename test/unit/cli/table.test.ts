import { expect, test } from 'vitest';
import { onOneLine, table } from '../../../cli/terminal/table.ts';
import { fc } from '../../support/tools/random-cases.ts';

const HEADS = ['ID', 'NAME', 'ERROR'];
const CAN_ACT = /\p{Cc}|\p{Bidi_Control}/u;

test('L3: control characters and marks of direction become spaces', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(onOneLine(`a\u001b[2J\u202e${text}`)).not.toMatch(CAN_ACT);
    }),
  );
});

test('L3: a table is no wider than the terminal, and cuts only what does not fit', () => {
  const word = fc.stringMatching(/^\w{0,90}$/);
  const rows = fc.array(fc.tuple(fc.stringMatching(/^\d{1,6}$/), word, word));
  fc.assert(
    fc.property(rows, fc.integer({ min: 40, max: 200 }), (cells, columns) => {
      const lines = table(HEADS, cells, columns).trimEnd().split('\n');
      expect(lines).toHaveLength(cells.length + 1);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
      const whole = table(HEADS, cells).trimEnd();
      const fits = Math.max(...whole.split('\n').map((line) => line.length)) <= columns;
      if (fits) expect(lines.join('\n')).toBe(whole);
    }),
  );
});

test('L199: where a table is too wide, columns without text go before texts are cut', () => {
  const row = ['1', 'terminated', ''];
  expect(table(HEADS, [row], 15)).toBe('ID  NAME\n1   terminated\n');
  expect(table(HEADS, [row], 40)).toBe('ID  NAME        ERROR\n1   terminated\n');
  const filled = ['1', 'terminated', 'text'];
  expect(table(HEADS, [filled], 20)).toBe('ID  NAME       ERROR\n1   terminat…  text\n');
});
