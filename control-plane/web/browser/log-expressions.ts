/**
 * Worker of the search in a log: runs the user's regular expressions, of which some take for ever on some
 * texts. The page ends it then (logs/expression-worker.ts).
 */
import type { ExpressionRequest } from './logs/expression-worker.ts';
import { patternOf, rangesOf } from './logs/log-search.ts';

addEventListener('message', ({ data }: MessageEvent<ExpressionRequest>) => {
  const { query, texts, isTest } = data;
  const pattern = patternOf(query, true);
  const found = texts.map((text) => {
    if (!isTest) return rangesOf(text, pattern);
    if (pattern) pattern.lastIndex = 0;
    return pattern?.test(text) ?? false;
  });
  postMessage({ found });
});
postMessage('ready');
