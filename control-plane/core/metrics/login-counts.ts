/** Counts of logins by way, in one process or isolate. */
import { byLabel, counter, type Family } from './family.ts';

/**
 * How users come in: by a password that Berth stores, by one that the directory verifies, by sign-on (OpenID
 * Connect), or by a personal access token.
 */
export const loginWays = ['internal', 'ldap', 'oidc', 'token'] as const;
export type LoginWay = (typeof loginWays)[number];

/** Why a password let nobody in. */
type Refusal = 'wrong' | 'no-answer';

export class LoginCounts {
  readonly #logins: Record<LoginWay, number> = { internal: 0, ldap: 0, oidc: 0, token: 0 };
  readonly #refusals: Record<Refusal, number> = { wrong: 0, 'no-answer': 0 };

  count(way: LoginWay): void {
    this.#logins[way] += 1;
  }

  countRefusal(reason: Refusal): void {
    this.#refusals[reason] += 1;
  }

  families(): Family[] {
    return [
      counter(
        'berth_logins_total',
        'Logins by way. A password that is sent again within a minute counts once, and so does a token.',
        byLabel('way', this.#logins),
      ),
      counter(
        'berth_refused_logins_total',
        'Passwords that let nobody in: wrong ones, and those that the directory has not answered.',
        byLabel('reason', this.#refusals),
      ),
    ];
  }
}
