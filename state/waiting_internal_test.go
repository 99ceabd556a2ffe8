package state

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestTasksThatWaitAreQueuedAsTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	spec := TaskSpec{Kind: ActionTask, Action: "fill", Params: map[string]any{"rows": int64(1<<53 + 1), "share": 0.5}, Relation: model.NoRelation}
	other := spec
	other.Params = map[string]any{"rows": int64(2)}
	want := []TaskDoc{
		{ID: "2", Operation: "1", Unit: "db/0", UnitID: "a", TaskSpec: spec, Status: TaskPending},
		{ID: "3", Operation: "1", Unit: "db/1", UnitID: "b", TaskSpec: other, Status: TaskPending},
		{ID: "4", Operation: "1", Machine: "0", TaskSpec: spec, Status: TaskPending},
	}
	op := OperationDoc{ID: "1"}
	if err := op.wait(want); err != nil {
		t.Fatal(err)
	}
	b, err := model.EncodeJSON(op)
	if err != nil {
		t.Fatal(err)
	}
	var read OperationDoc
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	if got := read.waiting(); !reflect.DeepEqual(got, want) || len(read.Waiting.Specs) != 2 {
		t.Errorf("got %+v", got)
	}
}
