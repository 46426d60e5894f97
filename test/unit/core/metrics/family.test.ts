import { expect, test } from 'vitest';
import {
  byLabel,
  counter,
  gauge,
  merged,
  metricsText,
} from '../../../../control-plane/core/metrics/family.ts';
import { DurationHistogram } from '../../../../control-plane/core/metrics/histogram.ts';
import { limitFamilies } from '../../../../control-plane/core/metrics/limits.ts';

test('H451: each name has its help, its type and its samples', () => {
  const text = metricsText([
    gauge('berth_containers', 'Containers.', 7),
    counter('berth_decisions_total', 'Decisions.', byLabel('kind', { place: 2, start: 0.5 })),
    gauge('berth_none', 'Nothing.', []),
  ]);
  expect(text).toBe(
    [
      '# HELP berth_containers Containers.',
      '# TYPE berth_containers gauge',
      'berth_containers 7',
      '# HELP berth_decisions_total Decisions.',
      '# TYPE berth_decisions_total counter',
      'berth_decisions_total{kind="place"} 2',
      'berth_decisions_total{kind="start"} 0.5',
      '# HELP berth_none Nothing.',
      '# TYPE berth_none gauge',
      '',
    ].join('\n'),
  );
});

test('H451: whatever a host is called, its name stays within its label, and help within its line', () => {
  const labels = { host: 'a"b\\c\nd', kind: 'ü{}' };
  expect(metricsText([gauge('x', 'one\ntwo \\ three', [{ labels, value: Number.NaN }])])).toBe(
    '# HELP x one\\ntwo \\\\ three\n# TYPE x gauge\nx{host="a\\"b\\\\c\\nd",kind="ü{}"} NaN\n',
  );
  const infinite = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value) => ({ labels, value }));
  expect(metricsText([gauge('x', '', infinite)])).toMatch(/ \+Inf\n.* -Inf\n$/);
});

test('H451: the buckets of a histogram are cumulative, and the last one has all values', () => {
  const histogram = new DurationHistogram();
  for (const ms of [0, 0.5, 2, 2, 40, 90_000]) histogram.add(ms);
  const text = metricsText([histogram.family('took_seconds', 'Times.')]);
  expect(text).toContain('took_seconds_bucket{le="0.0005"} 2\ntook_seconds_bucket{le="0.001"} 2\n');
  expect(text).toContain('took_seconds_bucket{le="0.0025"} 4\n');
  expect(text).toContain('took_seconds_bucket{le="60"} 5\ntook_seconds_bucket{le="+Inf"} 6\n');
  expect(text).toMatch(/took_seconds_sum 90\.044\d*\ntook_seconds_count 6\n$/);
});

test('H451: samples of one name from several parts stand together', () => {
  const ofCluster = limitFamilies([{ name: 'waiting', setting: 'BERTH_LIMITS.waiting', used: 3, limit: 10 }]);
  const ofProcess = limitFamilies([{ name: 'bodies', unit: 'bytes', used: 1, limit: 2 }]);
  const text = metricsText(merged([...ofCluster, ...ofProcess]));
  expect(text.match(/# TYPE/g)).toHaveLength(4);
  expect(text).toContain('berth_limit{name="waiting",setting="BERTH_LIMITS.waiting"} 10\n');
  expect(text).toContain('berth_limit_used_bytes{name="bodies",setting=""} 1\n');
});
