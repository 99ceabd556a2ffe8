package sim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
)

// traits gathers what a state is told apart by, one value after the other: lists
// that differ never give the same bytes. What fmt would make of it tells as much,
// and takes most of the time of exploring. The zero value is empty.
type traits struct{ bytes []byte }

// add adds values of any kind, or pointers to them.
func (t *traits) add(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case bool:
			t.bool(v)
		case int:
			t.int(int64(v))
		case int64:
			t.int(v)
		case string:
			t.string(v)
		default:
			t.value(reflect.ValueOf(v))
		}
	}
}

func (t *traits) bool(v bool) {
	if v {
		t.bytes = append(t.bytes, 1)
	} else {
		t.bytes = append(t.bytes, 0)
	}
}

func (t *traits) int(v int64) { t.bytes = binary.AppendVarint(t.bytes, v) }

func (t *traits) string(v string) {
	t.bytes = append(binary.AppendUvarint(t.bytes, uint64(len(v))), v...)
}

// hook adds what hooks are told apart by.
func (t *traits) hook(h hooks.Info) {
	t.string(string(h.Kind))
	t.int(int64(h.RelationID))
	t.string(string(h.RemoteUnit))
	t.int(int64(h.Version))
	t.string(string(h.Departing))
	t.string(string(h.Storage))
	t.string(h.StorageLocation)
	t.bool(h.Again)
	t.string(h.Workload)
	t.string(h.NoticeID)
	t.int(h.NoticeAt.Unix())
	t.string(h.Boot)
}

var timeType = reflect.TypeFor[time.Time]()

// value adds what can be compared. It panics at a kind of which no state has any.
func (t *traits) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		t.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		t.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		t.bytes = binary.AppendUvarint(t.bytes, v.Uint())
	case reflect.String:
		t.string(v.String())
	case reflect.Struct:
		n := v.NumField()
		if v.Type() == timeType {
			n-- // its location is last, and makes it no other time
		}
		for i := range n {
			t.value(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		t.int(int64(v.Len()))
		for i := range v.Len() {
			t.value(v.Index(i))
		}
	case reflect.Map:
		t.entries(v)
	case reflect.Pointer:
		if t.bool(!v.IsNil()); !v.IsNil() {
			t.value(v.Elem())
		}
	default:
		panic(fmt.Sprintf("states can't be told apart by a %s", v.Type()))
	}
}

// entries adds a map whose keys are strings or whole numbers, by its keys.
func (t *traits) entries(v reflect.Value) {
	t.int(int64(v.Len()))
	if v.Len() == 0 {
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.Kind() == reflect.String {
			return cmp.Compare(a.String(), b.String())
		}
		return cmp.Compare(a.Int(), b.Int())
	})
	for _, k := range keys {
		t.value(k)
		t.value(v.MapIndex(k))
	}
}
