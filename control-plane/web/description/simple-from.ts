/** Converts a description back into the fields of the form for one container, where these can express it. */
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { memoryEntry } from '../components/memory-unit.ts';
import { checkDescription } from './draft.ts';
import { checkSimple, PORT_KINDS, type SimpleApplication, type SimplePort } from './simple-application.ts';

/** Characters of a description that the form takes: the form is sent again with all of it. */
const MAX_LENGTH = 16 * 1024;
/** A field of one line drops these. */
const LINE_BREAK = /[\r\n]/;

/**
 * The fields, if the form would make exactly this description of them; else undefined. `description` is the
 * JSON of a valid description, and `name` that of the execution.
 */
export function simpleFrom(name: string, description: string): SimpleApplication | undefined {
  if (description.length > MAX_LENGTH) return undefined;
  const { application } = checkDescription(JSON.parse(description));
  if (!application) return undefined;
  const [service, ...others] = application.services;
  if (!service || others.length > 0) return undefined;
  const simple = fieldsOf(name, application, service);
  const typed = [simple.name, simple.command, ...simple.ports.map((port) => port.name)];
  if (typed.some((text) => LINE_BREAK.test(text)) || simple.environment.includes('\r')) return undefined;
  const { body } = checkSimple(simple);
  const isSame = body?.name === name && JSON.stringify(body.application) === JSON.stringify(application);
  return isSame ? simple : undefined;
}

function fieldsOf(
  name: string,
  { will_end, share }: Application,
  service: ServiceDescription,
): SimpleApplication {
  const { image, command, resources, environment, ports } = service;
  const memory = resources.memory.min === null ? null : memoryEntry(resources.memory.min);
  return {
    name,
    image,
    command: command ?? '',
    memory: memory?.amount ?? '',
    memory_unit: memory?.unit ?? 'MiB',
    cores: resources.cores.min === null ? '' : String(resources.cores.min),
    life: will_end ? 'ends' : 'stays',
    environment: environment.map(([variable, value]) => `${variable}=${value}`).join('\n'),
    ports: ports.map(portFrom),
    isShared: share === 'users',
    isUnpublished: service.publish === false,
  };
}

function portFrom({
  name,
  port_number,
  protocol,
  url_template,
}: ServiceDescription['ports'][number]): SimplePort {
  const [kind = ''] =
    Object.entries(PORT_KINDS).find(
      ([one, template]) => template === url_template && (one === 'udp') === (protocol === 'udp'),
    ) ?? [];
  return { name: name === `Port ${port_number}` ? '' : name, number: String(port_number), kind };
}
