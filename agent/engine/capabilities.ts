/** Linux capabilities of containers: those that every container has, and the names of all that exist. */

/**
 * What ordinary images need: package managers, servers that drop their privileges, ports below 1024. Docker's
 * default has NET_RAW, MKNOD, AUDIT_WRITE, SETFCAP and SYS_CHROOT besides (CONT-51).
 */
export const USUAL_CAPABILITIES = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETPCAP',
  'SETUID',
] as const;

/** Names without the prefix CAP_, as the engine and the settings take them. */
const EXISTING: readonly string[] = [
  ...USUAL_CAPABILITIES,
  'AUDIT_CONTROL',
  'AUDIT_READ',
  'AUDIT_WRITE',
  'BLOCK_SUSPEND',
  'BPF',
  'CHECKPOINT_RESTORE',
  'DAC_READ_SEARCH',
  'IPC_LOCK',
  'IPC_OWNER',
  'LEASE',
  'LINUX_IMMUTABLE',
  'MAC_ADMIN',
  'MAC_OVERRIDE',
  'MKNOD',
  'NET_ADMIN',
  'NET_BROADCAST',
  'NET_RAW',
  'PERFMON',
  'SETFCAP',
  'SYS_ADMIN',
  'SYS_BOOT',
  'SYS_CHROOT',
  'SYS_MODULE',
  'SYS_NICE',
  'SYS_PACCT',
  'SYS_PTRACE',
  'SYS_RAWIO',
  'SYS_RESOURCE',
  'SYS_TIME',
  'SYS_TTY_CONFIG',
  'SYSLOG',
  'WAKE_ALARM',
];

/** The name without its prefix, or undefined if no such capability exists. ALL is not a capability. */
export function capabilityOf(text: string): string | undefined {
  const name = text.toUpperCase().replace(/^CAP_/, '');
  return EXISTING.includes(name) ? name : undefined;
}
