#!/bin/sh
# Makes the models of a store to be kept here. UNITD_DATA names an empty data directory, UNITD_STORE the store in
# etcd, if it is to be there; UNITD_SECRET_KEY has the content of secret.key.
set -e
cd "$(dirname "$0")/charms"
unitd model-config update-status-hook-interval=60m
unitd deploy ./db --num-units 1
unitd deploy ./site --num-units 2 --config title="A small site" --storage files=10M
unitd integrate site:db db:sql
unitd wait --timeout 3m
unitd add-secret token value=s3cret
unitd grant-secret token site
unitd config site size=7
unitd wait --timeout 3m
unitd run site/0 greet whom=world
unitd wait --timeout 3m
unitd shutdown
