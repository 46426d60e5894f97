/** Templates: complete descriptions to start from, in the browser and as examples of the format. */
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';

export interface Template {
  /** In URLs. */
  id: string;
  title: string;
  /** What it shows, in a sentence or two. */
  summary: string;
  application: Application;
}

const MIB = 2 ** 20;
const IMAGE = 'busybox:1';

const service = ({
  name,
  ...fields
}: Partial<ServiceDescription> & Pick<ServiceDescription, 'name'>): ServiceDescription => ({
  name,
  image: IMAGE,
  monitor: true,
  total_count: 1,
  essential_count: 1,
  startup_order: 0,
  resources: { memory: { min: 64 * MIB, max: 64 * MIB }, cores: { min: 0.1, max: 0.1 } },
  environment: [],
  volumes: [],
  ports: [],
  command: null,
  ...fields,
});

const webPort = (name: string) => ({
  name,
  port_number: 8080,
  protocol: 'tcp' as const,
  url_template: 'http://{ip_port}/',
});

export const templates: readonly Template[] = [
  {
    id: 'job',
    title: 'A job',
    summary: 'One container that does its work and exits. Its exit ends the execution.',
    application: {
      name: 'nightly-report',
      version: 3,
      will_end: true,
      size: 1,
      services: [
        service({
          name: 'main',
          environment: [['REPORT_FOR', '{user_name}']],
          command: `sh -c 'echo "report for $REPORT_FOR"; sleep 2; echo done'`,
        }),
      ],
    },
  },
  {
    id: 'web',
    title: 'A web application',
    summary: 'One web server with a published port. It runs until somebody terminates it.',
    application: {
      name: 'web-site',
      version: 3,
      will_end: false,
      size: 1,
      services: [
        service({
          name: 'main',
          ports: [webPort('Web site')],
          command: `sh -c 'mkdir /www && echo hello > /www/index.html && exec httpd -f -v -p 8080 -h /www'`,
        }),
      ],
    },
  },
  {
    id: 'two-tiers',
    title: 'Two tiers',
    summary:
      'Three services that are placed together or not at all. The database starts before the two web servers, which reach it by its DNS name.',
    application: {
      name: 'two-tiers',
      version: 3,
      will_end: false,
      size: 3,
      services: [
        service({
          name: 'store',
          command: `sh -c 'mkdir /www && echo "data of $EXECUTION_NAME" > /www/data && exec httpd -f -p 8080 -h /www'`,
        }),
        service({
          name: 'web',
          monitor: false,
          total_count: 2,
          essential_count: 2,
          startup_order: 1,
          environment: [['DATA', 'http://{dns_name#store0}:8080/data']],
          ports: [webPort('Front page')],
          command: `sh -c 'mkdir /www && wget -q -O /www/index.html "$DATA" && exec httpd -f -p 8080 -h /www'`,
        }),
      ],
    },
  },
  {
    id: 'elastic',
    title: 'Elastic workers',
    summary:
      'A leader, one essential worker, and seven more workers that come and go with the free capacity. The leader ends the job.',
    application: {
      name: 'elastic-job',
      version: 3,
      will_end: true,
      size: 8,
      services: [
        service({
          name: 'leader',
          command: `sh -c 'for n in 1 2 3 4 5; do echo "round $n"; sleep 1; done'`,
        }),
        service({
          name: 'worker',
          monitor: false,
          total_count: 8,
          startup_order: 1,
          environment: [['LEADER', '{dns_name#leader0}']],
          command: `sh -c 'while true; do echo "$SERVICE_NAME works for $LEADER"; sleep 2; done'`,
        }),
      ],
    },
  },
  {
    id: 'host',
    title: 'A folder and a label of a host',
    summary:
      'A service that runs only on hosts with the label gpu, and reads a folder of its host. The operator must allow the folder and label the hosts.',
    application: {
      name: 'training',
      version: 3,
      will_end: true,
      size: 100,
      services: [
        service({
          name: 'train',
          resources: {
            memory: { min: 1024 * MIB, max: 4096 * MIB },
            cores: { min: 2, max: null },
            shm: 256 * MIB,
          },
          environment: [['DATA', '/mnt/data']],
          volumes: [{ name: 'data', path: '/srv/berth/data', read_only: true }],
          command: `sh -c 'ls "$DATA"'`,
          labels: ['gpu'],
        }),
      ],
    },
  },
];
