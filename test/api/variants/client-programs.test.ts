import { testClientHabits } from '../../support/clients/client-habits.ts';
import { everySetup, onHosts } from '../../support/hosts/hosts.ts';

/** Of groups A and B; the other variants' suites (zoe-*.test.ts) have these tests, too. */
onHosts(everySetup, (host, { variant }) => testClientHabits(host, variant));
