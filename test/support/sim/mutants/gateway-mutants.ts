/** Mutants of gateways, and of the coordinator's end of them. */
import type { Mutant } from './mutant.ts';

const gateways = 'control-plane/coordinator/gateways';

export const gatewayMutants: readonly Mutant[] = [
  {
    name: 'relay a message twice whose batch was sent again',
    inShortForm: true,
    file: `${gateways}/portion.ts`,
    from: 'return entries.slice(received - first);',
    to: 'return entries;',
    faults: ['gateway calls without an answer'],
  },
  {
    name: 'go on at a gateway that has lost messages while it slept',
    file: `${gateways}/gateway.ts`,
    from: 'if (state.delivered < state.up)',
    to: 'if (state.delivered > state.up)',
    faults: ['gateway sleeps', 'gateway calls lost'],
  },
  {
    name: 'number the messages of a connection anew after its gateway slept',
    file: `${gateways}/gateway.ts`,
    from: 'this.#sender.begin(id, state.up);',
    to: 'this.#sender.begin(id);',
    faults: ['gateway sleeps'],
  },
  {
    name: 'keep a connection that the coordinator does not have',
    file: `${gateways}/batch-sender.ts`,
    from: 'if (!isKnown || rejected.has(connection)) this.#lose(connection, isKnown);',
    to: 'if (!isKnown || !rejected.has(connection)) this.#lose(connection, isKnown);',
  },
  {
    name: 'keep a connection whose messages were given up',
    file: `${gateways}/batch-sender.ts`,
    from: 'if (isLast) return undefined;',
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
    name: 'keep a connection at a gateway that could not be told of its end',
    file: `${gateways}/gateway-links.ts`,
    from: `          this.#lost(id);
          if (!isKnown) this.#endLater(gateway, id);`,
    to: '          this.#lost(id);',
    faults: ['gateway calls lost', 'gateway calls hang'],
  },
  {
    name: 'tell a gateway only once that its coordinator has lost its memory',
    file: `${gateways}/gateway-links.ts`,
    from: 'await new Promise<void>((resolve) => clock.after(TELL_AGAIN_MS, resolve));',
    to: 'return void this.#ungreeted.delete(gateway);',
    faults: ['control plane killed', 'gateway calls lost', 'gateway calls hang'],
  },
  {
    name: 'number the messages to an agent anew after the coordinator slept',
    file: `${gateways}/gateway-links.ts`,
    from: 'this.#senderOf(gateway).begin(id, sent);',
    to: 'this.#senderOf(gateway).begin(id, 0 * sent);',
    faults: ['coordinator sleeps'],
  },
  {
    name: 'go on after a sleep although another coordinator has taken over',
    file: 'control-plane/store/db/epoch.ts',
    from: 'return claimed.length > 0;',
    to: 'return true;',
    faults: ['coordinator sleeps', 'second control plane'],
  },
  {
    name: 'take over again after a sleep although another coordinator has taken over',
    file: 'control-plane/coordinator/epoch/claims.ts',
    from: 'this.#hasHeld = terms.resumes !== undefined;',
    to: 'this.#hasHeld = false;',
    faults: ['coordinator sleeps', 'second control plane'],
  },
  {
    name: 'forget while the coordinator sleeps what an agent has reported about its host',
    file: 'control-plane/coordinator/sleep/saved-sessions.ts',
    from: 'Object.assign(host, reported, { connected: true, isWatched: true });',
    to: 'Object.assign(host, { connected: false, isWatched: true });',
    faults: ['coordinator sleeps'],
  },
  {
    name: 'never end the connection of a silent agent',
    file: `${gateways}/gateway.ts`,
    from: "held.connection.close(...closeArguments('resync', 'no sign of life'));",
    to: 'this.#change(held, { heardMs: nowMs });',
  },
  {
    name: 'wait for ever for the agent of a connection that no gateway watches',
    file: 'control-plane/core/hosts/host-liveness.ts',
    from: 'return host.connected && host.isWatched ?',
    to: 'return host.connected || host.isWatched ?',
  },
];
