"""What opsy-finds-a-database.txtar claims, with ops.testing: for the time of both.

The author says which events come, in which order, and what the database's side
has published; the charm runs in the test's process.
"""

import pathlib
import sys

from ops import testing

OPSY = pathlib.Path(__file__).parent / "../../opsy"
sys.path.insert(0, str(OPSY / "src"))

from charm import OpsyCharm  # noqa: E402

NEEDS = {"need-database": True}


def test_opsy_finds_a_database():
    ctx = testing.Context(OpsyCharm, charm_root=OPSY)
    state = testing.State(config=NEEDS, leader=True)
    for event in (ctx.on.install(), ctx.on.leader_elected(), ctx.on.config_changed(), ctx.on.start()):
        state = ctx.run(event, state)
    assert state.unit_status == testing.BlockedStatus("needs a database: integrate with a provider of ledgerdb")

    relation = testing.Relation("db", remote_app_name="ledger", remote_units_data={})
    state = ctx.run(ctx.on.relation_created(relation), testing.State(
        config=NEEDS, leader=True, relations={relation}, stored_states=state.stored_states))
    relation = testing.Relation("db", id=relation.id, remote_app_name="ledger", remote_units_data={
        0: {"host": "10.0.0.1", "user": "opsy", "password": "made up"}})
    given = testing.State(config=NEEDS, leader=True, relations={relation}, stored_states=state.stored_states)
    state = ctx.run(ctx.on.relation_joined(relation, remote_unit=0), given)
    state = ctx.run(ctx.on.relation_changed(relation, remote_unit=0), state)
    assert state.unit_status == testing.ActiveStatus("ready, with the database of ledger/0")

    ctx.run(ctx.on.action("status-report", params={"shout": True}), state)
    assert ctx.action_results["text"] == "HELLO FROM OPSY/0"
