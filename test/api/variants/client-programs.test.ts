import { testClientHabits } from '../../support/client-habits.ts';
import { everySetup, onHosts } from '../../support/hosts.ts';

/** Of groups A and B; the other variants' suites (zoe-*.test.ts) have these tests, too. */
onHosts(everySetup, (host, { variant }) => testClientHabits(host, variant));
