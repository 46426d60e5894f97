/**
 * Runs a program under the restrictions of the agent's systemd unit that concern host folders, without
 * systemd: a mount namespace of its own, system folders read-only, no further privileges, and the
 * capabilities that the unit names.
 */

/** The command that runs `command` as the text of the unit demands. Requires root. */
export function underUnit(unit: string, command: readonly string[]): string[] {
  const capabilities = settingOf(unit, 'CapabilityBoundingSet')
    .toLowerCase()
    .replaceAll('cap_', '')
    .split(' ');
  const script = [
    ...readOnlyFolders(unit).map(
      (folder) =>
        `if [ -d ${folder} ]; then mount --rbind ${folder} ${folder}; mount -o remount,bind,ro ${folder}; fi`,
    ),
    'exec "$@"',
  ];
  return [
    ...['unshare', '--mount', '--propagation', 'slave', 'sh', '-ec', script.join('\n'), 'sh'],
    ...[
      'setpriv',
      '--inh-caps',
      '-all',
      '--bounding-set',
      ['-all', ...capabilities.map((name) => `+${name}`)].join(','),
    ],
    ...(settingOf(unit, 'NoNewPrivileges') === 'yes' ? ['--no-new-privs'] : []),
    ...command,
  ];
}

/** The unit without one of its capabilities, as an administrator may have changed it. */
export const withoutCapability = (unit: string, name: string): string => unit.replaceAll(` ${name}`, '');

function settingOf(unit: string, name: string): string {
  const [, value] = new RegExp(`^${name}=(.*)$`, 'm').exec(unit) ?? [];
  if (value === undefined) throw new Error(`the unit has no line ${name}`);
  return value;
}

const readOnlyFolders = (unit: string): string[] => [
  ...(settingOf(unit, 'ProtectSystem') === 'full' ? ['/usr', '/boot', '/etc'] : []),
  ...(settingOf(unit, 'ProtectHome') === 'read-only' ? ['/home', '/root'] : []),
];
