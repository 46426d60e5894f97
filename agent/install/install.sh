#!/bin/sh
# Installs Berth's agent on this machine, brings it up to date, or takes it away. To install it, and to do so again later:
#
#   curl -fsSL https://berth.example.org/agent/install.sh | BERTH_JOIN_TOKEN=... sh
#   curl -fsSL https://berth.example.org/agent/install.sh | sh -s uninstall [--purge]
#
# It needs Linux, root, Node 20.11 or newer and a Docker engine that runs. It looks whether they will do, fetches the agent
# (one file) and its checksum from the control plane, joins, and has systemd run it. Where anything fails, nothing is left.
#
#   /opt/berth/berth-agent.mjs                  the agent; beside it this script
#   /etc/berth/agent.env                        its settings; never the join token
#   /var/lib/berth                              its key, and the output of containers; `uninstall --purge` removes it
#   /etc/systemd/system/berth-agent.service     where systemd is
#
# Settings come from the environment. The join token is asked for the first time only, and never an argument: those are for
# all to read.
#
#   BERTH_JOIN_TOKEN        what an administrator was given by POST /api/0.7/host/token
#   BERTH_URL               the control plane; by default the one that this script was fetched from
#   BERTH_AGENT_NAME, BERTH_AGENT_ADDRESS, BERTH_AGENT_LABELS and all other BERTH_AGENT_*, DOCKER_HOST
#                           kept in agent.env, and used again next time
#   BERTH_ANY_CLOCK=1       joins although the clocks of this machine and the control plane differ by more than 30 s
#   BERTH_ROOT              a folder to put everything beneath, instead of the system's; systemd is then left alone
set -eu
umask 022

# The control plane puts its own URL in here.
served_by=''

root=${BERTH_ROOT:-}
program=$root/opt/berth
bundle=$program/berth-agent.mjs
settings=$root/etc/berth/agent.env
data=$root/var/lib/berth
unit=$root/etc/systemd/system/berth-agent.service

# Folders that this run has made, deepest first: they go again where it fails.
made=
work=
had_key=
finished=

main() {
  case ${1:-install} in
    install) install ;;
    uninstall) uninstall "${2:-}" ;;
    *) fail "There is no '$1' here." "It is install (also without a word), uninstall or uninstall --purge." ;;
  esac
}

install() {
  # Children need not know it, but for the one that joins.
  token=${BERTH_JOIN_TOKEN:-}
  # The name of the deployment is the control plane's to tell, and the environment counts for more than the file.
  unset BERTH_JOIN_TOKEN BERTH_DEPLOYMENT_NAME
  check_user
  check_node
  url=${BERTH_URL:-$(setting BERTH_URL)}
  url=${url:-$served_by}
  url=${url%/}
  command="$node --max-semi-space-size=1 --env-file=$settings $bundle"
  [ -n "$url" ] || fail 'It is not known where the control plane is.' 'Set BERTH_URL to its address, like https://berth.example.org.'

  trap undo EXIT
  trap 'exit 130' HUP INT TERM
  work=$(mktemp -d)
  say "Fetching the agent from $url"
  fetch_agent
  make_settings
  check_machine
  put_drafts
  join
  put_in_place
  finished=yes
  start
}

