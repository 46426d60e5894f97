/** Owns a folder of a shop as Zoe's are: a notebook with parameters, hidden from a role, and an entry whose files are not there. */
import { application, service } from './applications.ts';

const GIB = 1024 ** 3;
const HALF_GIB = GIB / 2;

const memory = (name: string, readable_name: string, standard: number) => ({
  kind: 'environment',
  name,
  readable_name,
  description: 'Must be less than the memory limit of the service',
  type: 'int',
  default: standard,
  min: HALF_GIB,
  max: 64 * GIB,
  step: HALF_GIB,
});

export const sparkManifest = {
  version: 1,
  zapps: [
    {
      category: 'Data science',
      name: 'Distributed PySpark notebook',
      description: 'spark.json',
      readable_descr: 'README.md',
      parameters: [
        memory('SPARK_DRIVER_RAM', 'Spark driver memory (bytes)', 2 * GIB),
        {
          kind: 'service_count',
          name: 'spark-worker',
          readable_name: 'Spark worker count',
          description: 'How many workers to spawn',
          type: 'int',
          default: 4,
          min: 1,
          max: 16,
          step: 1,
        },
        memory('SPARK_WORKER_RAM', 'Spark worker memory (bytes)', 11_274_289_152),
        {
          kind: 'environment',
          name: 'SPARK_WORKER_CORES',
          readable_name: 'Spark worker cores',
          description: 'Must be equal to the core limit of the worker service',
          type: 'int',
          default: 2,
          min: 1,
          max: 16,
          step: 1,
        },
      ],
      disabled_for: ['student'],
    },
    {
      category: 'Labs',
      name: 'CLOUDS',
      description: 'clouds.json',
      readable_descr: 'README-clouds.md',
      parameters: [],
    },
  ],
};

const resources = (memoryBytes: number, cores: number) => ({
  memory: { min: memoryBytes, max: memoryBytes },
  cores: { min: cores, max: cores },
});

export const sparkApplication = application(
  service({ name: 'spark-master', monitor: false, resources: resources(GIB, 1) }),
  service({
    name: 'spark-worker',
    monitor: false,
    total_count: 2,
    essential_count: 1,
    startup_order: 1,
    resources: resources(12 * GIB, 6),
    environment: [
      ['SPARK_WORKER_CORES', '6'],
      ['SPARK_WORKER_RAM', '11273240064'],
      ['SPARK_MASTER_IP', '{dns_name#spark-master0}'],
    ],
  }),
  service({
    name: 'spark-jupyter',
    resources: resources(12 * GIB, 2),
    environment: [
      ['SPARK_DRIVER_RAM', '2147483648'],
      ['SPARK_WORKER_RAM', '11273240064'],
    ],
  }),
);

export const sparkFolder = {
  'spark/manifest.json': sparkManifest,
  'spark/spark.json': sparkApplication,
  'spark/README.md': '# Spark\n',
};
