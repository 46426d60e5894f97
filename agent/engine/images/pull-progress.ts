/** Pull progress: accumulates the engine's progress events into a text for people. */

/** One line of the engine's answer to a pull. */
export interface PullEvent {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
  errorDetail?: { message?: string };
}

interface Layer {
  current: number;
  total: number;
}

export class PullProgress {
  readonly #image: string;
  readonly #layers = new Map<string, Layer>();

  constructor(image: string) {
    this.#image = image;
  }

  take({ id, status, progressDetail }: PullEvent): void {
    if (id === undefined) return;
    const layer = this.#layers.get(id) ?? { current: 0, total: 0 };
    if (status === 'Downloading' && progressDetail) {
      layer.total = Math.max(layer.total, progressDetail.total ?? 0);
      layer.current = progressDetail.current ?? layer.current;
    } else if (status === 'Download complete' || status === 'Pull complete') {
      layer.current = layer.total;
    } else return;
    this.#layers.set(id, layer);
  }

  /** For example "pulling nginx:alpine 45% of 60 MB". */
  describe(): string {
    let current = 0;
    let total = 0;
    for (const layer of this.#layers.values()) {
      current += layer.current;
      total += layer.total;
    }
    if (total === 0) return `pulling ${this.#image}`;
    const megabytes = total / 1e6;
    const size = megabytes < 10 ? megabytes.toFixed(1) : megabytes.toFixed(0);
    return `pulling ${this.#image} ${Math.floor((100 * current) / total)}% of ${size} MB`;
  }
}
