import { testClientHabits } from '../../support/clients/client-habits.ts';
import { bothGroups, onHosts } from '../../support/hosts/hosts.ts';

/** For groups A and B; the suites of the other variants (zoe-*.test.ts) run these tests themselves. */
onHosts(bothGroups, (host, { variant }) => testClientHabits(host, variant));
