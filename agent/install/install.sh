#!/bin/sh
# Installs, updates or uninstalls Berth's agent on this machine. Run the first line again to update:
#
#   curl -fsSL https://berth.example.org/agent/install.sh | BERTH_BUNDLE_SHA256=... BERTH_JOIN_TOKEN=... sh
#   curl -fsSL https://berth.example.org/agent/install.sh | sh -s uninstall [--purge]
#
# Requires Linux, root, Node 20.11 or newer and a running Docker engine. The script checks the machine,
# fetches the agent (one file) and its checksum from the control plane, registers the host, and starts the
# agent with systemd. A failed run changes nothing, except that it keeps a key whose registration may have
# arrived (H264).
#
#   /opt/berth/berth-agent.mjs                  the agent, and beside it this script
#   /etc/berth/agent.env                        its settings; never the join token
#   /var/lib/berth                              its key, and the output of containers; removed by --purge
#   /etc/systemd/system/berth-agent.service     the unit, if the machine has systemd
#
# Settings come from the environment. The join token is required only once. It is never an argument, because
# all users can read the arguments of programs.
#
#   BERTH_JOIN_TOKEN        a token that an administrator created with POST /api/0.7/host/token
#   BERTH_BUNDLE_SHA256     the checksum of the agent that came with the token; by default the one that lies
#                           beside the agent at the control plane, which finds damage only
#   BERTH_URL               the control plane, or several, comma-separated; by default the one that served
#                           this script
#   BERTH_AGENT_NAME, BERTH_AGENT_ADDRESS and all other BERTH_AGENT_*, BERTH_LIMITS, DOCKER_HOST
#                           stored in agent.env, and used again by the next run
#   BERTH_AGENT_RELEASE_KEY the key whose owner may update this agent through the control plane; by default
#                           the one that signed the agent at the first installation
#   BERTH_AGENT_WITHOUT=updates
#                           refuse all updates through the control plane
#   BERTH_ANY_CLOCK=1       join although the clocks of this machine and the control plane differ by over 30 s
#   BERTH_ROOT              a folder to install beneath instead of the system's; systemd is then left alone
set -eu
umask 022

# The control plane inserts its own URL here.
served_by=''

root=${BERTH_ROOT:-}
program=$root/opt/berth
bundle=$program/berth-agent.mjs
settings=$root/etc/berth/agent.env
data=$root/var/lib/berth
unit=$root/etc/systemd/system/berth-agent.service

# Folders that this run has created, deepest first. A failed run removes them.
created=
work=
had_key=
finished=

main() {
  case ${1:-install} in
    install) install ;;
    uninstall) uninstall "${2:-}" ;;
    *) fail "Unknown command '$1'." 'Use install (the default), uninstall, or uninstall --purge.' ;;
  esac
}

install() {
  # Only the child process that joins receives the token.
  token=${BERTH_JOIN_TOKEN:-}
  checksum=${BERTH_BUNDLE_SHA256:-}
  # The control plane defines the deployment's name. The environment would override the settings file.
  unset BERTH_JOIN_TOKEN BERTH_BUNDLE_SHA256 BERTH_DEPLOYMENT_NAME
  check_user
  check_node
  urls=${BERTH_URL:-$(setting BERTH_URL)}
  urls=${urls:-$served_by}
  command="$node --max-semi-space-size=1 --env-file=$settings $bundle"
  [ -n "$urls" ] || fail 'The address of the control plane is unknown.' 'Set BERTH_URL to it, for example https://berth.example.org.'

  trap undo EXIT
  trap 'exit 130' HUP INT TERM
  work=$(mktemp -d)
  choose_url
  say "Fetching the agent from $url"
  fetch_agent
  make_settings
  rewrite_settings
  check_machine
  put_drafts
  join
  put_in_place
  finished=yes
  start
}

