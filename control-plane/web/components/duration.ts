/** Formats durations, on the server and in the browser. Pure. */

/** The same, rounded up: `0 s` means that the time has come. */
export const remaining = (ms: number): string => duration(Math.ceil(ms / 1_000) * 1_000);

/** In the two largest units: `3 min 20 s`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
