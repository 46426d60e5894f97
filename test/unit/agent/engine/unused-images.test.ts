import { expect, test } from 'vitest';
import { canonicalName } from '../../../../agent/engine/images/image-name.ts';
import {
  type EngineImage,
  type RecordedImage,
  standingOf,
  type Uses,
} from '../../../../agent/engine/images/unused-images.ts';

const DIGEST = `sha256:${'d'.repeat(64)}`;
const NOW_MS = 1e12;
const own: RecordedImage = { image: 'web:1', id: 'sha256:aaa', usedMs: 0 };
const seen: EngineImage = { id: 'sha256:aaa', parentId: '', names: ['web:1', `web@${DIGEST}`] };

const none = new Set<string>();
const standing = (changes: Partial<Uses> = {}, one = own, recorded = [one]) => {
  const uses = { images: [seen], ofContainers: none, wanted: none, pulling: none, ...changes };
  return standingOf(one, recorded, uses, NOW_MS);
};

test.each([
  ['nginx', 'nginx:latest'],
  ['docker.io/library/nginx:1.25', 'nginx:1.25'],
  ['index.docker.io/bob/app', 'bob/app:latest'],
  ['library/a/b', 'library/a/b:latest'],
  ['localhost:5000/app', 'localhost:5000/app:latest'],
  ['localhost:5000/app:2', 'localhost:5000/app:2'],
  [`nginx:1@${DIGEST}`, `nginx@${DIGEST}`],
  [`reg.example:5000/a@${DIGEST}`, `reg.example:5000/a@${DIGEST}`],
])('P183: %s counts as the image that the engine lists as %s', (image, canonical) => {
  expect(canonicalName(image)).toBe(canonical);
});

test('P181: an image counts as pulled by this deployment while its name belongs to the image that was pulled', () => {
  expect(standing()).toBe('unused');
  expect(standing({ images: [] })).toBe('absent');
  expect(standing({ images: [{ ...seen, id: 'sha256:bbb' }] })).toBe('foreign');
  // The agent was killed during the pull, and finds the image within an hour.
  const begun = (agoMs: number) => ({ ...own, id: null, usedMs: NOW_MS - agoMs });
  expect(standing({}, begun(3_599_999))).toBe('new');
  expect(standing({}, begun(3_600_000))).toBe('foreign');
  expect(standing({ images: [] }, begun(0))).toBe('absent');
  expect(standing({ images: [], pulling: new Set(['web:1']) }, begun(0))).toBe('used');
});

test('P183: an image is used while a container or a start has it, or it is pulled, has another name or was built on', () => {
  const named = (name: string) => ({ images: [{ ...seen, names: [...seen.names, name] }] });
  const built = { id: 'sha256:ccc', parentId: 'sha256:aaa', names: [] };
  for (const changes of [
    { ofContainers: new Set(['sha256:aaa']) },
    ...['web:1', `web@${DIGEST}`, 'sha256:aaa', 'aaa:latest'].map((name) => ({ wanted: new Set([name]) })),
    { pulling: new Set(['web:1']) },
    named('mine:1'),
    named(`mine@${DIGEST}`),
    { images: [seen, built] },
  ])
    expect([changes, standing(changes)]).toEqual([changes, 'used']);
  // A second name that this deployment pulled, too, does not count.
  const second = { ...own, image: 'web:latest' };
  expect(standing(named('web:latest'), own, [own, second])).toBe('unused');
});
