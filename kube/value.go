package kube

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// object is a JSON object as it was read: numbers are json.Number, so that what
// a charm wrote is what it reads.
type object = map[string]any

// list is a JSON array.
type list = []any

// decode reads one JSON value and nothing after it.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.Trace(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.NotValidf("more than one value")
	}
	return v, nil
}

// decodeObject is decode for what must be an object. What isn't JSON is read as
// YAML, in which clients may apply.
func decodeObject(data []byte) (object, error) {
	v, err := decode(data)
	if err != nil {
		var y any
		if yaml.Unmarshal(data, &y) != nil {
			return nil, errors.Trace(err)
		}
		as, jsonErr := json.Marshal(y)
		if jsonErr != nil {
			return nil, errors.Trace(err)
		}
		if v, err = decode(as); err != nil {
			return nil, errors.Trace(err)
		}
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.NotValidf("what isn't an object")
	}
	return o, nil
}

// encode is the value's JSON. All values here come from decode or are as plain.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(errors.Annotate(err, "value that isn't JSON")) // a fault of this package
	}
	return data
}

// normal is the value in the form that decode gives, for comparing.
func normal(o object) object {
	v, err := decode(encode(o))
	if err != nil {
		panic(errors.Annotate(err, "value that isn't JSON"))
	}
	return v.(object)
}

func clone(v any) any {
	switch v := v.(type) {
	case object:
		c := make(object, len(v))
		for k, e := range v {
			c[k] = clone(e)
		}
		return c
	case list:
		c := make(list, len(v))
		for i, e := range v {
			c[i] = clone(e)
		}
		return c
	}
	return v
}

func cloned(o object) object { return clone(o).(object) }

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// dropNulls takes away the fields that are null: a typed reader doesn't see
// them either.
func dropNulls(v any) {
	switch v := v.(type) {
	case object:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				dropNulls(e)
			}
		}
	case list:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

// at is the value below those fields; nil where there is none.
func at(v any, fields ...string) any {
	for _, f := range fields {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[f]
	}
	return v
}

// textAt is at for a string; "" where there is none.
func textAt(v any, fields ...string) string {
	s, _ := at(v, fields...).(string)
	return s
}

func objectAt(v any, fields ...string) object {
	o, _ := at(v, fields...).(object)
	return o
}

func listAt(v any, fields ...string) list {
	l, _ := at(v, fields...).(list)
	return l
}

// put sets the value below those fields, with objects on the way where there
// are none. A nil takes the field away.
func put(o object, value any, fields ...string) {
	for _, f := range fields[:len(fields)-1] {
		next, ok := o[f].(object)
		if !ok {
			if value == nil {
				return
			}
			next = object{}
			o[f] = next
		}
		o = next
	}
	if last := fields[len(fields)-1]; value == nil {
		delete(o, last)
	} else {
		o[last] = value
	}
}

// stringsAt is the map of strings below those fields; what isn't a string is
// left out.
func stringsAt(v any, fields ...string) map[string]string {
	m := map[string]string{}
	for k, e := range objectAt(v, fields...) {
		if s, ok := e.(string); ok {
			m[k] = s
		}
	}
	return m
}
