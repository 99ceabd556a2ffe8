# shellcheck shell=bash
# What the ledger's hooks share. Each hook sources this file, says in a line or
# two what has happened, and leaves the work to these functions. All of them
# look at how things are and make them right: it never matters which hooks ran
# before, nor whether one is run again after a failure.

# What the charm writes is below its own directory, which the unit has for
# itself and which stays through upgrades.
RUN="$CHARM_DIR/run"

# set_version says which version of the workload there is, for people to see.
set_version() {
    application-version-set 2.1.0
}

log() {
    juju-log "$*"
}

# new_password prints 32 hexadecimal digits of chance.
new_password() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# password_key RELATION-ID is where the unit's state has the relation's
# password. The unit's state is kept in the model, so it outlives the charm
# directory. It is written when the hook ends well: a hook that fails has
# promised nothing to anybody.
password_key() {
    echo "password.${1##*:}"
}

# valid_config says whether the configuration can be served, or else has why
# not in PROBLEM. Values have the type that config.yaml says, but their range is
# for the charm to check. JSON, because the plain format may say 1e+06 for a
# million.
valid_config() {
    local port max
    port=$(config-get --format=json port)
    max=$(config-get --format=json max-connections)
    if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
        PROBLEM="port must be from 1 to 65535, not $port"
        return 1
    fi
    if [ "$max" -lt 1 ]; then
        PROBLEM="max-connections must be at least 1, not $max"
        return 1
    fi
}

# write_config writes the server's configuration.
write_config() {
    mkdir -p "$RUN"
    # A file that appears by rename is never seen half written.
    cat >"$RUN/ledger.conf.new" <<CONF
port = $(config-get port)
title = $(config-get title)
max-connections = $(config-get max-connections)
verbose = $(config-get verbose)
CONF
    mv "$RUN/ledger.conf.new" "$RUN/ledger.conf"
}

# open_only PORT opens the port and closes all others: the port that was
# configured before need not be remembered.
open_only() {
    local opened
    for opened in $(opened-ports); do
        [ "$opened" = "$1/tcp" ] || close-port "$opened"
    done
    open-port "$1/tcp"
}

# grant RELATION-ID makes sure that the application at the relation's other end
# has credentials, and publishes them. The password is made once: later hooks
# find it in the unit's state.
grant() {
    local key password user
    key=$(password_key "$1")
    password=$(state-get "$key")
    if [ -z "$password" ]; then
        password=$(new_password)
        state-set "$key=$password"
        log "made credentials for relation $1"
    fi
    user=$(relation-list -r "$1" --app)
    # Setting what is set already tells nobody, so there is no need to compare.
    relation-set -r "$1" \
        "host=$(network-get db --ingress-address)" \
        "port=$(config-get port)" \
        "user=$user" \
        "password=$password" \
        "title=$(config-get title)"
}

# granted RELATION-ID says whether the relation has credentials.
granted() {
    [ -n "$(state-get "$(password_key "$1")")" ]
}

# consumers prints the relations that have somebody at their other end.
consumers() {
    local id
    for id in $(relation-ids db); do
        if [ -n "$(relation-list -r "$id")" ]; then
            echo "$id"
        fi
    done
}

# revoke RELATION-ID forgets the relation's credentials.
revoke() {
    state-delete "$(password_key "$1")"
    log "dropped the credentials of relation $1"
}

# report sets the unit's status by what is so now. Before the start hook the
# charm has nothing to say.
report() {
    local count
    [ -n "$(state-get started)" ] || return 0
    if ! valid_config; then
        status-set blocked "$PROBLEM"
        return 0
    fi
    count=$(consumers | wc -l | tr -d ' ')
    case $count in
    0) status-set active "ready on port $(config-get port)" ;;
    1) status-set active "serving 1 consumer on port $(config-get port)" ;;
    *) status-set active "serving $count consumers on port $(config-get port)" ;;
    esac
}
