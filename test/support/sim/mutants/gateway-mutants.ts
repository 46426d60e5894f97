/** Mutants of gateways, and of the coordinator's end of them. */
import type { Mutant } from './mutant.ts';

const gateways = 'control-plane/coordinator/gateways';

export const gatewayMutants: readonly Mutant[] = [
  {
    name: 'relay a message twice whose batch was sent again',
    file: `${gateways}/portion.ts`,
    from: 'return entries.slice(received - first);',
    to: 'return entries;',
    faults: ['gateway calls without an answer'],
  },
  {
    name: 'go on at a gateway that has lost messages while it slept',
    file: `${gateways}/gateway.ts`,
    from: 'if (counts.delivered < counts.up)',
    to: 'if (counts.delivered > counts.up)',
    faults: ['gateway sleeps', 'gateway calls hang'],
  },
  {
    name: 'number the messages of a connection anew after its gateway slept',
    file: `${gateways}/gateway.ts`,
    from: 'this.#sender.begin(id, counts.up);',
    to: 'this.#sender.begin(id);',
    faults: ['gateway sleeps'],
  },
  {
    name: 'keep a connection that the coordinator does not have',
    file: `${gateways}/batch-sender.ts`,
    from: 'if (rejected.has(connection)) this.#lose(connection);',
    to: 'if (!rejected.has(connection)) this.#lose(connection);',
  },
  {
    name: 'keep a connection whose messages were given up',
    file: `${gateways}/batch-sender.ts`,
    from: 'if (isLast) return batch.map(({ connection }) => connection);',
    to: 'if (isLast) return [];',
    faults: ['gateway calls lost', 'gateway calls hang'],
  },
  {
    name: 'open a log at a gateway before the start has arrived there',
    file: `${gateways}/gateway.ts`,
    from: 'await this.#arrived(id, sent);',
    to: 'await this.#arrived(id, 0 * sent);',
    faults: ['gateway calls late'],
  },
  {
    name: 'acknowledge a batch of connections that a restarted coordinator does not have',
    file: `${gateways}/gateway-links.ts`,
    from: 'if (!attached) return false;',
    to: 'if (!attached) return true;',
    faults: ['control plane killed'],
  },
];