check_user() {
  [ "$(uname -s)" = Linux ] || fail "This machine runs $(uname -s), but the agent requires Linux." 'Install the agent on the machine or virtual machine that runs the engine.'
  case $root in
    '' | /*) ;;
    *) fail "BERTH_ROOT=$root does not begin with /." 'Set it to an absolute path.' ;;
  esac
  case $root in
    *[!A-Za-z0-9/._-]*) fail "BERTH_ROOT=$root contains characters other than letters, digits and / . _ -" 'Choose another folder.' ;;
  esac
  [ -n "$root" ] || [ "$(id -u)" = 0 ] ||
    fail 'The script requires root, for /opt, /etc and the engine.' 'Run it as root: curl ... | BERTH_JOIN_TOKEN=... sudo --preserve-env=BERTH_JOIN_TOKEN sh'
}

check_node() {
  node=$(command -v node) ||
    fail 'Node is not installed.' 'Install Node 20.11 or newer. Debian 13 and Ubuntu 25.04 have it (apt-get install nodejs); for other systems see https://nodejs.org/en/download.'
  case $node in
    *[!A-Za-z0-9/._+@-]*) fail "Node is at $node, a path that a systemd unit cannot contain." 'Install Node at a plain path, like /usr/local/bin/node.' ;;
  esac
  "$node" -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 11) ? 0 : 1)' ||
    fail "$node has version $("$node" --version); the agent requires 20.11 or newer." 'Install a newer Node and put it first on PATH: see https://nodejs.org/en/download.'
}

# Sets url to the first control plane that answers, and urls to all of them without a final slash.
choose_url() {
  set -f
  given=$(printf '%s' "$urls" | tr ',' ' ')
  urls=
  url=
  for one in $given; do
    urls=${urls:+$urls,}${one%/}
  done
  case $urls in
    *,*)
      for one in $given; do
        [ -n "$url" ] || ! answers "${one%/}" || url=${one%/}
      done
      ;;
  esac
  url=${url:-${urls%%,*}}
  set +f
}

# answers URL: whether a control plane, active or a standby, answers there.
answers() {
  "$node" -e '
    fetch(process.argv[1] + "/healthz", { signal: AbortSignal.timeout(10_000) })
      .then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1));
  ' "$1"
}

fetch_agent() {
  fetch /agent/berth-agent.mjs "$work/berth-agent.mjs"
  if [ -n "$checksum" ]; then
    printf '%s  berth-agent.mjs\n' "$checksum" >"$work/sha256"
  else
    fetch /agent/berth-agent.mjs.sha256 "$work/sha256"
  fi
  fetch /agent/install.sh "$work/install.sh"
  fetch_release_key
  fetch /api/0.7/info "$work/info"
  "$node" -e '
    const { readFileSync } = require("node:fs");
    const [expected, file] = process.argv.slice(1).map((path) => readFileSync(path));
    const digest = require("node:crypto").createHash("sha256").update(file).digest("hex");
    process.exit(expected.toString().startsWith(digest + " ") ? 0 : 1);
  ' "$work/sha256" "$work/berth-agent.mjs" ||
    fail 'The agent does not match its checksum: it was damaged or changed since the join token was made.' 'Try again, with a new join token if the control plane was updated meanwhile. If the error persists, check the proxies and caches between this machine and the control plane.'
  deployment=$("$node" -e '
    const name = JSON.parse(require("node:fs").readFileSync(process.argv[1])).deployment_name;
    if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) process.exit(1);
    console.log(name);
  ' "$work/info" 2>/dev/null) ||
    fail "$url does not answer like a control plane." 'Check BERTH_URL.'
}

# Sets release_key to the key that signed the fetched agent; empty if the agent is not signed.
fetch_release_key() {
  release_key=$("$node" -e '
    const { createHash, createPublicKey, verify } = require("node:crypto");
    const [url, file] = process.argv.slice(1);
    fetch(url, { signal: AbortSignal.timeout(60_000) }).then(async (answer) => {
      if (answer.status === 404) return;
      if (!answer.ok) throw new Error("the server answered " + answer.status);
      const { version, sha256, signature, key } = await answer.json();
      const digest = createHash("sha256").update(require("node:fs").readFileSync(file)).digest("hex");
      const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" });
      const text = Buffer.from("berth-agent " + version + " " + sha256 + "\n");
      if (digest !== sha256 || !verify(null, text, publicKey, Buffer.from(signature, "base64url")))
        throw new Error("the signature is not one of this agent");
      console.log(key);
    }).catch((error) => {
      console.error(url + ": " + (error.cause?.message || error.message));
      process.exit(1);
    });
  ' "$url/agent/release.json" "$work/berth-agent.mjs") ||
    fail 'The signature of the agent cannot be read, or does not match.' 'Check the proxies and caches between this machine and the control plane, and try again.'
}

# fetch PATH FILE: downloads a file. Uses Node, as the agent does, for the same certificates (INST-2).
fetch() {
  "$node" -e '
    const [url, file] = process.argv.slice(1);
    fetch(url, { signal: AbortSignal.timeout(60_000) }).then(async (answer) => {
      if (!answer.ok) throw new Error("the server answered " + answer.status);
      require("node:fs").writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    }).catch((error) => {
      console.error(url + ": " + (error.cause?.message || error.message));
      process.exit(1);
    });
  ' "$url$1" "$2" ||
    fail "$url cannot be reached, or is not a control plane." 'Check BERTH_URL, and check firewalls, DNS and certificates.'
}

# Writes the settings: those of the environment, then those of earlier runs, and the required ones.
make_settings() {
  : >"$work/agent.env"
  chmod 600 "$work/agent.env"
  names=$(env | sed -n 's/^\(BERTH_AGENT_[A-Z_]*\)=.*/\1/p')
  for name in DOCKER_HOST BERTH_LIMITS $names; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || add_setting "$name" "$value"
  done
  add_setting BERTH_URL "$urls"
  add_setting BERTH_DEPLOYMENT_NAME "$deployment"
  if [ -f "$settings" ]; then
    cp "$work/agent.env" "$work/given"
    # The last line may have no newline. If a name occurs twice, both lines stay, and the later one counts.
    while IFS= read -r line || [ -n "$line" ]; do
      grep -q "^${line%%=*}=" "$work/given" || printf '%s\n' "$line" >>"$work/agent.env"
    done <"$settings"
  fi
  # The key stays that of the first installation, unless the environment has another one.
  [ -z "$release_key" ] || grep -q '^BERTH_AGENT_RELEASE_KEY=' "$work/agent.env" ||
    add_setting BERTH_AGENT_RELEASE_KEY "$release_key"
  grep -q '^BERTH_AGENT_DATA_DIR=' "$work/agent.env" || add_setting BERTH_AGENT_DATA_DIR "$data"
  data=$(setting BERTH_AGENT_DATA_DIR "$work/agent.env")
  case $data in
    /*) ;;
    *) fail "BERTH_AGENT_DATA_DIR=$data does not begin with /, but the agent runs in another folder than this script." 'Set it to an absolute path.' ;;
  esac
}

# An earlier run may have stored settings that this agent no longer has.
rewrite_settings() {
  "$node" "$work/berth-agent.mjs" settings "$work/agent.env" >"$work/rewritten" ||
    fail "A setting in $settings cannot be carried over to this release: see the reason above." "Correct it there and run this script again."
}

# add_setting NAME VALUE: in Node's format, in which everything between single quotes is literal.
add_setting() {
  case $2 in
    *"'"* | *'
'*) fail "$1 has a single quote or a line break, which the settings file cannot contain." "Remove it from $1." ;;
  esac
  printf "%s='%s'\n" "$1" "$2" >>"$work/agent.env"
}

# setting NAME [FILE]: prints the stored value, if any. A person may have written it with other or no quotes.
setting() {
  [ ! -f "${2:-$settings}" ] ||
    sed -n "s/^$1=//p" "${2:-$settings}" | tail -n 1 | sed "s/^'\(.*\)'\$/\1/; s/^\"\(.*\)\"\$/\1/"
}

check_machine() {
  agent check || fail 'This machine is not ready for the agent: see the problems above.' 'Solve them and run this script again.'
}

# agent COMMAND: runs the fetched agent with its future settings.
agent() {
  "$node" --env-file="$work/agent.env" "$work/berth-agent.mjs" "$1" </dev/null
}

# Everything that may fail for lack of space or permissions precedes the join, which registers the host.
put_drafts() {
  make_folder "$program"
  make_folder "${settings%/*}"
  make_folder "$data" 700
  draft "$work/berth-agent.mjs" "$bundle"
  draft "$work/install.sh" "$program/install.sh"
  draft "$work/agent.env" "$settings"
  if wants_unit; then
    make_folder "${unit%/*}"
    print_unit >"$work/unit"
    draft "$work/unit" "$unit"
  fi
}

# make_folder PATH [MODE]: creates the folder and its parents; a failed installation removes the new ones. An
# existing folder keeps its mode, because BERTH_AGENT_DATA_DIR may be a folder that other programs use.
make_folder() {
  missing=$1
  new=
  while [ ! -d "$missing" ]; do
    new="$new$missing
"
    missing=$(dirname "$missing")
  done
  created=$new$created
  [ -n "$new" ] || return 0
  mkdir -p "$1" || fail "The folder $1 cannot be created." 'Check whether a file is in its place, and whether its disk is full or read-only.'
  [ -z "${2:-}" ] || chmod "$2" "$1"
}

draft() {
  cp -p "$1" "$2.new" || fail "$2 cannot be written." 'Check whether its disk is full or read-only.'
}

wants_unit() {
  [ -n "$root" ] || [ -d "${unit%/*}" ]
}

print_unit() {
  cat <<END
[Unit]
Description=Berth agent
After=network-online.target docker.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=$command
Environment=MALLOC_ARENA_MAX=1
Restart=always
RestartSec=5
# The control plane refuses this host, or a setting is invalid: a person must act.
RestartPreventExitStatus=2
# Access to the engine's socket equals root. These lines restrict the agent's own process.
NoNewPrivileges=yes
# CAP_SYS_PTRACE opens host folders in the mount namespace of the engine, which is not that of this unit.
# CAP_NET_ADMIN and CAP_NET_RAW are for iptables, CAP_KILL is for containers that fill the disk.
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_KILL CAP_SYS_PTRACE CAP_NET_ADMIN CAP_NET_RAW
# Not strict, which would prevent hard links between the agent's folder and the engine's.
ProtectSystem=full
# Not yes: registry credentials are in root's home, and volumes may be in other homes.
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
UMask=0077
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
END
}

# A host with a registered key requires no token.
join() {
  [ ! -f "$(key_file)" ] || had_key=yes
  (
    [ -z "$token" ] || export BERTH_JOIN_TOKEN="$token"
    agent join
  ) || fail 'The control plane did not let this host join: see the reason above.' 'Solve the problem and run this script again. If the token is the problem, ask an administrator for a new token (POST /api/0.7/host/token) and set BERTH_JOIN_TOKEN to it.'
}

# Prints the path of the agent's key.
key_file() {
  printf '%s' "$data/${deployment:-local}/identity/key.json"
}

put_in_place() {
  for file in "$bundle" "$program/install.sh" "$settings" "$unit"; do
    [ ! -f "$file.new" ] || mv -f "$file.new" "$file"
  done
}

start() {
  if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable --quiet berth-agent.service
    systemctl restart berth-agent.service ||
      fail 'The agent is installed, but systemd could not start it.' 'See: systemctl status berth-agent; journalctl -u berth-agent'
    say 'The agent is running, and systemd starts it whenever the machine starts. Its log: journalctl -u berth-agent'
    return
  fi
  if [ -n "$root" ]; then
    say "The agent is installed beneath $root, and nothing was started, because BERTH_ROOT leaves systemd alone."
    if [ -d /run/systemd/system ] && [ ! -e "${unit#"$root"}" ]; then
      say "To have systemd run it: systemctl enable --now $unit"
    fi
    say 'To run it in another way, have your service manager run this command as this user.'
  else
    say 'The agent is installed. systemd does not run on this machine: have your service manager run this command as this user.'
  fi
  say 'If an agent is already running, restart it.'
  say
  say "  $command"
  say
}

uninstall() {
  case $1 in
    '' | --purge) ;;
    *) fail "uninstall has no option '$1'." 'Use uninstall or uninstall --purge.' ;;
  esac
  check_user
  if [ ! -f "$bundle" ] && [ ! -f "$settings" ] && [ ! -f "$unit" ] && [ ! -d "$data" ]; then
    say 'No agent is installed here.'
    return
  fi
  url=$(setting BERTH_URL)
  deployment=$(setting BERTH_DEPLOYMENT_NAME)
  name=$(setting BERTH_AGENT_NAME)
  own_data=$(setting BERTH_AGENT_DATA_DIR)
  data=${own_data:-$data}
  # The name under which the host was registered, even if the machine was renamed.
  registered_name=$(sed -n 's/^{"name":"\([^"]*\)".*/\1/p' "$(key_file)" 2>/dev/null) || :
  name=${registered_name:-${name:-$(uname -n)}}
  if [ -z "$root" ] && [ -f "$unit" ] && [ -d /run/systemd/system ]; then
    systemctl disable --quiet --now berth-agent.service ||
      fail 'systemd could not stop the agent.' 'See: systemctl status berth-agent. Nothing was removed.'
  else
    say 'If the agent is still running, stop it.'
  fi
  rm -f "$bundle" "$program/berth-agent.candidate.mjs" "$program/install.sh" "$settings" "$unit"
  [ -n "$root" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
  remove_data "$1"
  remove_empty
  say 'The agent is removed.'
  say "Its containers keep running until the host is deleted at ${url:-the control plane}: DELETE /api/0.7/host/<id>."
  say 'To remove the containers now, run:'
  say
  say "  docker ps -aq --filter label=berth.deployment=${deployment:-local} --filter label=berth.host=$name | xargs -r docker rm -f"
  say
}

remove_data() {
  [ -d "$data" ] || return 0
  if [ "$1" = --purge ]; then
    # Only the files of this agent, because other programs may use the folder.
    rm -rf "${data:?}/${deployment:-local}"
    rmdir "$data" 2>/dev/null || :
  else
    say "Its key and the output of containers stay in $data; 'uninstall --purge' removes them."
  fi
}

# The system's shared folders are removed only beneath BERTH_ROOT.
remove_empty() {
  rmdir "$program" "${settings%/*}" 2>/dev/null || :
  [ -z "$root" ] || (cd "$root" && rmdir -p opt etc/systemd/system var/lib 2>/dev/null) || :
  [ -z "$root" ] || (cd "$root" && rmdir -p etc 2>/dev/null) || :
}

# Runs at the end of every installation. Removes everything that a failed installation has created.
undo() {
  code=$?
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$finished" ] || exit "$code"
  rm -f "$bundle.new" "$program/install.sh.new" "$settings.new" "$unit.new"
  rmdir "$data/${deployment:-}/identity" "$data/${deployment:-}" 2>/dev/null || :
  printf '%s' "$created" | while IFS= read -r folder; do rmdir "$folder" 2>/dev/null || :; done
  if [ -z "$had_key" ] && [ -f "$(key_file)" ]; then
    say "Nothing was installed, but the key of this machine stays in $data, because its registration may have arrived. Run this script again with the same token." >&2
  else
    say 'Nothing was installed or changed.' >&2
  fi
  exit "$code"
}

say() {
  printf '%s\n' "${1:-}"
}

# fail CAUSE REMEDY
fail() {
  printf 'berth: %s\n       %s\n' "$1" "$2" >&2
  exit 1
}

# Last, so that an incomplete download of this script does nothing.
main "$@"
