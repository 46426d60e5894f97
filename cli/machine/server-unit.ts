/** The service of systemd that runs the control plane: its places and its unit. Pure. */
import { LEAN } from './programs.ts';

export const UNIT_NAME = 'berth-server.service';
export const USER = 'berth-server';

/** The agent of the same machine has /var/lib/berth, which its user must not be able to change. */
export const PLACES = {
  program: '/opt/berth/server',
  settings: '/etc/berth/server.env',
  unit: `/etc/systemd/system/${UNIT_NAME}`,
  data: '/var/lib/berth-server',
  cache: '/var/cache/berth-server',
} as const;

/** `node`: from the folder of the program. */
export const unitText = (node: string): string => `[Unit]
Description=Berth control plane
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
User=${USER}
ExecStart=${PLACES.program}/${node} ${LEAN.join(' ')} ${PLACES.program}/control-plane/node.js
Environment=MALLOC_ARENA_MAX=1 NODE_COMPILE_CACHE=${PLACES.cache}
EnvironmentFile=${PLACES.settings}
StateDirectory=berth-server
StateDirectoryMode=0700
CacheDirectory=berth-server
CacheDirectoryMode=0700
WorkingDirectory=${PLACES.data}
Restart=always
RestartSec=5
# Its data and cache are all that it can write to, apart from a /tmp of its own.
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
UMask=0077
# MemoryDenyWriteExecute is left out: V8 compiles to memory.
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
