import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ScriptedAgent } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { waiting } from '../../../support/fixtures/descriptions.ts';
import { hosts, onHostsWith } from '../../../support/hosts/hosts.ts';
import { freePort } from '../../../support/hosts/port.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { complaintsOf, ensurePrometheus, PrometheusServer } from '../../../support/tools/prometheus.ts';

const INSTALL_MS = 180_000;
const TOKEN = 'a-token-of-the-scraper';

onHostsWith({ BERTH_METRICS: TOKEN }, hosts, (host, { kind }) => {
  const read = async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return (await fetch(`${host().url()}/metrics`, { headers })).text();
  };

  test('H451: promtool has no complaint about the metrics, and a Prometheus server scrapes them', {
    timeout: INSTALL_MS,
  }, async () => {
    const { prometheus, promtool } = await ensurePrometheus();
    const agent = await ScriptedAgent.join(host());
    const api = new ApiClient(host);
    await agent.assigned(await api.submit());
    await api.submit(waiting);
    expect(await complaintsOf(promtool, await read())).toBe('');
    const { host: target } = new URL(host().url());
    const server = await PrometheusServer.start(prometheus, await freePort(), scrapeConfig(target));
    try {
      await eventually(async () => (await server.query('up{job="berth"}')) === 1);
      expect(await server.query('berth_executions{state="queued"}')).toBe(1);
      expect(await server.query('sum(berth_host_up)')).toBe(1);
      expect(await server.query('scrape_samples_scraped')).toBeGreaterThan(80);
    } finally {
      await server.stop();
      await agent.close();
    }
  });

  // On workerd nothing is known of the process.
  if (kind === 'workerd') return;
  test('H452: every metric of release/deploy/grafana.json is one that is exposed', async () => {
    const path = resolve(import.meta.dirname, '../../../../release/deploy/grafana.json');
    const dashboard = JSON.parse(await readFile(path, 'utf8')) as { panels: Panel[] };
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const named = new Set(expressions.flatMap((expr) => expr.match(/\b(berth|process)_\w+/g) ?? []));
    const exposed = namesIn(await read());
    expect(expressions.length).toBeGreaterThan(20);
    expect([...named].filter((name) => !exposed.has(name))).toEqual([]);
  });
});

interface Panel {
  targets?: { expr: string }[];
}

/** Names of samples: those of a histogram have endings. */
const namesIn = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['bucket', 'sum', 'count'].map((end) => `${name}_${end}`) : [name],
    ),
  );

const scrapeConfig = (target: string) => `
  - job_name: berth
    scrape_interval: 1s
    authorization: {credentials: ${TOKEN}}
    static_configs: [{targets: ['${target}']}]
`;
