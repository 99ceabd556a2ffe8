package state

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
)

// Keys of documents, below the model's prefix "m/<uuid>/". Unit names have a
// slash in them, so "unit/mysql/" lists the units of mysql.
func applicationKey(app string) string { return "app/" + app }
func serviceKey(app string) string     { return "service/" + app }
func objectKey(object string) string   { return objects + object }
func configKey(app string) string      { return "config/" + app }
func unitKey(u model.UnitName) string  { return "unit/" + string(u) }
func unitsOf(app string) string        { return "unit/" + app + "/" }
func podKey(u model.UnitName) string   { return podPrefix + string(u) }
func machineKey(id string) string      { return "machine/" + id }
func freeKey(machine string) string    { return freeMachines + machine }
func charmKey(url string) string       { return "charm/" + url }
func newCharmKey(url string) string    { return "new-charm/" + url }
func formerCharmKey(url string) string { return "former-charm/" + url }
func relationKey(id model.RelationID) string {
	return "relation/" + strconv.Itoa(int(id))
}
func relationNameKey(key string) string { return "relation-key/" + key }
func relationOfKey(app string, id model.RelationID) string {
	return relationsOf(app) + strconv.Itoa(int(id))
}
func relationsOf(app string) string { return "relation-of/" + app + "/" }

func scopesOf(id model.RelationID) string { return fmt.Sprintf("scope/%d/", id) }
func containerScope(id model.RelationID, container string) string {
	return scopesOf(id) + container + "/"
}

// scopesOfUnit lists the relations that a unit is in the scope of, by id: who
// asks need not look at all relations of its application.
func scopesOfUnit(u model.UnitName) string { return "scope-of/" + string(u) + "/" }
func scopeOfUnit(u model.UnitName, id model.RelationID) string {
	return scopesOfUnit(u) + strconv.Itoa(int(id))
}

// global is the container of the one scope of a global relation.
const global = "-"

func settingsOf(id model.RelationID) string { return fmt.Sprintf("settings/%d/", id) }

// leftScope says who has left a part of a relation's scope. It goes with the
// settings, which units leave behind as well.
func leftScope(id model.RelationID, container string) string {
	return settingsOf(id) + "left/" + container + "/"
}
func unitSettingsKey(id model.RelationID, u model.UnitName) string {
	return settingsOf(id) + "unit/" + string(u)
}
func appSettingsKey(id model.RelationID, app string) string {
	return settingsOf(id) + "app/" + app
}

func leaderKey(app string) string           { return "leader/" + app }
func lastLeaderKey(app string) string       { return "last-leader/" + app }
func leaderSettingsKey(app string) string   { return "leader-settings/" + app }
func charmStateKey(u model.UnitName) string { return "charm-state/" + string(u) }
func failureKey(u model.UnitName) string    { return "failure/" + string(u) }
func containersKey(u model.UnitName) string { return "containers/" + string(u) }
func portsKey(machine string) string        { return "ports/" + machine }
func presenceKey(machine string) string     { return "presence/" + machine }
func sequenceKey(name string) string        { return "sequence/" + name }
func cleanupKey(n int) string               { return fmt.Sprintf("cleanup/%09d", n) }

// Secrets are listed by owner: a unit's id, what an application's document says,
// or the model's UUID. What a unit reads is listed by its id: names come again.
func secretKey(id model.SecretID) string { return "secret/" + string(id) }
func secretsOwnedBy(list string) string  { return "secret-owned/" + list + "/" }
func secretsReadBy(unitID string) string { return "secret-read/" + unitID + "/" }
func secretContents(id model.SecretID) string {
	return "secret-content/" + string(id) + "/"
}
func secretContentKey(id model.SecretID, revision int) string {
	return secretContents(id) + strconv.Itoa(revision)
}
func secretReaders(id model.SecretID) string { return "secret-reader/" + string(id) + "/" }

func storageKey(id model.StorageID) string  { return "storage/" + string(id) }
func attachmentsOf(u model.UnitName) string { return "attachment/" + string(u) + "/" }
func attachmentsOfUnits(app string) string  { return "attachment/" + app + "/" }
func poolKey(name string) string            { return "storage-pool/" + name }
func attachmentKey(u model.UnitName, id model.StorageID) string {
	return attachmentsOf(u) + string(id)
}

// objects are those of the Kubernetes API that charms have written, by kind and
// name, "services/web": both are the whole namespace's.
const objects = "object/"

const modelConfigKey = "model-config"

// podPrefix lists the pods of all container units.
const podPrefix = "pod/"

// freeMachines lists the machines that new units are put on if nothing else is
// said: those that are Alive, have no units, and weren't made for one.
const freeMachines = "machine-free/"

// StatusKind says whose status it is.
type StatusKind string

// The statuses that are kept. The name is a unit's or an application's.
const (
	WorkloadStatus    StatusKind = "workload"
	AgentStatus       StatusKind = "agent"
	ApplicationStatus StatusKind = "application"
)

func statusKey(k StatusKind, name string) string { return "status/" + string(k) + "/" + name }
func historyKey(k StatusKind, name string) string {
	return "status-history/" + string(k) + "/" + name
}

// formerHistory lists the documents of a history of format 2.
func formerHistory(k StatusKind, name string) string { return historyKey(k, name) + "/" }

// splitKey takes a key apart: "unit/mysql/0" is "unit" and "mysql/0".
func splitKey(key string) (kind, rest string) {
	kind, rest, _ = strings.Cut(key, "/")
	return kind, rest
}
