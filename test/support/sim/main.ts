/**
 * Entry point of a simulation process. Runs the series that its parent process sends, one after the other,
 * and answers each with its outcome. `main.ts FIRST COUNT` by hand runs COUNT seeds from FIRST on, until one
 * fails, and prints the outcome. Then `MUTANT` names a mutant. `FAULTS` is a list of faults, separated by
 * commas, that every run includes besides those that its seed draws. `STANDBY` (`on` or `off`) states whether
 * the worlds have standbys, and `STREAMS` whether they have streams; by default each seed decides.
 * `TRACE_LINES` is the length of a failed seed's trace.
 */
import './hooks.ts';
import { faultNames, gatewayFaultNames } from './faults/fault-names.ts';
import type { Series } from './series.ts';

// Imported after the hooks are in place.
const { runSeries } = await import('./series.ts');

if (process.send) process.on('message', (series: Series) => void answer(series));
else process.stdout.write(`${JSON.stringify(await runSeries(seriesByHand()))}\n`);

/** What is not caught ends this process, and with it the series. */
async function answer(series: Series): Promise<void> {
  process.send?.(await runSeries(series));
}

function seriesByHand(): Series {
  const { MUTANT, FAULTS = '', STANDBY, STREAMS, TRACE_LINES = 200 } = process.env;
  const [first = 1, count = 1] = process.argv.slice(2).map(Number);
  const given = (setting: string | undefined) => (setting === undefined ? undefined : setting === 'on');
  return {
    seeds: Array.from({ length: count }, (_, at) => first + at),
    mutant: MUTANT,
    faults: [...faultNames, ...gatewayFaultNames].filter((name) => FAULTS.split(',').includes(name)),
    ...{ standby: given(STANDBY), streams: given(STREAMS), traceLines: Number(TRACE_LINES) },
  };
}
