/** Attack: what one attempt against a running Berth is, and what it can find. */
import type { Target } from './target/target.ts';

/** The attackers of the threat model (docs/security.md). */
export type Attacker = 'a stranger' | 'another web site' | 'a user' | 'a container' | 'a host';

export type Verdict = 'safe' | 'vulnerable' | 'skipped';

export interface Finding {
  verdict: Verdict;
  /** What happened, or why the attack was skipped. One line. */
  happened: string;
}

export interface Attack {
  /** In kebab-case, for `--only`. */
  id: string;
  who: Attacker;
  rules: readonly string[];
  /** What it tries, as a sentence. */
  tries: string;
  /** 30 s by default. */
  limitMs?: number;
  run(target: Target): Promise<Finding>;
}

export interface Result extends Omit<Attack, 'run' | 'limitMs'>, Finding {
  ms: number;
}

export const safe = (happened: string): Finding => ({ verdict: 'safe', happened });
export const vulnerable = (happened: string): Finding => ({ verdict: 'vulnerable', happened });

/** Vulnerable if there are problems, which are listed. Otherwise safe. */
export const judge = (problems: readonly string[], happened: string): Finding =>
  problems.length > 0 ? vulnerable(problems.join('; ')) : safe(happened);

/** Vulnerable unless each status is one of a refusal. */
export const judgeRefusals = (statuses: readonly number[], isRefusal: (status: number) => boolean): Finding =>
  judge(
    statuses.every(isRefusal) ? [] : [`it was answered ${statuses.join(', ')}`],
    `refused with ${statuses.join(', ')}`,
  );

/** Thrown by an attack that can't be tried. The message is the reason. */
export class Skipped extends Error {}
