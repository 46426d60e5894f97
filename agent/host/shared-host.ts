/**
 * Finds that the published ports of this host are ports of Berth's own host. Over plain http a browser then
 * sends Berth's cookies to them (P317).
 */
import { isCommonLoopback, isSameHost } from '../../shared/same-host.ts';
import type { Config } from '../config.ts';

/**
 * `publicUrl`: where the control plane states that people reach it; undefined: where this agent reaches it.
 * The text of the condition, or undefined.
 */
export function sharedHost(
  { urls, address, bind }: Pick<Config, 'urls' | 'address' | 'bind'>,
  publicUrl: string | undefined,
): string | undefined {
  const isStated = publicUrl !== undefined && URL.canParse(publicUrl);
  const origins = isStated ? [new URL(publicUrl)] : urls;
  const shared = origins.find(
    ({ protocol, hostname }) =>
      protocol === 'http:' &&
      (isSameHost(address, hostname) ||
        // 0.0.0.0 and :: count as loopback, too.
        (isCommonLoopback(hostname) && (bind === null || isCommonLoopback(bind)))),
  );
  return (
    shared &&
    `published ports of this host listen at the host of Berth's own address, ${shared.origin}: over plain http a browser sends ` +
      "Berth's cookies to all of them. Set BERTH_AGENT_ADDRESS to another address of this host, such as 127.0.0.2 on Linux, " +
      'or serve Berth by https and set BERTH_PUBLIC_URL'
  );
}
