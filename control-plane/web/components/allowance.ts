/** Renders the limits of a quota and their present use. */
import { type Allowance, MICRO } from '../../core/accounts/quota.ts';
import { memoryText } from '../../core/model/text.ts';
import { type Html, html } from './html.ts';
import { coresNumber, meter } from './pieces.ts';

export function allowanceMeters({ quota, used }: Allowance): Html {
  const cores = used.microCores / MICRO;
  return html`<div class="meters">
${limitMeter('Executions', used.executions, quota.concurrentExecutions, String)}
${limitMeter('Memory', used.memoryBytes, quota.memoryBytes, memoryText)}
${limitMeter('Cores', cores, quota.cores, coresNumber)}
</div>`;
}

/** A limit of 0 means no limit. */
function limitMeter(label: string, used: number, limit: number, text: (amount: number) => string): Html {
  if (limit === 0) return html`<p>${label}: ${text(used)} used, no limit</p>`;
  return meter(used, limit, `${label}: ${text(used)} of ${text(limit)} used`);
}
