/** Reads arguments of commands. */

/** A positive integer. Throws for any other text. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new Error(`${text} is no positive integer; berth ps lists executions with their ids.`);
}
