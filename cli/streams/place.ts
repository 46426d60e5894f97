/** Finds the service that a stream is opened to. */
import type { Berth } from '../../client/berth.ts';
import { placeOf, servicesNamed } from '../inputs/arguments.ts';

/** The service of `ID/SERVICE`; of an execution with one service, `ID` is enough. Throws if there is none. */
export async function serviceAt(berth: Berth, given: string): Promise<number> {
  const { id, service } = placeOf(given);
  const services = await berth.services(id);
  const found = servicesNamed(id, services, service);
  const [one] = found;
  if (!one) throw new Error(`Execution ${id} has no services.`);
  const known = found.map(({ name }) => name).join(', ');
  if (found.length > 1)
    throw new Error(`Execution ${id} has several services: name one of ${known}, as in ${id}/${one.name}.`);
  return one.id;
}
