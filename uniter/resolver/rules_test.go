package resolver_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

const self = model.UnitName("app/0")

// task is the run of one.
var task = hooks.Info{Kind: hooks.Action, Action: "act", Task: "2"}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// situations is a table of what Next does where. A situation is made of the
// words below, on top of a unit that is Alive and was added a moment ago. Each
// row names the rule that it is about.
var situations = []struct{ rule, name, situation, want string }{
	{"gone", "a unit that the model doesn't have", "gone", "terminate"},
	{"gone", "a Dead unit, whatever has failed", "settled dead failed:start", "terminate"},
	{"pending", "a run that the model has the stamp of", "settled pending:config-changed stamped", "finish config-changed"},
	{"pending", "a run that the model doesn't know of", "settled pending:config-changed", "interrupt config-changed"},
	{"pending", "a run whose commit was cut off by a stop, and is in the model", "settled pending:config-changed over stamped", "finish config-changed"},
	{"pending", "a run whose commit was cut off by a stop, and is not", "settled pending:config-changed over", "requeue config-changed"},
	{"pending", "a run comes to its end before the unit marks itself", "settled pending:config-changed orphaned", "interrupt config-changed"},
	{"task-pending", "a task that the model has the stamp of", "settled running-task stamped", "finish-task act-action"},
	{"task-pending", "a task that the model doesn't know the end of", "settled running-task", "abort-task act-action"},
	{"task-pending", "in error too, and before the error", "settled failed:start running-task", "abort-task act-action"},
	{"lost", "a run that the model has and the agent hasn't", "settled ahead", "recall"},
	{"lost", "before install, which has run", "charm ahead", "recall"},
	{"lost", "and no charm: relations can't be told without one", "ahead", "deploy ch:1"},
	{"lost", "before a unit that is Dying counts as stillborn", "charm ahead dying", "recall"},
	{"lost", "before a failure of which the model has what came after it", "settled failed:start ahead", "recall"},
	{"orphaned", "the application is going", "settled orphaned", "mark-dying"},
	{"orphaned", "a unit in error marks itself too", "settled orphaned failed:start", "mark-dying"},
	{"orphaned", "a unit that is Dying needn't", "settled dying orphaned", "run-hook stop"},
	{"stray", "a relation that the model doesn't have", "settled told:db", "forget"},
	{"stray", "without a charm nobody knows the relations", "settled told:db lost", "deploy ch:1"},
	{"tasks", "a task, and much else to do", "settled task config2 leader rel:db", "run-task act-action"},
	{"tasks", "in error", "settled failed:start task answer:retry", "run-task act-action"},
	{"tasks", "in error at install", "charm failed:install task", "run-task act-action"},
	{"tasks", "in error at a relation hook that has lost its cause", "settled failed:db-relation-joined task", "run-task act-action"},
	{"tasks", "not in error without a charm", "settled failed:start lost task", "deploy ch:1"},
	{"tasks", "not before install", "charm task", "run-hook install"},
	{"tasks", "not between config-changed and start", "charm installed configured task", "run-hook start"},
	{"tasks", "not between upgrade-charm and config-changed", "settled reconfigure task", "run-hook config-changed"},
	{"tasks", "not between an upgrade and upgrade-charm", "settled upgraded task", "run-hook upgrade-charm"},
	{"tasks", "not before an upgrade that is due", "settled charm2 task", "deploy ch:2"},
	{"tasks", "of a unit that is Dying", "settled dying task", "run-task act-action"},
	{"tasks", "not after stop", "settled dying stopped task", "run-hook remove"},
	{"tasks", "not in error after stop", "settled dying stopped failed:remove task", "idle remove"},
	{"tasks", "one that was begun by an agent that has forgotten it", "settled begun-task", "abort-task act-action"},
	{"failed", "a failed hook, and much else to do", "settled failed:start config2 charm2 dying leader", "idle start"},
	{"failed", "an answer to the run: retry", "settled failed:start answer:retry", "run-hook start"},
	{"failed", "an answer to the run: skip", "settled failed:start answer:skip", "skip start"},
	{"failed", "an answer to another run", "settled failed:start answer:retry other", "idle start"},
	{"failed", "a forced upgrade", "settled failed:start charm2 forced", "deploy ch:2"},
	{"failed", "a forced upgrade that is done", "settled failed:start forced", "idle start"},
	{"failed", "an answer before a forced upgrade", "settled failed:start answer:skip charm2 forced", "skip start"},
	{"failed", "a forced upgrade comes before the hook is run again", "settled failed:start answer:retry charm2 forced", "deploy ch:2"},
	{"failed", "a forced upgrade comes before a change brings the retry forward", "settled failed:start basis retry early values2 charm2 forced", "deploy ch:2"},
	{"failed", "nothing has changed since", "settled failed:start basis retry early", "idle start"},
	{"failed", "configuration has changed since", "settled failed:start basis retry early values2", "run-hook start: configuration changed since it failed"},
	{"failed", "an upgrade that waits is no change of configuration", "settled failed:start basis retry early charm2 config2", "idle start"},
	{"failed", "the charm has changed since", "settled failed:start oldbasis retry early", "run-hook start: charm changed since it failed"},
	{"failed", "something has changed since, and nothing is retried by itself", "settled failed:start oldbasis early values2", "idle start"},
	{"failed", "a relation's members have changed since", "settled failed:db-relation-joined rel:db told:db basis member:db retry early", "run-hook db-relation-joined: relation changed since it failed"},
	{"failed", "a relation's application has changed since", "settled failed:db-relation-joined rel:db told:db basis application:db retry early", "run-hook db-relation-joined: relation changed since it failed"},
	{"failed", "a relation has changed that the hook isn't of", "settled failed:start rel:db told:db basis member:db retry early", "idle start"},
	{"failed", "a run of which nobody knows what it was begun on", "settled failed:start retry early values2", "idle start"},
	{"failed", "time to retry", "settled failed:start retry", "run-hook start"},
	{"failed", "not yet time to retry", "settled failed:start retry early", "idle start"},
	{"failed", "a failed hook of a relation that is gone", "settled failed:db-relation-joined", "discard db-relation-joined"},
	{"failed", "a failed hook of a relation that is there", "settled failed:db-relation-joined rel:db told:db", "idle db-relation-joined"},
	{"stray", "storage that the model doesn't have", "settled attached:data/0", "forget"},
	{"failed", "a failed hook of storage that is gone", "settled failed:storage-attached", "discard data-storage-attached"},
	{"failed", "a failed hook of storage that is there", "settled failed:storage-attached ready:data/0", "idle data-storage-attached"},
	{"failed", "storage waits for the answer too", "settled failed:start ready:data/0", "idle start"},
	{"failed", "leader-elected is not run again without leadership", "settled failed:leader-elected answer:retry", "discard leader-elected"},
	{"failed", "leader-elected is run again with leadership", "settled failed:leader-elected answer:retry leader", "run-hook leader-elected"},
	{"failed", "the charm directory is lost in error", "settled failed:start lost", "deploy ch:1"},
	{"failed", "the unit is removed with --force", "settled dying lenient failed:stop", "skip stop: the unit is removed with --force"},
	{"failed", "the unit is removed with --force, whatever was answered", "settled dying lenient failed:stop answer:retry", "skip stop"},
	{"failed", "force is for a unit that is going", "settled lenient failed:start", "idle start"},
	{"failed", "the relation is removed with --force", "settled rel:db told:db suspended:db lenient:db failed:db-relation-joined", "skip db-relation-joined: the relation is removed with --force"},
	{"failed", "force is for a relation that is going", "settled rel:db told:db lenient:db failed:db-relation-joined", "idle db-relation-joined"},
	{"failed", "another relation is removed with --force", "settled rel:db told:db rel:web told:web suspended:web lenient:web failed:db-relation-joined", "idle db-relation-joined"},
	{"failed", "a relation is removed with --force, and another hook has failed", "settled rel:db told:db suspended:db lenient:db failed:config-changed", "idle config-changed"},
	{"stillborn", "Dying, and never installed", "dying", "mark-dead"},
	{"stillborn", "Dying, and the charm is there", "charm dying", "mark-dead"},
	{"stillborn", "Dying, and waits for storage", "charm dying initial:data/0 going:data/0", "detach"},
	{"stillborn", "Dying, and storage was attached", "charm dying ready:data/0 attached:data/0 going:data/0", "run-hook data-storage-detaching"},
	{"stillborn", "Dying, storage was attached and the charm is lost", "dying ready:data/0 attached:data/0 going:data/0", "deploy ch:1"},
	{"start", "the first config-changed has run", "charm installed configured", "run-hook start"},
	{"start", "even if the unit is Dying", "charm installed configured dying", "run-hook start"},
	{"start", "before another charm", "charm installed configured charm2", "run-hook start"},
	{"start", "before leadership and relations", "charm installed configured leader rel:db", "run-hook start"},
	{"start", "not without a charm", "charm installed configured lost", "deploy ch:1"},
	{"reconfigure", "upgrade-charm has run", "settled reconfigure", "run-hook config-changed"},
	{"reconfigure", "before a relation that the upgrade brought", "settled reconfigure rel:db leader", "run-hook config-changed"},
	{"reconfigure", "even if the unit is Dying", "settled reconfigure dying", "run-hook config-changed"},
	{"reboot", "the machine was rebooted", "settled boot:1 boot2", "run-hook start"},
	{"reboot", "before all that is due by itself", "settled boot:1 boot2 charm2 config2 leader rel:db dying", "run-hook start"},
	{"reboot", "not before the failed hook is resolved", "settled failed:config-changed boot:1 boot2", "idle config-changed"},
	{"reboot", "not between upgrade-charm and config-changed", "settled reconfigure boot:1 boot2", "run-hook config-changed"},
	{"reboot", "not before upgrade-charm, once the charm is there", "settled upgraded boot:1 boot2", "run-hook upgrade-charm"},
	{"reboot", "not before the first start", "charm installed settings boot:1 boot2", "run-hook config-changed"},
	{"reboot", "not after stop", "settled dying stopped boot:1 boot2", "run-hook remove"},
	{"reboot", "not without a charm", "settled lost boot:1 boot2", "deploy ch:1"},
	{"reboot", "the same boot", "settled boot:2 boot2", "idle"},
	{"reboot", "a journal that knows of no boot", "settled boot2", "idle"},
	{"reboot", "a machine that has no name for it", "settled boot:1", "idle"},
	{"deploy", "a new unit", "", "deploy ch:1"},
	{"deploy", "another charm", "settled charm2", "deploy ch:2"},
	{"deploy", "another charm before config-changed", "settled charm2 config2", "deploy ch:2"},
	{"deploy", "not while Dying", "settled charm2 dying", "run-hook stop"},
	{"deploy", "the charm of a Dying unit was lost", "settled lost dying", "deploy ch:1"},
	{"first-storage", "storage that is there", "charm initial:data/0 ready:logs/1", "run-hook logs-storage-attached"},
	{"first-storage", "not before the charm is deployed", "initial:data/0 ready:data/0", "deploy ch:1"},
	{"first-storage", "what the unit is deployed with is waited for", "charm ready:data/0 attached:data/0 initial:logs/1", "idle"},
	{"first-storage", "what was added later is not", "charm pending-storage:data/0", "run-hook install"},
	{"install", "the charm is deployed", "charm leader rel:db", "run-hook install"},
	{"upgrade-charm", "another charm was deployed", "settled upgraded config2", "run-hook upgrade-charm"},
	{"upgrade-charm", "even if the unit is Dying", "settled upgraded dying", "run-hook upgrade-charm"},
	{"dying", "started, without relations", "settled dying", "run-hook stop"},
	{"dying", "never started", "charm installed dying", "run-hook remove"},
	{"dying", "stopped", "settled dying stopped", "run-hook remove"},
	{"dying", "stopped and removed", "settled dying stopped removed", "mark-dead"},
	{"dying", "removed, with a subordinate", "settled dying stopped removed subordinate", "idle"},
	{"dying", "relations before stop", "settled dying rel:db told:db", "run-hook db-relation-broken"},
	{"dying", "peers last", "settled dying rel:cluster told:cluster rel:db told:db", "run-hook db-relation-broken"},
	{"dying", "a relation that was never told of is left", "settled dying rel:db known:db", "leave-scope"},
	{"dying", "a scope that the agent doesn't remember is left", "settled dying rel:db scope:db", "leave-scope"},
	{"dying", "storage before relations", "settled dying rel:db told:db ready:data/0 attached:data/0 going:data/0", "run-hook data-storage-detaching"},
	{"dying", "storage that was never told of goes without a hook, and first", "settled dying ready:data/0 attached:data/0 going:data/0 ready:data/1 going:data/1 pending-storage:data/2 going:data/2", "detach"},
	{"leave", "a scope was entered and nothing told", "settled rel:db known:db suspended:db", "leave-scope"},
	{"leave", "a scope that the agent doesn't remember", "settled rel:db scope:db suspended:db", "leave-scope"},
	{"leave", "a relation that isn't Alive when first seen is skipped", "settled rel:db suspended:db", "idle"},
	{"enter", "new relations, all at once", "settled rel:db rel:web", "enter-scope 2"},
	{"enter", "a relation that the model doesn't have the unit in", "settled rel:db known:db", "enter-scope 1"},
	{"enter", "not before the former subordinate is gone, and the others meanwhile", "settled rel:db notyet:db rel:web", "enter-scope 1"},
	{"enter", "before leadership", "charm installed rel:db leader", "enter-scope 1"},
	{"relation-created", "before leadership and configuration", "charm installed rel:db known:db scope:db leader", "run-hook db-relation-created"},
	{"relation-created", "by the endpoint's name", "settled rel:web known:web scope:web rel:db known:db scope:db", "run-hook db-relation-created"},
	{"leadership", "gained", "settled leader", "run-hook leader-elected"},
	{"leadership", "gained before the first config-changed", "charm installed leader", "run-hook leader-elected"},
	{"leadership", "kept", "settled leads leader", "idle"},
	{"leadership", "lost", "settled leads", "resign"},
	{"leader-settings", "never told", "charm installed", "run-hook leader-settings-changed"},
	{"leader-settings", "changed", "settled settings2", "run-hook leader-settings-changed"},
	{"leader-settings", "the leader is not told", "settled leads leader settings2", "idle"},
	{"secrets", "expired before all else of secrets", "settled expired rotates newer obsolete", "run-hook secret-expired"},
	{"secrets", "then those to rotate", "settled rotates newer obsolete", "run-hook secret-rotate"},
	{"secrets", "then what others have changed", "settled newer obsolete", "run-hook secret-changed"},
	{"secrets", "then what nobody reads", "settled obsolete", "run-hook secret-remove"},
	{"secrets", "each is told once", "settled expired rotates newer obsolete knows", "idle"},
	{"secrets-again", "a revision that has expired is told again until it is removed", "settled expired knows late", "run-hook secret-expired"},
	{"secrets-again", "all else comes first", "settled expired knows late config2", "run-hook config-changed"},
	{"secrets-again", "before update-status", "settled expired knows late interval", "run-hook secret-expired"},
	{"secrets", "before configuration", "settled obsolete config2", "run-hook secret-remove"},
	{"secrets", "not before start", "charm installed settings obsolete", "run-hook config-changed"},
	{"secrets", "not while Dying", "settled obsolete dying", "run-hook stop"},
	{"failed", "a failed hook of a secret that is the unit's no more", "settled failed:secret-rotate answer:retry", "discard secret-rotate"},
	{"failed", "a failed hook of a secret that is the unit's", "settled failed:secret-rotate answer:retry rotates", "run-hook secret-rotate"},
	{"failed", "a failed hook of a secret that can't be read any more", "settled failed:secret-changed answer:retry", "discard secret-changed"},
	{"storage", "storage that is there", "settled ready:data/0", "run-hook data-storage-attached"},
	{"storage", "storage that isn't there yet", "settled pending-storage:data/0", "idle"},
	{"storage", "storage that was attached", "settled ready:data/0 attached:data/0", "idle"},
	{"storage", "storage that is going, before storage that is there", "settled ready:data/0 ready:data/1 attached:data/1 going:data/1", "run-hook data-storage-detaching"},
	{"storage", "storage that goes before it was told of", "settled ready:data/0 going:data/0", "detach"},
	{"storage", "after leadership, before configuration", "settled config2 ready:data/0", "run-hook data-storage-attached"},
	{"storage", "after leadership", "settled leader ready:data/0", "run-hook leader-elected"},
	{"storage", "nothing comes between upgrade-charm and config-changed", "settled reconfigure ready:data/0", "run-hook config-changed"},
	{"storage", "by name, then by number", "settled ready:data/10 ready:data/9", "run-hook data-storage-attached"},
	{"config", "after install", "charm installed settings", "run-hook config-changed"},
	{"config", "changed", "settled config2", "run-hook config-changed"},
	{"config", "before a relation's hooks", "settled config2 rel:db told:db scope:db member:db", "run-hook config-changed"},
	{"relations", "a member that is first seen", "settled rel:db told:db scope:db member:db", "run-hook db-relation-joined"},
	{"relations", "what is going goes first", "settled rel:db told:db scope:db member:db rel:web told:web suspended:web", "run-hook web-relation-broken"},
	{"relations", "before update-status", "settled interval late rel:db told:db scope:db member:db", "run-hook db-relation-joined"},
	{"requeued", "the time of a hook has come", "settled again:update-status late", "run-hook update-status: it asked to run again: not ready"},
	{"requeued", "the time hasn't come", "settled again:update-status", "idle"},
	{"requeued", "all else comes first", "settled again:update-status late config2", "run-hook config-changed"},
	{"requeued", "before update-status", "settled again:config-changed late interval", "run-hook config-changed: it asked to run again: not ready"},
	{"requeued", "not before the failed hook is resolved", "settled again:config-changed late failed:start", "idle start"},
	{"requeued", "not in a unit that goes", "settled again:config-changed late dying", "run-hook stop"},
	{"requeued", "a hook of a relation", "settled rel:db told:db scope:db member:db joined:db again:db-relation-joined late", "run-hook db-relation-joined"},
	{"requeued", "the remote unit has left", "settled rel:db told:db scope:db again:db-relation-joined", "unqueue db-relation-joined"},
	{"requeued", "the relation is gone", "settled again:db-relation-joined", "unqueue db-relation-joined"},
	{"requeued", "a hook of storage", "settled ready:data/0 attached:data/0 again:storage-attached late", "run-hook data-storage-attached"},
	{"requeued", "the storage is gone", "settled again:storage-attached", "unqueue data-storage-attached"},
	{"requeued", "leadership is gone", "settled again:leader-elected", "unqueue leader-elected"},
	{"requeued", "leadership is there", "settled leads leader again:leader-elected late", "run-hook leader-elected"},
	{"requeued", "leader settings change, and the unit leads", "settled leads leader again:leader-settings-changed", "unqueue leader-settings-changed"},
	{"requeued", "a secret is gone", "settled again:secret-rotate", "unqueue secret-rotate"},
	{"replace", "it is the unit's turn", "settled sidecar pod2", "run-hook stop: the unit's containers are replaced"},
	{"replace", "stop has run", "settled sidecar pod2 stopped", "replace"},
	{"replace", "K-044 install has failed", "charm sidecar pod2 failed:install", "replace install: the unit's containers are to be replaced"},
	{"replace", "K-044 install has not run", "charm ran sidecar pod2", "replace"},
	{"replace", "a unit that wasn't deployed yet begins with them", "sidecar pod2", "deploy ch:1"},
	{"replace", "the agent was killed in it", "settled sidecar pod2 stopped lost", "replace"},
	{"replace", "before another charm, configuration and what is due of containers", "settled sidecar pod2 charm2 values2 up:web", "run-hook stop"},
	{"replace", "in error, without stop", "settled sidecar pod2 failed:config-changed", "replace config-changed"},
	{"replace", "in error, and the agent was killed in it", "settled sidecar pod2 failed:config-changed lost", "replace config-changed"},
	{"replace", "in error, and it isn't the unit's turn", "settled sidecar failed:config-changed charm2", "idle config-changed"},
	{"replace", "in error, in a unit that goes", "settled sidecar pod2 failed:config-changed dying", "idle config-changed"},
	{"replace", "by force, and it isn't the unit's turn", "settled sidecar failed:config-changed charm2 forced", "idle config-changed"},
	{"replace", "not between upgrade-charm and config-changed", "settled reconfigure sidecar pod2", "run-hook config-changed"},
	{"replace", "twice, before start has run in the first ones", "settled replaced upgraded sidecar pod2", "replace"},
	{"replace", "not in a unit that goes", "settled sidecar pod2 dying", "run-hook stop: unit removed"},
	{"replace", "not in a unit without containers", "settled pod2", "idle"},
	{"replace", "not before the images are there", "settled sidecar pod2 unfetched", "idle"},
	{"replace", "not before the images are there, and other hooks go on", "settled sidecar pod2 unfetched values2", "run-hook config-changed"},
	{"replace", "not before the images are there, in error", "settled sidecar pod2 unfetched failed:config-changed", "idle config-changed"},
	{"replace", "stop has run, and another image is given that isn't there", "settled sidecar pod2 unfetched stopped", "replace"},
	{"replace", "stop has failed, and another image is given that isn't there", "settled sidecar pod2 unfetched failed:stop", "replace stop"},
	{"replace", "the agent was killed in it, and the image isn't there any more", "settled sidecar pod2 unfetched lost", "replace"},
	{"tasks", "while the images of the next containers aren't there", "settled sidecar pod2 unfetched task", "run-task act-action"},
	{"tasks", "not before the containers are replaced", "settled sidecar pod2 task", "run-hook stop"},
	{"tasks", "K-131 in error, before what is due of containers", "settled sidecar failed:config-changed up:web task", "run-task act-action"},
	{"tasks", "K-026 after what is due of containers", "settled sidecar up:web task", "run-hook web-pebble-ready"},
	{"start", "the containers were replaced, and all has run but start", "settled replaced sidecar", "run-hook start: the unit's containers are replaced"},
	{"start", "not before upgrade-charm", "settled replaced upgraded sidecar", "run-hook upgrade-charm: the unit's containers are replaced, with charm ch:1"},
	{"start", "not before config-changed", "settled replaced reconfigure sidecar", "run-hook config-changed"},
	{"deploy", "another charm comes with other containers only", "settled sidecar charm2", "idle"},
	{"deploy", "into other containers", "settled replaced sidecar lost charm2", "deploy ch:2"},
	{"config", "another charm, for which it isn't the unit's turn, changes nothing", "settled sidecar charm2 config2", "idle"},
	{"config", "an option, while the unit waits for its turn", "settled sidecar charm2 config2 values2", "run-hook config-changed"},
	{"upgrade-charm", "resources reach a unit with containers by others only", "settled sidecar resources2", "idle"},
	{"first-storage", "K-022 a unit with containers doesn't wait for it", "charm sidecar initial:data/0 ready:logs/1", "run-hook install"},
	{"workloads", "K-012 a container is up", "settled sidecar up:web", "run-hook web-pebble-ready: Pebble has started"},
	{"workloads", "K-040 the charm was told of it, be the agent the same or not", "settled sidecar up:web ready:web", "idle"},
	{"workloads", "a container is down", "settled sidecar down:web", "idle"},
	{"workloads", "K-024 not before install", "charm sidecar up:web", "run-hook install"},
	{"workloads", "K-028 after relation-created", "settled sidecar up:web rel:db known:db scope:db", "run-hook db-relation-created"},
	{"workloads", "K-022 after leader-elected", "charm installed sidecar up:web leader", "run-hook leader-elected"},
	{"workloads", "K-022 before storage, also before the first config-changed", "charm installed settings sidecar up:web ready:data/0", "run-hook web-pebble-ready"},
	{"workloads", "K-023 not between config-changed and start", "charm installed configured sidecar up:web", "run-hook start"},
	{"workloads", "K-025 not between upgrade-charm and config-changed", "settled reconfigure sidecar up:web", "run-hook config-changed"},
	{"workloads", "K-025 not before upgrade-charm", "settled upgraded sidecar up:web", "run-hook upgrade-charm"},
	{"workloads", "K-027 before a relation's hooks", "settled sidecar up:web rel:db told:db scope:db member:db", "run-hook web-pebble-ready"},
	{"workloads", "K-029 before configuration", "settled sidecar up:web values2", "run-hook web-pebble-ready"},
	{"workloads", "K-030 the container that was up first", "settled sidecar up:api up:db first:db", "run-hook db-pebble-ready"},
	{"workloads", "K-045 start after a reboot comes first", "settled sidecar up:web boot:1 boot2", "run-hook start"},
	{"workloads", "K-053 not before the failed hook is resolved", "settled sidecar up:web failed:config-changed", "idle config-changed"},
	{"workloads", "K-070 notices in the order of their times", "settled sidecar ready:web up:web notice:web:2 notice:web:1", "run-hook web-pebble-custom-notice"},
	{"workloads", "after eight in a row, configuration comes first", "settled sidecar ready:web up:web notice:web:1 values2 eight", "run-hook config-changed"},
	{"workloads", "after eight in a row in a unit that goes, too", "settled sidecar ready:web up:web notice:web:1 dying eight", "run-hook web-pebble-custom-notice"},
	{"workloads-last", "after eight in a row, and nothing else is due", "settled sidecar ready:web up:web notice:web:1 eight", "run-hook web-pebble-custom-notice"},
	{"workloads-last", "before update-status", "settled sidecar ready:web up:web notice:web:1 eight interval late", "run-hook web-pebble-custom-notice"},
	{"workloads", "K-073 a notice that was told", "settled sidecar ready:web up:web notice:web:1 heard:web:1", "idle"},
	{"workloads", "K-068 one that was repeated since", "settled sidecar ready:web up:web notice:web:2 heard:web:1", "run-hook web-pebble-custom-notice"},
	{"workloads", "a notice of a container that is down since", "settled sidecar ready:web down:web notice:web:1", "run-hook web-pebble-custom-notice"},
	{"workloads", "K-078 in a unit that goes", "settled sidecar up:web dying", "run-hook web-pebble-ready"},
	{"workloads", "K-119 in a unit that goes, not two without a step between", "settled sidecar up:web dying yields", "run-hook stop"},
	{"workloads", "K-078 after stop", "settled sidecar up:web dying stopped", "run-hook web-pebble-ready"},
	{"workloads", "K-078 not after remove", "settled sidecar up:web dying stopped removed", "mark-dead"},
	{"stray", "a container that the charm hasn't any more", "settled sidecar ready:web", "forget"},
	{"stray", "without a charm nobody knows the containers", "settled sidecar ready:web lost", "deploy ch:1"},
	{"failed", "hooks of containers don't put the unit in error any more", "settled sidecar up:web failed:pebble-ready", "set-aside web-pebble-ready"},
	{"failed", "hooks of containers put the unit in error", "settled sidecar up:web errors failed:pebble-ready", "idle web-pebble-ready"},
	{"failed", "one that did is run again", "settled sidecar up:web errors failed:pebble-ready answer:retry", "run-hook web-pebble-ready"},
	{"failed", "its container is gone", "settled sidecar errors failed:pebble-ready", "discard web-pebble-ready"},
	{"workload-retries", "K-051 its time has come", "settled sidecar up:web ready:web aside:web late", "run-hook web-pebble-ready: it has failed before"},
	{"workload-retries", "its time hasn't come", "settled sidecar up:web ready:web aside:web", "idle"},
	{"workload-retries", "all else comes first", "settled sidecar up:web ready:web aside:web late values2", "run-hook config-changed"},
	{"workload-retries", "K-056 another container's hook comes first", "settled sidecar up:api up:web ready:web aside:web late", "run-hook api-pebble-ready"},
	{"workload-retries", "its container is down", "settled sidecar down:web ready:web aside:web late", "idle"},
	{"workload-retries", "a later start of Pebble takes its place", "settled sidecar restarted:web ready:web aside:web late", "run-hook web-pebble-ready: Pebble has started"},
	{"workload-retries", "K-119 not in a unit that goes", "settled sidecar up:web ready:web aside:web late dying", "run-hook stop"},
	{"requeued", "a hook of a container", "settled sidecar up:web ready:web again:pebble-ready late", "run-hook web-pebble-ready"},
	{"requeued", "the container is gone", "settled sidecar again:pebble-ready late", "unqueue web-pebble-ready"},
	{"update-status", "the interval is over", "settled interval late", "run-hook update-status"},
	{"update-status", "the interval isn't over", "settled interval", "idle"},
	{"update-status", "switched off", "settled late", "idle"},
}

