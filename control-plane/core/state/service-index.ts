/** Service index: the services in memory by id, and by the host of their last start. Pure. */
import { isPreempted, type Service } from '../model/service.ts';

export class ServiceIndex {
  readonly byId = new Map<number, Service>();
  readonly #byHost = new Map<number, Set<Service>>();

  add(service: Service): void {
    this.byId.set(service.id, service);
    if (service.hostId !== null) this.at(service.hostId).add(service);
  }

  drop(service: Service): void {
    this.byId.delete(service.id);
    if (service.hostId !== null) this.at(service.hostId).delete(service);
  }

  /** Records another host of the service. */
  move(service: Service, hostId: number): void {
    if (service.hostId !== null) this.at(service.hostId).delete(service);
    service.hostId = hostId;
    this.at(hostId).add(service);
  }

  at(hostId: number): Set<Service> {
    const found = this.#byHost.get(hostId);
    if (found) return found;
    const services = new Set<Service>();
    this.#byHost.set(hostId, services);
    return services;
  }

  /** Whether containers of preempted or evicted services are still on the host. */
  hasDeparting(hostId: number): boolean {
    for (const service of this.at(hostId)) if (isPreempted(service)) return true;
    return false;
  }
}
