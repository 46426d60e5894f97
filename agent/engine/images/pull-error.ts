/**
 * Messages of failed pulls, as users see them (P140). The engine quotes what a registry answered, and that
 * "registry" may be any service that a user named.
 */
import { cutText } from '../../../shared/protocol/bounds.ts';

const MAX_LENGTH = 300;

/** Words of the engine after which it quotes an answer. The words stay, and the rest goes. */
const BEFORE_BODY = [
  /\berror parsing HTTP \d+ response body\b/i,
  /\bunexpected status from \w+ request to \S+: \d+(?: [A-Za-z-]+)*/i,
  /\bunexpected HTTP (?:response )?status(?: code)?:? \d+(?: [A-Za-z-]+)*/i,
  /\b(?:error unmarshal|failed to (?:decode|unmarshal|parse))\w*(?: [a-z]+)*/i,
  /\bmalformed HTTP (?:response|status code|version)\b/i,
  /\bserver message\b/i,
];

/**
 * Codes after which the engine quotes services that are not registries, too: it takes all but the last from
 * the status, with the words of any JSON with `details`, and gives the last to errors with any code.
 */
const AFTER_CODE = /\b(unauthorized|(?<=docker login': )denied|toomanyrequests|unknown): (.*)$/;

/** What the protocol of registries and Docker Hub say after a code. Anything else goes. */
const KNOWN: ReadonlySet<string> = new Set([
  'authentication required',
  'incorrect username or password',
  'manifest unknown',
  'repository name not known to registry',
  'requested access to the resource is denied',
  'too many requests',
  'unknown error',
  'You have reached your pull rate limit',
  'You have reached your unauthenticated pull rate limit',
]);

/** The engine's first sentence, without what the registry answered. */
export function firstSentence(message: string): string {
  const withoutBody = BEFORE_BODY.reduce((text, words) => {
    const found = words.exec(text);
    return found ? text.slice(0, found.index + found[0].length) : text;
  }, message);
  const [sentence = ''] = withoutBody.trim().split(/[\r\n]|(?<=[.!?;])\s/);
  return cutText(withoutWords(sentence.replace(/[.;]$/, '')), MAX_LENGTH);
}

function withoutWords(sentence: string): string {
  const found = AFTER_CODE.exec(sentence);
  const [, code = '', words = ''] = found ?? [];
  return !found || KNOWN.has(words) ? sentence : sentence.slice(0, found.index + code.length);
}