func TestNext(t *testing.T) {
	t.Parallel()
	about := map[string]bool{}
	for _, row := range situations {
		about[row.rule] = true
		t.Run(row.rule+": "+row.name, func(t *testing.T) {
			t.Parallel()
			l, r := situation(t, row.situation)
			op := resolver.Next(l, r)
			want, reason, _ := strings.Cut(row.want, ": ")
			if got := summary(op); got != want || reason != "" && op.Reason != reason {
				t.Errorf("%s: got %s, because %q; want %s", row.situation, got, op.Reason, row.want)
			}
			if op.Reason == "" || strings.Contains(op.Reason, "\n") {
				t.Errorf("the reason is %q, not one line", op.Reason)
			}
		})
	}
	for _, rule := range resolver.Rules() {
		if !about[rule.Name] || rule.When == "" {
			t.Errorf("rule %q has no row in the table, or doesn't say when it applies", rule.Name)
		}
	}
}

func summary(op resolver.Op) string {
	switch {
	case op.Verb == resolver.Deploy:
		return fmt.Sprintf("%s %s", op.Verb, op.Charm)
	case op.Verb == resolver.EnterScope:
		return fmt.Sprintf("%s %d", op.Verb, len(op.Entering))
	case op.Hook.Kind != "":
		return fmt.Sprintf("%s %s", op.Verb, op.Hook.Name())
	}
	return string(op.Verb)
}

