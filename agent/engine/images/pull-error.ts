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
];

/** The engine's first sentence, without what the registry answered. */
export function firstSentence(message: string): string {
  const withoutBody = BEFORE_BODY.reduce((text, words) => {
    const found = words.exec(text);
    return found ? text.slice(0, found.index + found[0].length) : text;
  }, message);
  const [sentence = ''] = withoutBody.trim().split(/[\r\n]|(?<=[.!?;])\s/);
  return cutText(sentence.replace(/[.;]$/, ''), MAX_LENGTH);
}
