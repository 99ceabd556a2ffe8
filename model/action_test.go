package model_test

import (
	"slices"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestPasswordsOfAnAction(t *testing.T) {
	t.Parallel()
	property := func(keyValue ...any) map[string]any {
		p := map[string]any{"type": "string"}
		for i := 0; i < len(keyValue); i += 2 {
			p[keyValue[i].(string)] = keyValue[i+1]
		}
		return p
	}
	a := model.ActionSpec{Params: map[string]any{"type": "object", "properties": map[string]any{
		"format": property("format", "password"), "written": property("writeOnly", true), "titled": property("title", "Token"),
		"described": property("description", "The new admin password, or none"),
		"login":     property("description", "The user whose password is reset"), "plain": property(), "name": property("description", "Name of the secret"),
		"nested": map[string]any{"type": "object", "properties": map[string]any{"inner": property("description", "An API key")}},
		"odd":    "no schema",
	}}}
	if got, want := a.Passwords(), []string{"described", "format", "inner", "titled", "written"}; !slices.Equal(got, want) {
		t.Errorf("they are %v, want %v", got, want)
	}
	if got := (model.ActionSpec{}).Passwords(); len(got) > 0 {
		t.Errorf("no schema has %v", got)
	}
}
