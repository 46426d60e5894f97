/** Names in archives as bytes and as text. */

/** Both are global in Node and in workerd, but in none of TypeScript's own libraries for this folder. */
declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new (
  label: 'utf-8',
  options: { fatal: true; ignoreBOM: true },
) => { decode(bytes: Uint8Array): string };

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const encode = (text: string): Uint8Array => encoder.encode(text);

/** Undefined if the bytes are not UTF-8. */
export function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
