# shellcheck shell=bash
# What the shop's hooks share. There is one function that matters, configure:
# it looks at all relations as they are now and brings the configuration file
# and the status into line. Every hook that may change the answer calls it.

RUN="$CHARM_DIR/run"

# set_version says which version of the workload there is, for people to see.
set_version() {
    application-version-set 1.0.3
}

# setting RELATION-ID UNIT KEY prints what the database's unit has published,
# which may be nothing at any time: the unit may not have got that far, or may
# have taken it back. That is no failure, it is something to wait for.
setting() {
    relation-get -r "$1" "$3" "$2" || return 0
}

# database_ids prints the relations to databases. The one that is being broken
# may still be listed, but is of no use any more.
database_ids() {
    local id
    for id in $(relation-ids db); do
        if [ "${JUJU_HOOK_NAME:-}" != db-relation-broken ] || [ "$id" != "$JUJU_RELATION_ID" ]; then
            echo "$id"
        fi
    done
}

# find_database looks for the first unit that has published all that is needed,
# and sets DB_UNIT, DB_HOST, DB_PORT, DB_USER, DB_PASSWORD and DB_TITLE; it
# fails if there is none.
find_database() {
    local id
    for id in $(database_ids); do
        for DB_UNIT in $(relation-list -r "$id"); do
            DB_HOST=$(setting "$id" "$DB_UNIT" host)
            DB_PORT=$(setting "$id" "$DB_UNIT" port)
            DB_USER=$(setting "$id" "$DB_UNIT" user)
            DB_PASSWORD=$(setting "$id" "$DB_UNIT" password)
            DB_TITLE=$(setting "$id" "$DB_UNIT" title)
            if [ -n "$DB_HOST" ] && [ -n "$DB_PORT" ] && [ -n "$DB_USER" ] && [ -n "$DB_PASSWORD" ]; then
                return 0
            fi
        done
    done
    return 1
}

# write_config writes the shop's configuration, for its own eyes only, as it
# has a password.
write_config() {
    mkdir -p "$RUN"
    (umask 077 && cat >"$RUN/shop.conf.new") <<CONF
currency = $(config-get currency)
database = $DB_TITLE
host = $DB_HOST
port = $DB_PORT
user = $DB_USER
password = $DB_PASSWORD
CONF
    mv "$RUN/shop.conf.new" "$RUN/shop.conf"
}

# configure brings the configuration file and the status into line with the
# relations. "blocked" says that a person must do something; "waiting", that
# somebody else is about to.
configure() {
    if find_database; then
        write_config
        status-set active "connected to $DB_UNIT as $DB_USER"
        return 0
    fi
    rm -f "$RUN/shop.conf"
    if [ -z "$(database_ids)" ]; then
        status-set blocked "needs a database: integrate with a provider of ledgerdb"
    else
        status-set waiting "waiting for the database's credentials"
    fi
}