check_user() {
  [ "$(uname -s)" = Linux ] || fail "This is $(uname -s); the agent runs on Linux." 'Install it on the machine or virtual machine that has the engine.'
  case $root in
    '' | /*) ;;
    *) fail "BERTH_ROOT=$root does not begin with /." 'Set it to a full path.' ;;
  esac
  case $root in
    *[!A-Za-z0-9/._-]*) fail "BERTH_ROOT=$root has characters other than letters, digits and / . _ -" 'Choose another folder.' ;;
  esac
  [ -n "$root" ] || [ "$(id -u)" = 0 ] ||
    fail 'This takes root, for /opt, /etc and the engine.' 'Run it as root: curl ... | BERTH_JOIN_TOKEN=... sudo --preserve-env=BERTH_JOIN_TOKEN sh'
}

check_node() {
  node=$(command -v node) ||
    fail 'There is no Node here.' 'Install Node 20.11 or newer: Debian 13 and Ubuntu 25.04 have it (apt-get install nodejs), for others see https://nodejs.org/en/download.'
  case $node in
    *[!A-Za-z0-9/._+@-]*) fail "Node is at $node, which a unit of systemd can't name." 'Install Node where its path is plain, like /usr/local/bin/node.' ;;
  esac
  "$node" -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 11) ? 0 : 1)' ||
    fail "$node is $("$node" --version); the agent needs 20.11 or newer." 'Install a newer Node, and have it come first on PATH: see https://nodejs.org/en/download.'
}

fetch_agent() {
  fetch /agent/berth-agent.mjs "$work/berth-agent.mjs"
  fetch /agent/berth-agent.mjs.sha256 "$work/sha256"
  fetch /agent/install.sh "$work/install.sh"
  fetch /api/0.7/info "$work/info"
  "$node" -e '
    const { readFileSync } = require("node:fs");
    const [expected, file] = process.argv.slice(1).map((path) => readFileSync(path));
    const digest = require("node:crypto").createHash("sha256").update(file).digest("hex");
    process.exit(expected.toString().startsWith(digest + " ") ? 0 : 1);
  ' "$work/sha256" "$work/berth-agent.mjs" ||
    fail 'The agent is not what its checksum says: it was damaged or changed on its way here.' 'Try again. If it stays so, see what is between this machine and the control plane.'
  deployment=$("$node" -e '
    const name = JSON.parse(require("node:fs").readFileSync(process.argv[1])).deployment_name;
    if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) process.exit(1);
    console.log(name);
  ' "$work/info" 2>/dev/null) ||
    fail "$url does not answer like a control plane." 'See whether BERTH_URL is right.'
}

# fetch PATH FILE. By Node, as the agent will later: it has to trust the same certificates and find the same way.
fetch() {
  "$node" -e '
    const [url, file] = process.argv.slice(1);
    fetch(url, { signal: AbortSignal.timeout(60_000) }).then(async (answer) => {
      if (!answer.ok) throw new Error("it answers " + answer.status);
      require("node:fs").writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    }).catch((error) => {
      console.error(url + ": " + (error.cause?.message || error.message));
      process.exit(1);
    });
  ' "$url$1" "$2" ||
    fail "The control plane at $url can't be reached from here, or is none." 'See whether BERTH_URL is right, and whether a firewall, a name or a certificate is in the way.'
}

# What was set before, what is set now, and what has to be there.
make_settings() {
  : >"$work/agent.env"
  chmod 600 "$work/agent.env"
  names=$(env | sed -n 's/^\(BERTH_AGENT_[A-Z_]*\)=.*/\1/p')
  for name in DOCKER_HOST $names; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || keep "$name" "$value"
  done
  keep BERTH_URL "$url"
  keep BERTH_DEPLOYMENT_NAME "$deployment"
  if [ -f "$settings" ]; then
    cp "$work/agent.env" "$work/given"
    # The last line may have no end. Of a name that is there twice both stay: the later one counts.
    while IFS= read -r line || [ -n "$line" ]; do
      grep -q "^${line%%=*}=" "$work/given" || printf '%s\n' "$line" >>"$work/agent.env"
    done <"$settings"
  fi
  grep -q '^BERTH_AGENT_DATA_DIR=' "$work/agent.env" || keep BERTH_AGENT_DATA_DIR "$data"
  data=$(setting BERTH_AGENT_DATA_DIR "$work/agent.env")
  case $data in
    /*) ;;
    *) fail "BERTH_AGENT_DATA_DIR=$data does not begin with /: the agent will run in another folder than this one." 'Set it to a full path.' ;;
  esac
}

# keep NAME VALUE, as Node reads it: within quotes everything stands for itself.
keep() {
  case $2 in
    *"'"* | *'
'*) fail "$1 has a quote or a line break in it, which its settings can't hold." "Set $1 to a value without." ;;
  esac
  printf "%s='%s'\n" "$1" "$2" >>"$work/agent.env"
}

# setting NAME [FILE]: its value as it was kept, if it was, or as a person has written it: with other quotes, or without.
setting() {
  [ ! -f "${2:-$settings}" ] ||
    sed -n "s/^$1=//p" "${2:-$settings}" | tail -n 1 | sed "s/^'\(.*\)'\$/\1/; s/^\"\(.*\)\"\$/\1/"
}

check_machine() {
  agent check || fail 'This machine is not ready for the agent; above is why.' 'Mend it, and run this again.'
}

# agent VERB: the agent that was just fetched, with the settings it will have.
agent() {
  "$node" --env-file="$work/agent.env" "$work/berth-agent.mjs" "$1" </dev/null
}

# Everything that may fail for want of room or rights comes before the join, after which the host is known.
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

# make_folder PATH [MODE]: with all above it; what was not there before goes again where the installation fails. One that is
# there keeps its mode: BERTH_AGENT_DATA_DIR may be a folder that others use, too.
make_folder() {
  missing=$1
  new=
  while [ ! -d "$missing" ]; do
    new="$new$missing
"
    missing=$(dirname "$missing")
  done
  made=$new$made
  [ -n "$new" ] || return 0
  mkdir -p "$1" || fail "$1 can't be made." 'See what is in the way of it, or whether its disk is full or read-only.'
  [ -z "${2:-}" ] || chmod "$2" "$1"
}

draft() {
  cp -p "$1" "$2.new" || fail "$2 can't be written." 'See whether its disk is full or read-only.'
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
# The control plane does not want this host any more, or its settings are wrong: a person has to act.
RestartPreventExitStatus=2
# The engine's socket is as good as root. This keeps the agent itself from what it has no business with.
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER
# Not strict: it would cut the agent's folder off from the engine's, between which it makes hard links.
ProtectSystem=full
# Not yes: credentials of registries are in root's home, and volumes may lie in others.
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

# A host that has its key needs no token.
join() {
  [ ! -f "$(key_file)" ] || had_key=yes
  (
    [ -z "$token" ] || export BERTH_JOIN_TOKEN="$token"
    agent join
  ) || fail 'The control plane did not let this host join; above is why.' 'Mend that, and run this again. Where it is the token, ask an administrator for a new token (POST /api/0.7/host/token), as BERTH_JOIN_TOKEN.'
}

# Where the agent keeps who it is.
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
      fail 'The agent is installed, but systemd does not start it.' 'See: systemctl status berth-agent; journalctl -u berth-agent'
    say 'The agent runs, and will after every start of this machine. Its log: journalctl -u berth-agent'
    return
  fi
  say 'The agent is installed. There is no systemd to run it: have what starts your services run this, as this user.'
  say 'One that runs already is to be ended and run again.'
  say
  say "  $command"
  say
}

uninstall() {
  case $1 in
    '' | --purge) ;;
    *) fail "uninstall has no '$1'." 'It takes --purge, or nothing.' ;;
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
  # The name that it was registered by, whatever the machine is called now.
  kept_name=$(sed -n 's/^{"name":"\([^"]*\)".*/\1/p' "$(key_file)" 2>/dev/null) || :
  name=${kept_name:-${name:-$(uname -n)}}
  if [ -z "$root" ] && [ -f "$unit" ] && [ -d /run/systemd/system ]; then
    systemctl disable --quiet --now berth-agent.service ||
      fail 'systemd does not stop the agent.' 'See: systemctl status berth-agent. Nothing was removed.'
  else
    say 'If the agent still runs, end it.'
  fi
  rm -f "$bundle" "$program/install.sh" "$settings" "$unit"
  [ -n "$root" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
  remove_data "$1"
  remove_empty
  say 'The agent is removed.'
  say "Its containers go on running until the host is deleted at ${url:-the control plane}: DELETE /api/0.7/host/<id>."
  say 'To remove them here and now:'
  say
  say "  docker ps -aq --filter label=berth.deployment=${deployment:-local} --filter label=berth.host=$name | xargs -r docker rm -f"
  say
}

remove_data() {
  [ -d "$data" ] || return 0
  if [ "$1" = --purge ]; then
    # What the agent has made there, and nothing that somebody else has.
    rm -rf "${data:?}/${deployment:-local}"
    rmdir "$data" 2>/dev/null || :
  else
    say "Its key and the output of containers are kept in $data; 'uninstall --purge' removes them."
  fi
}

# Of folders that others use too, only those beneath BERTH_ROOT.
remove_empty() {
  rmdir "$program" "${settings%/*}" 2>/dev/null || :
  [ -z "$root" ] || (cd "$root" && rmdir -p opt etc/systemd/system var/lib 2>/dev/null) || :
  [ -z "$root" ] || (cd "$root" && rmdir -p etc 2>/dev/null) || :
}

# Runs at the end of every installation. After a failure nothing is left of it, but for what was there before.
undo() {
  code=$?
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$finished" ] || exit "$code"
  rm -f "$bundle.new" "$program/install.sh.new" "$settings.new" "$unit.new"
  rmdir "$data/${deployment:-}/identity" "$data/${deployment:-}" 2>/dev/null || :
  printf '%s' "$made" | while IFS= read -r folder; do rmdir "$folder" 2>/dev/null || :; done
  if [ -z "$had_key" ] && [ -f "$(key_file)" ]; then
    say "Nothing was installed, but the key of this machine is kept in $data: its registration may have arrived. Run this again, with the same token." >&2
  else
    say 'Nothing was installed or changed.' >&2
  fi
  exit "$code"
}

say() {
  printf '%s\n' "${1:-}"
}

# fail CAUSE WAY_OUT
fail() {
  printf 'berth: %s\n       %s\n' "$1" "$2" >&2
  exit 1
}

# Last, so that a script that arrived in part does nothing.
main "$@"