// Every situation, many times, with the maps filled in another order.
func TestTheSameInputsGiveTheSameOperation(t *testing.T) {
	t.Parallel()
	times := 100
	if os.Getenv("UNITD_TEST_LONG") != "" {
		times = 1000
	}
	for _, row := range situations {
		l, r := situation(t, row.situation)
		for id := range model.RelationID(8) {
			l.Relations[10+id] = relation.State{ID: 10 + id, Endpoint: []string{"a", "b"}[id%2], Created: true, Members: model.Members{{Unit: "x/1", Version: 1}, {Unit: "x/2", Version: 1}, {Unit: "x/10", Version: 1}}}
			r.Relations = append(r.Relations, relation.Snapshot{ID: 10 + id, Endpoint: []string{"a", "b"}[id%2], Live: true, InScope: true})
		}
		first := resolver.Next(l, r)
		for range times {
			if again := resolver.Next(refilled(l), r); !reflect.DeepEqual(again, first) {
				t.Fatalf("%s: got %+v, then %+v", row.name, first, again)
			}
		}
	}
}

// refilled is l with its map made anew in a random order.
func refilled(l resolver.Local) resolver.Local {
	var ids []model.RelationID
	for id := range l.Relations {
		ids = append(ids, id)
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	rels := map[model.RelationID]relation.State{}
	for _, id := range ids {
		rels[id] = l.Relations[id]
	}
	l.Relations = rels
	return l
}

func TestNextAndAfterChangeNothingThatTheyAreGiven(t *testing.T) {
	t.Parallel()
	for _, row := range situations {
		t.Run(row.rule+": "+row.name, func(t *testing.T) {
			t.Parallel()
			l, r := situation(t, row.situation)
			asGiven, remoteAsGiven := situation(t, row.situation)
			op := resolver.Next(l, r)
			event := resolver.Event{Kind: resolver.Done, At: noon}
			if op.Verb == resolver.RunHook || op.Verb == resolver.RunTask {
				event.Kind = resolver.Began
			}
			after := resolver.After(l, op, event)
			clear(after.Relations)
			if after.Current != nil {
				*after.Current = resolver.Current{}
			}
			if !reflect.DeepEqual(l, asGiven) || !reflect.DeepEqual(r, remoteAsGiven) {
				t.Errorf("got\n%+v\n%+v\nwant\n%+v\n%+v", l, r, asGiven, remoteAsGiven)
			}
		})
	}
}
