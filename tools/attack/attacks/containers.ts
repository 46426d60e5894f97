/** Attacks of a container on its host: what its limits and rights are, as the kernel shows them within it. */
import { type Attack, judge, Skipped, safe } from '../attack.ts';
import { outputOf, run, scripted, serviceOf } from '../target/executions.ts';
import { open } from '../target/http.ts';
import type { Target } from '../target/target.ts';

/** Prints what the kernel says of this container, under cgroup 2 or 1. */
const INSPECTION = [
  'grep -E "^(CapBnd|CapEff|NoNewPrivs):" /proc/self/status',
  'grep MemTotal: /proc/meminfo',
  'echo memory: $(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null)',
  'echo processes: $(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null)',
  'echo writable: $(for file in hosts hostname resolv.conf; do (: >> /etc/$file) 2>/dev/null && echo $file; done)',
  'echo RESULT done',
].join('; ');

/** Docker's usual capabilities without those that Berth drops (P107), by their bits. */
const USUAL = new Map([
  [0, 'CHOWN'],
  [1, 'DAC_OVERRIDE'],
  [3, 'FOWNER'],
  [4, 'FSETID'],
  [5, 'KILL'],
  [6, 'SETGID'],
  [7, 'SETUID'],
  [8, 'SETPCAP'],
  [10, 'NET_BIND_SERVICE'],
]);
const NAMED = new Map([
  [12, 'NET_ADMIN'],
  [13, 'NET_RAW'],
  [16, 'SYS_MODULE'],
  [18, 'SYS_CHROOT'],
  [19, 'SYS_PTRACE'],
  [21, 'SYS_ADMIN'],
  [27, 'MKNOD'],
  [29, 'AUDIT_WRITE'],
  [31, 'SETFCAP'],
]);
const MAX_PROCESSES = 4_096;
/** A container with more than this part of its machine's memory can take it from all others. */
const MAX_PART = 0.9;
const MIB = 2 ** 20;

/** The same container serves all these attacks: one without a minimum and a maximum of memory. */
const inspection = (target: Target): Promise<string> =>
  target.once('inspection', async () => {
    const attacker = target.account('attacker');
    const resources = { memory: { min: null, max: null }, cores: { min: null, max: null } };
    const id = await run(target, attacker, scripted(target, INSPECTION, { resources }));
    return outputOf(target, attacker, id, /RESULT done\n/);
  });

const field = (output: string, name: string): string => {
  const [, value = ''] = new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(output) ?? [];
  return value;
};

const capabilities: Attack = {
  id: 'capabilities',
  who: 'a container',
  rules: ['P107'],
  tries: 'finds capabilities beyond the usual ones, or a way to gain privileges by setuid programs',
  run: async (target) => {
    const output = await inspection(target);
    const held =
      BigInt(`0x${field(output, 'CapBnd') || '0'}`) | BigInt(`0x${field(output, 'CapEff') || '0'}`);
    const beyond = Array.from({ length: 64 }, (_, bit) => bit)
      .filter((bit) => (held >> BigInt(bit)) & 1n && !USUAL.has(bit))
      .map((bit) => NAMED.get(bit) ?? `number ${bit}`);
    return judge(
      [
        ...(beyond.length > 0 ? [`it has the capabilities ${beyond.join(', ')}`] : []),
        ...(field(output, 'NoNewPrivs') === '1' ? [] : ['it may gain privileges by setuid programs']),
      ],
      `it has no other capabilities than ${[...USUAL.values()].join(', ')}, and gains no privileges`,
    );
  },
};

const processes: Attack = {
  id: 'process-limit',
  who: 'a container',
  rules: ['P107'],
  tries: 'finds that it may start processes without a limit',
  run: async (target) => {
    const limit = field(await inspection(target), 'processes');
    if (limit === '') throw new Skipped('the container does not show its limit');
    return judge(
      Number(limit) <= MAX_PROCESSES ? [] : [`the limit is ${limit}`],
      `the limit is ${limit} processes`,
    );
  },
};

const memory: Attack = {
  id: 'memory-limit',
  who: 'a container',
  rules: ['C198'],
  tries: 'finds that it may use the memory of the whole host, since its description states no limit',
  run: async (target) => {
    const output = await inspection(target);
    const [limit = ''] = field(output, 'memory').split(' ');
    if (limit === '') throw new Skipped('the container does not show its limit');
    const host = Number.parseInt(field(output, 'MemTotal'), 10) * 1_024;
    const bytes = limit === 'max' ? Number.POSITIVE_INFINITY : Number(limit);
    const text = `${Math.round(bytes / MIB)} MiB of ${Math.round(host / MIB)} MiB`;
    return judge(bytes > MAX_PART * host ? [`it may use ${text}`] : [], `it may use ${text}`);
  },
};

const engineFiles: Attack = {
  id: 'engine-files',
  who: 'a container',
  rules: ['P155'],
  tries: 'opens the files in its /etc for writing, which the engine reads as a whole',
  run: async (target) => {
    const files = field(await inspection(target), 'writable');
    return judge(files === '' ? [] : [`it may write to ${files}`], 'it may write to none of them');
  },
};

const output: Attack = {
  id: 'endless-output',
  who: 'a container',
  rules: ['P121'],
  tries: 'fills the disk of its host by output (--output)',
  limitMs: 300_000,
  run: async (target) => {
    const mib = target.options.outputMib;
    if (mib === 0) throw new Skipped('writes nothing without --output');
    const attacker = target.account('attacker');
    const script = `yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c ${mib * MIB}`;
    const id = await run(target, attacker, scripted(target, script));
    const { signal } = target;
    const path = `service/logs/${await serviceOf(target, attacker, id)}`;
    const read = async () => {
      let bytes = 0;
      const log = await open(target.url, { path, headers: { cookie: attacker.cookie }, signal });
      for await (const part of log) bytes += (part as Buffer).length;
      return bytes;
    };
    await read();
    // The second reading shows what is kept once all has been written.
    const keptMib = (await read()) / MIB;
    if (keptMib >= mib)
      throw new Skipped(`all of ${mib} MiB were kept: the cap is beyond (BERTH_LIMITS.logBytes)`);
    return safe(`${keptMib.toFixed(0)} MiB of ${mib} MiB were kept`);
  },
};

export const containers: readonly Attack[] = [capabilities, processes, memory, engineFiles, output];
